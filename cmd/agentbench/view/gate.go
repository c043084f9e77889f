package view

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
)

// gate lets nobody in but the browser that opened the link. Any page on the web, and any
// program on the machine, can send requests to a local port: what tells them apart is a
// cookie that is given once, for the token of the link.
type gate struct {
	host    string // and port
	session string // the value of the cookie

	mu    *sync.Mutex
	token string // "": it was used
}

func newGate(host string) gate {
	return gate{host: host, session: secret(), token: secret(), mu: &sync.Mutex{}}
}

func secret() string {
	var bytes [32]byte
	_, _ = rand.Read(bytes[:]) // it never fails
	return hex.EncodeToString(bytes[:])
}

// cookie is named after the port, because browsers send cookies to all ports of a host.
func (g *gate) cookie() string {
	return "agentbench-view-" + g.host[strings.LastIndex(g.host, ":")+1:]
}

// guard refuses all requests that are not for the handler.
func (g *gate) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
			"Content-Security-Policy": "frame-ancestors 'none'", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			w.Header().Set(name, value)
		}
		switch {
		case r.Host != g.host: // a name that was made to lead here
			http.Error(w, "this server answers to "+g.host, http.StatusMisdirectedRequest)
		case r.URL.Path != "/" && path.Clean(r.URL.Path) != strings.TrimSuffix(r.URL.Path, "/"): // nobody writes .. by hand
			http.NotFound(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "results are only read", http.StatusMethodNotAllowed)
		case r.Header.Get("Origin") != "" && r.Header.Get("Origin") != "http://"+g.host:
			http.Error(w, "another page asks", http.StatusForbidden)
		case r.URL.Path == "/" && r.URL.Query().Has("token"):
			g.exchange(w, r)
		case !g.knows(r):
			http.Error(w, "open the link that agentbench view printed; it works once, in one browser", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// exchange gives the cookie for the token, once.
func (g *gate) exchange(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.Method != http.MethodGet || g.token == "" || !equal(r.URL.Query().Get("token"), g.token) {
		http.Error(w, "this link does not work, or was used already; start agentbench view again", http.StatusForbidden)
		return
	}
	g.token = ""
	http.SetCookie(w, &http.Cookie{Name: g.cookie(), Value: g.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	// After a redirect of the request itself browsers would not send the cookie: another page,
	// or a file, has led here.
	_, _ = io.WriteString(w, `<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'">`+
		`<meta http-equiv="refresh" content="0;url=/"><title>agentbench</title><p><a href="/">Continue</a></p></html>`)
}

// knows reports whether a request has the cookie, and no other page of this machine sent it.
func (g *gate) knows(r *http.Request) bool {
	given, err := r.Cookie(g.cookie())
	from := r.Header.Get("Sec-Fetch-Site")
	return err == nil && equal(given.Value, g.session) && (from == "" || from == "none" || from == "same-origin")
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
