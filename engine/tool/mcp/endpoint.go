package mcp

import (
	"fmt"
	"maps"
	"net/http"
)

// maxBody is how large one answer of an endpoint may be, with all its events.
const maxBody = 16 << 20

// webClient sends the headers with every request, follows redirects that stay on the host, and reads no endless answers. Its
// connections are its own.
func webClient(headers http.Header) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	return &http.Client{Transport: &headed{transport, headers}, CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if next.URL.Host == before[0].URL.Host && len(before) <= 5 {
			return nil
		}
		return fmt.Errorf("it redirects to %s, which is not followed: write that address if it is right", next.URL.Redacted())
	}}
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
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxBody)
	}
	return answer, err
}
