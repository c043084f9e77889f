package wire

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// fail is a classified error with what the server said about trying again. Its message holds no key.
func (l *Line) fail(failed *record.Error, a *Answer) *model.CallError {
	message := l.secrets.String(failed.Message)
	if failed.Class == record.Auth {
		message += l.foreignKey()
	}
	err := model.Fail(failed.Class, message, a.Took)
	err.Status = a.Status
	err.RetryAfter = retryAfter(a.Status, a.Header, l.Now())
	err.Retry = shouldRetry(a.Header)
	if a.hopeless {
		err.Retry = new(bool)
	}
	if a.refused {
		err.Refused = l.server
	}
	if !a.sent() {
		err.Unsent = 1
	}
	return err
}

// classify explains a call that gave no whole answer with status 200. The
// context is the one with the call's own timeout.
func (l *Line) classify(ctx context.Context, a *Answer, err error) *record.Error {
	var sending *url.Error
	var quiet silent
	var failed *record.Error
	ours := record.OutOfFiles(err)
	switch {
	case ours != nil:
		return &record.Error{Class: ours.Class, Message: Shorten(ours.Message)}
	case errors.As(err, &quiet):
		return &record.Error{Class: record.CallTimeout, Message: quiet.Error()}
	case ctx.Err() != nil:
		return &record.Error{Class: record.CallTimeout, Message: fmt.Sprintf("the call took longer than %v", l.Timeout)}
	case errors.As(a.broken, &failed):
		return failed
	case errors.Is(a.broken, errTooLarge):
		a.hopeless = true
		return &record.Error{Class: record.BadResponse, Message: a.broken.Error()}
	case a.broken != nil:
		return &record.Error{Class: record.Incomplete, Message: "the connection ended inside the answer: " + a.broken.Error()}
	case a.Status >= 300:
		failed := classifyStatus(a.Status, a.Header, a.Body)
		if a.Status == http.StatusNotFound && !strings.Contains(failed.Message, l.Name) {
			failed.Message += fmt.Sprintf("; asked for model %q at %s", l.Name, l.server+l.blank.URL.Path)
		}
		return failed
	case errors.As(err, &sending) && sending.Timeout():
		return &record.Error{Class: record.CallTimeout, Message: Shorten(err.Error())}
	case sending != nil:
		a.hopeless = hopeless(err)
		dialled, _ := errors.AsType[*net.OpError](err) // not that of a proxy, which has another Op
		a.refused = dialled != nil && dialled.Op == "dial" && errors.Is(err, syscall.ECONNREFUSED)
		return &record.Error{Class: record.Network, Message: Shorten(err.Error())}
	}
	return &record.Error{Class: record.InvalidRequest, Message: Shorten(err.Error())}
}

// keyShapes are how the keys of vendors begin, and where their own servers are.
var keyShapes = []struct{ begins, vendor, variable, host string }{
	{"sk-ant-", "Anthropic", "ANTHROPIC_API_KEY", "anthropic.com"},
	{"sk-or-", "OpenRouter", "OPENROUTER_API_KEY", "openrouter.ai"},
	{"sk-proj-", "OpenAI", "OPENAI_API_KEY", "openai.com"},
	{"sk-svcacct-", "OpenAI", "OPENAI_API_KEY", "openai.com"},
	{"gsk_", "Groq", "GROQ_API_KEY", "groq.com"},
	{"AIza", "Google", "GEMINI_API_KEY", "googleapis.com"},
}

// foreignKey says where a key belongs that looks like one of another vendor.
func (l *Line) foreignKey() string {
	for _, shape := range keyShapes {
		if strings.HasPrefix(l.Key, shape.begins) && l.KeyEnv != shape.variable && !strings.HasSuffix(l.Host, shape.host) {
			return fmt.Sprintf("; %s holds a key of %s, which belongs in %s", cmp.Or(l.KeyEnv, "the variable"), shape.vendor, shape.variable)
		}
	}
	return ""
}

// hopeless tells a name that does not exist, or a certificate that is not the
// server's, from what may pass.
func hopeless(err error) bool {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &certificate) || errors.As(err, &name) && name.IsNotFound
}

