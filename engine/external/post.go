package external

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
)

// maxAnswer is how many bytes an answer may have.
const maxAnswer = 8 << 20

// Endpoint is where JSON is posted to. It is safe for concurrent use.
type Endpoint struct {
	URL     string
	Headers map[string]string
	Client  *http.Client // see NewClient
}

// Answer is what an endpoint answered.
type Answer struct {
	Body     []byte
	Duration time.Duration
}

// NewClient makes a client for many calls at once to few servers.
func NewClient() *http.Client {
	return &http.Client{CheckRedirect: follow, Transport: NewTransport(256, 10*time.Second)}
}

// NewTransport makes a transport for many calls at once to few servers: it keeps so many idle connections to each, where the default of
// net/http would connect anew for nearly each call. Dialling is how long a connection may take.
func NewTransport(connections int, dialling time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialling, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           connections,
		MaxIdleConnsPerHost:    connections,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// follow goes where the same host sends what was posted, and nowhere else: the
// headers may hold a key.
func follow(next *http.Request, before []*http.Request) error {
	const most = 5
	if next.URL.Host != before[0].URL.Host || next.URL.Scheme != before[0].URL.Scheme || next.Method != http.MethodPost || len(before) >= most {
		return http.ErrUseLastResponse
	}
	return nil
}

// Post posts a body and reads the answer, within the limit; 0: as long as the context. Errors are
// *record.Error and the context's cause; the answer then has what came.
func (e *Endpoint) Post(ctx context.Context, limit time.Duration, body []byte) (Answer, error) {
	waiting, cancel := ctx, func() {}
	if limit > 0 {
		waiting, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	begin := time.Now()
	answer, err := e.post(waiting, body)
	answer.Duration = time.Since(begin)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return answer, context.Cause(ctx)
	case waiting.Err() != nil:
		answer.Duration = limit
		return answer, record.Errorf(record.CallTimeout, "the endpoint took longer than %v", limit)
	}
	return answer, err
}

func (e *Endpoint) post(ctx context.Context, body []byte) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return Answer{}, record.Errorf(record.InvalidRequest, "the address is wrong: %v", bare(err))
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/plain;q=0.9, */*;q=0.1")
	for name, value := range e.Headers {
		request.Header.Set(name, value)
	}
	response, err := e.Client.Do(request)
	if ours := record.OutOfFiles(bare(err)); ours != nil {
		return Answer{}, ours
	}
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) {
			return Answer{}, record.Errorf(record.Network, "cannot connect to %s: connection refused. Is the server running?", request.URL.Scheme+"://"+request.URL.Host)
		}
		return Answer{}, record.Errorf(record.Network, "%v", bare(err))
	}
	defer response.Body.Close()
	answer, err := read(response.Body)
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return answer, refusal(response, answer.Body)
	}
	return answer, err
}

func read(body io.Reader) (Answer, error) {
	text, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	switch {
	case err != nil:
		return Answer{Body: text}, record.Errorf(record.Network, "the answer broke off after %d bytes: %v", len(text), bare(err))
	case len(text) > maxAnswer:
		return Answer{Body: text[:maxAnswer]}, record.Errorf(record.BadResponse, "the answer has more than %d bytes", maxAnswer)
	}
	return Answer{Body: text}, nil
}

// refusal is the error of another status than 2xx, with the beginning of the answer.
func refusal(response *http.Response, body []byte) error {
	said := fmt.Sprintf("HTTP %d", response.StatusCode)
	text := short(strings.Join(strings.Fields(strings.ToValidUTF8(secret.Prefix(string(body), 4*maxSaid), "\uFFFD")), " "))
	if to, err := response.Location(); err == nil {
		said += fmt.Sprintf(": it sends to %s, where nothing is posted", to.Host)
	} else if text != "" {
		said += ": " + text
	}
	return record.Errorf(classOf(response.StatusCode), "%s", said)
}

func classOf(status int) record.ErrorClass {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return record.Auth
	case status == http.StatusTooManyRequests:
		return record.RateLimit
	case status == http.StatusRequestTimeout:
		return record.CallTimeout
	case status >= 500:
		return record.Server
	case status >= 400:
		return record.InvalidRequest
	}
	return record.BadResponse
}

// bare leaves the address out, which may hold a key.
func bare(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
