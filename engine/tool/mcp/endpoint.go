package mcp

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxBody is how large one answer of an endpoint may be, with all its events: the
// SDK has a limit for each, and asks again for those that are beyond it.
const maxBody = 16 << 20

// endpoint is a server that is reached by its address.
type endpoint struct {
	url    string
	client *http.Client
}

func newEndpoint(url string, headers http.Header) *endpoint {
	own := http.DefaultTransport.(*http.Transport).Clone()
	own.MaxIdleConnsPerHost = 64
	return &endpoint{url: url, client: &http.Client{Transport: &counted{own, headers}, CheckRedirect: sameHost}}
}

// sameHost follows redirects that stay where the server is.
func sameHost(next *http.Request, before []*http.Request) error {
	if next.URL.Host != before[0].URL.Host || len(before) > 5 {
		return redirected{next.URL.Redacted()}
	}
	return nil
}

// redirected is the error of a redirect that is not followed.
type redirected struct{ to string }

func (r redirected) Error() string {
	return "it redirects to " + r.to + ", which is not followed: write that address if it is right"
}

func (e *endpoint) transport(*session) sdk.Transport {
	// What a server says without being asked is not waited for.
	return &sdk.StreamableClientTransport{Endpoint: e.url, HTTPClient: e.client, MaxRetries: 1, DisableStandaloneSSE: true}
}

// fatal takes what is no answer for the end: the server forgot the session, or
// died over the call. A new session costs nothing.
func (e *endpoint) fatal(err error) bool { return !answered(err) }

func (e *endpoint) close(leave func()) {
	leave()
	e.client.CloseIdleConnections()
}

func (e *endpoint) said() string { return "" }

// counted sends the headers with every request, marks those that reached a server,
// and reads no endless answers.
type counted struct {
	http.RoundTripper
	headers http.Header
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(c.headers) > 0 {
		r = r.Clone(r.Context()) // which is not ours to change
		maps.Copy(r.Header, c.headers)
	}
	answer, err := c.RoundTripper.RoundTrip(r)
	if err == nil && answer.StatusCode != http.StatusNotFound || err != nil && !isDial(err) {
		sentTo(r.Context())
	}
	if err == nil {
		answer.Body = &limited{ReadCloser: answer.Body, left: maxBody}
	}
	return answer, err
}

// CloseIdleConnections is for http.Client, which asks its transport for it.
func (c *counted) CloseIdleConnections() {
	c.RoundTripper.(*http.Transport).CloseIdleConnections()
}

// isDial says whether an error is of a connection that never was.
func isDial(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}

// limited is a body with an end.
type limited struct {
	io.ReadCloser
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("an answer of more than %d bytes", maxBody)
	}
	n, err := l.ReadCloser.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