// unreadable is the message about an answer that the protocol does not know.
func unreadable(answer []byte) string {
	text := strings.TrimSpace(string(answer))
	if text == "" {
		return "the answer is empty"
	}
	return "the answer is not what the API promises: " + Shorten(text)
}

// classifyStatus explains an answer by its status and by what it says.
func classifyStatus(status int, header http.Header, answer []byte) *record.Error {
	told := Tell(answer)
	message := fmt.Sprintf("status %d", status)
	if told.Message != "" {
		message += ": " + told.Message
	} else if text := strings.TrimSpace(string(answer)); text != "" {
		message += ": " + Shorten(text)
	}
	if status < 400 {
		message = fmt.Sprintf("status %d: the server sends the request on to %q: set base_url to the right address", status, header.Get("Location"))
		return &record.Error{Class: record.InvalidRequest, Message: message}
	}
	if class := told.Class(); class != "" {
		return &record.Error{Class: class, Message: message}
	}
	return &record.Error{Class: classOf(status), Message: message}
}

// classOf is the class of a status whose answer tells nothing more.
func classOf(status int) record.ErrorClass {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return record.Auth
	case status == http.StatusPaymentRequired:
		return record.Quota
	case status == http.StatusRequestEntityTooLarge:
		return record.ContextLength
	case status == http.StatusTooManyRequests:
		return record.RateLimit
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status >= 500:
		return record.Server
	}
	return record.InvalidRequest
}

// Told is what an answer says went wrong.
type Told struct{ Message, Kind, Code string }

// phrases are what servers write, in lower case; the first that is found
// decides. From the documentation and sources of OpenAI, Azure, Anthropic,
// Gemini, LiteLLM, OpenRouter, vLLM and llama.cpp.
var phrases = []struct {
	text  string
	class record.ErrorClass
}{
	{"insufficient_quota", record.Quota},
	{"billing_hard_limit", record.Quota},
	{"budget has been exceeded", record.Quota},
	{"credit balance is too low", record.Quota},
	{"exceeded your current quota", record.Quota},
	{"billing_error", record.Quota},
	{"context_length_exceeded", record.ContextLength},
	{"exceed_context_size", record.ContextLength},
	{"maximum context length", record.ContextLength},
	{"prompt is too long", record.ContextLength},
	{"exceed context limit", record.ContextLength},
	{"request_too_large", record.ContextLength},
	{"exceeds the available context size", record.ContextLength},
	{"input token count", record.ContextLength},
	{"content_filter", record.ContentFilter},
	{"content_policy_violation", record.ContentFilter},
	{"content filtering policy", record.ContentFilter},
	{"responsibleaipolicyviolation", record.ContentFilter},
	{"invalid_api_key", record.Auth},
	{"authentication_error", record.Auth},
	{"rate_limit_exceeded", record.RateLimit},
	{"rate_limit_error", record.RateLimit},
	{"resource_exhausted", record.RateLimit},
	{"overloaded", record.Server},
}

// Class is what the words say, "" where they leave it to the status.
func (t Told) Class() record.ErrorClass {
	all := strings.ToLower(t.Code + "\n" + t.Kind + "\n" + t.Message)
	for _, phrase := range phrases {
		if strings.Contains(all, phrase.text) {
			return phrase.class
		}
	}
	return ""
}

// Tell finds what went wrong in the forms that servers use: {"error": {...}},
// {"error": "text"}, a list of one of them, {"detail": ...} and the error at
// the top.
func Tell(answer []byte) Told {
	answer = bytes.TrimSpace(answer)
	if len(answer) > 0 && answer[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(answer, &list) != nil || len(list) == 0 {
			return Told{}
		}
		answer = list[0]
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(answer, &top) != nil {
		return Told{}
	}
	fields := top
	if inner, ok := top["error"]; ok {
		fields = nil
		if json.Unmarshal(inner, &fields) != nil {
			return Told{Message: Shorten(scalar(inner))}
		}
	} else if detail, ok := top["detail"]; ok {
		return Told{Message: Shorten(scalar(detail))}
	}
	t := Told{Message: Shorten(scalar(fields["message"])), Kind: scalar(fields["type"]), Code: scalar(fields["code"])}
	if status := scalar(fields["status"]); status != "" {
		t.Kind += " " + status
	}
	return t
}

// scalar is a JSON string's text, or the JSON as it stands.
func scalar(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
