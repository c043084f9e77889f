package mcp

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
)

// maxBody is how large one answer of an endpoint may be, with all its events: the
// SDK has a limit for each, and asks again for those that are beyond it.
const maxBody = 16 << 20

// webClient sends the headers with every request, stays on its host, and reads no
// endless answers. Its connections are its own.
func webClient(headers http.Header) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	return &http.Client{Transport: &headed{transport, headers}, CheckRedirect: sameHost}
}

type headed struct {
	*http.Transport
	headers http.Header
}

// RoundTrip implements http.RoundTripper.
func (h *headed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // which is not ours to change
	maps.Copy(r.Header, h.headers)
	answer, err := h.Transport.RoundTrip(r)
	if err == nil {
		answer.Body = &limited{ReadCloser: answer.Body, left: maxBody}
	}
	return answer, err
}

type limited struct {
	io.ReadCloser
	left int // bytes
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("an answer of more than %d bytes", maxBody)
	}
	n, err := l.ReadCloser.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
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

// isDial reports whether an error is of a connection that never was.
func isDial(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "dial"
}
