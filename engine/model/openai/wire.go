package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// connections is how many idle connections to a server are kept.
const connections = 256

// errTooLarge says that an answer was longer than allowed.
var errTooLarge = errors.New("the answer is too long")

// NewTransport makes a transport for many calls at once to few servers; the
// default of net/http would connect anew for nearly each of them.
func NewTransport(firstByte time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           connections,
		MaxIdleConnsPerHost:    connections,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  firstByte,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// exchange is what a call and its wire tell each other.
type exchange struct {
	fields map[string]any // to be merged into the body
	status int            // 0: no answer began
	header http.Header
	answer []byte
	broken error // why the answer is not whole
}

type exchangeKey struct{}

func withExchange(ctx context.Context, e *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, e)
}

// wire is the transport under go-openai, which has no limits, no headers and no
// zero values of its own.
type wire struct {
	base        http.RoundTripper
	headers     map[string]string
	maxResponse int64
}

// RoundTrip reads the whole answer, so that its errors are the call's and the
// connection can be used again.
func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	e, _ := request.Context().Value(exchangeKey{}).(*exchange)
	if e == nil {
		e = &exchange{}
	}
	request = request.Clone(request.Context())
	for name, value := range w.headers {
		request.Header.Set(name, value)
	}
	if err := merge(request, e.fields); err != nil {
		return nil, err
	}
	response, err := w.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	e.status, e.header = response.StatusCode, response.Header
	e.answer, e.broken = readAll(response.Body, w.maxResponse)
	if e.broken != nil {
		return nil, e.broken
	}
	response.Body = io.NopCloser(bytes.NewReader(e.answer))
	return response, nil
}

func merge(request *http.Request, fields map[string]any) error {
	if request.Body == nil {
		return nil
	}
	text, err := io.ReadAll(request.Body)
	request.Body.Close()
	if err != nil {
		return fmt.Errorf("reading the request's body: %w", err)
	}
	if text, err = mergeJSON(text, fields); err != nil {
		return err
	}
	request.ContentLength = int64(len(text))
	request.Body = io.NopCloser(bytes.NewReader(text))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	return nil
}

func mergeJSON(text []byte, fields map[string]any) ([]byte, error) {
	if len(fields) == 0 {
		return text, nil
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, fmt.Errorf("reading the request's body: %w", err)
	}
	for name, value := range fields {
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", name, err)
		}
		body[name] = encoded
	}
	return json.Marshal(body)
}

func readAll(body io.ReadCloser, most int64) ([]byte, error) {
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, most+1))
	if err != nil {
		return text, err
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%w: more than %d bytes", errTooLarge, most)
	}
	return text, nil
}
