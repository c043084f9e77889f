package a2a

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
)

// transport is HTTP with our limits: every request has the headers, a response is
// read whole, and one without a result is a *record.Error.
type transport struct {
	base        http.RoundTripper
	headers     map[string]string
	maxResponse int64 // bytes
	secrets     *secret.Redactor
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Accept", "application/json")
	for name, value := range t.headers {
		request.Header.Set(name, value)
	}
	response, err := t.base.RoundTrip(request)
	if ours := record.OutOfFiles(err); ours != nil {
		return nil, t.fault(ours.Class, ours.Message)
	}
	if err != nil {
		return nil, t.fault(record.Network, err.Error())
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, t.maxResponse+1))
	response.Body.Close()
	switch {
	case err != nil:
		return nil, t.fault(record.Incomplete, "the connection ended inside the answer: "+err.Error())
	case int64(len(text)) > t.maxResponse:
		return nil, record.Errorf(record.BadResponse, "the answer is longer than %d bytes", t.maxResponse)
	}
	if err := t.refusal(request, response.StatusCode, text); err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(text))
	return response, nil
}

// refusal is the error that a response tells, in JSON-RPC or by its status.
func (t *transport) refusal(request *http.Request, status int, text []byte) error {
	what := request.Method + " " + request.URL.String()
	var told struct {
		Error *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &told) == nil && told.Error != nil {
		return record.Errorf(classOfCode(told.Error.Code), "%s: error %d: %s", t.shown(what), told.Error.Code, t.shown(told.Error.Message))
	}
	if status == http.StatusOK || status >= 300 && status < 400 { // of a redirect, sameServer decides
		return nil
	}
	return record.Errorf(classOfStatus(status), "%s: status %d %s", t.shown(what), status, t.shown(strings.TrimSpace(string(text))))
}

func (t *transport) fault(class record.ErrorClass, message string) error {
	return record.Errorf(class, "%s", t.shown(message))
}

func (t *transport) shown(text string) string { return t.secrets.String(secret.Shorten(text, 500)) }

// classOfCode classes the codes of JSON-RPC, and those of the protocol from -32001 on.
func classOfCode(code int) record.ErrorClass {
	switch {
	case code == -32006:
		return record.BadResponse
	case code <= -32600 && code >= -32602, code <= -32001 && code >= -32009, code == -32700:
		return record.InvalidRequest
	}
	return record.Server
}

func classOfStatus(status int) record.ErrorClass {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return record.Auth
	case status == http.StatusTooManyRequests:
		return record.RateLimit
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		return record.CallTimeout
	case status >= 500:
		return record.Server
	case status < 300:
		return record.BadResponse
	}
	return record.InvalidRequest
}

// sameServer follows no redirect to another server: keys and tasks are for the one
// that was named.
func sameServer(request *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) >= 5 || request.URL.Host != first.URL.Host || request.URL.Scheme != first.URL.Scheme || request.Method != first.Method {
		return record.Errorf(record.InvalidRequest, "%s sends the request on: give the right address", first.URL.Host)
	}
	return nil
}
