package view

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// numbers is a source that says what it was asked.
type numbers struct{ name string }

func (n numbers) Write(w io.Writer) error { _, err := io.WriteString(w, "page of "+n.name); return err }
func (n numbers) Runs() ([]byte, error) {
	if n.name == "broken" {
		return nil, errors.New("the disk is gone")
	}
	return []byte("runs of " + n.name), nil
}
func (n numbers) Texts(side int, run string) ([]byte, error) {
	if side != 0 || run != "a/b/1" {
		return nil, ErrNone
	}
	return []byte("texts of " + run), nil
}

func pageOf(name string) Page {
	return Page{Name: name, Source: numbers{name}, State: func() State { return State{Results: "1", Status: "complete", Parts: []string{}} }}
}

// opened is a server, the address of its listener and its link.
func opened(t *testing.T, names ...string) (server http.Handler, host, link string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s := &Server{Now: time.Now, Look: func() <-chan time.Time { return time.After(time.Second) }}
	for _, name := range names {
		s.Pages = append(s.Pages, pageOf(name))
	}
	s.Compared = func(base, newest int) (Page, bool) { return pageOf(names[base] + " and " + names[newest]), true }
	server, link = s.Handler(listener)
	return server, listener.Addr().String(), link
}

// request is one to a server; with is what is changed.
func request(method, address string, with func(*http.Request)) *http.Request {
	r := httptest.NewRequest(method, address, nil)
	if at, err := url.Parse(address); err == nil {
		r.Host = at.Host
	}
	if with != nil {
		with(r)
	}
	return r
}

func answer(server http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// enter exchanges the token of a link.
func enter(t *testing.T, server http.Handler, link string) *http.Cookie {
	t.Helper()
	r := answer(server, request("GET", link, nil))
	if r.StatusCode != http.StatusOK || len(r.Cookies()) != 1 {
		t.Fatalf("the link is answered with %s and the cookies %v", r.Status, r.Cookies())
	}
	return r.Cookies()[0]
}

func TestALinkIsExchangedForACookieOnce(t *testing.T) {
	server, host, link := opened(t, "a")
	if r := answer(server, request("HEAD", link, nil)); r.StatusCode != http.StatusForbidden { // it looks for a preview
		t.Errorf("HEAD is answered with %s", r.Status)
	}
	cookie := enter(t, server, link)
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || strings.Contains(link, cookie.Value) {
		t.Errorf("the cookie is %v", cookie)
	}
	with := func(r *http.Request) { r.AddCookie(cookie) }
	for _, again := range []*http.Request{request("GET", link, nil), request("GET", link, with)} {
		if r := answer(server, again); r.StatusCode != http.StatusForbidden || len(r.Cookies()) > 0 {
			t.Errorf("the link works again: %s", r.Status)
		}
	}
	r := answer(server, request("GET", "http://"+host+"/1/", with))
	if text := bodyOf(t, r); text != "page of a" || r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("X-Frame-Options") != "DENY" {
		t.Errorf("the page is %q with %v", text, r.Header)
	}
}

func TestHostileRequestsAreRefused(t *testing.T) {
	server, host, link := opened(t, "a", "b")
	cookie := enter(t, server, link)
	in := func(more func(*http.Request)) func(*http.Request) {
		return func(r *http.Request) {
			if r.AddCookie(cookie); more != nil {
				more(r)
			}
		}
	}
	header := func(name, value string) func(*http.Request) {
		return in(func(r *http.Request) { r.Header.Set(name, value) })
	}
	at := "http://" + host
	for name, c := range map[string]struct {
		method, path string
		with         func(*http.Request)
		want         int
	}{
		"it is answered":         {"GET", "/1/data/runs", in(nil), 200},
		"the icon that is none":  {"GET", "/favicon.ico", in(nil), 204},
		"by HEAD, too":           {"HEAD", "/2/", in(nil), 200},
		"no cookie":              {"GET", "/1/data/runs", nil, 403},
		"another cookie":         {"GET", "/1/", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie.Name, Value: strings.Repeat("0", 64)}) }, 403},
		"an empty cookie":        {"GET", "/1/", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie.Name}) }, 403},
		"another host":           {"GET", "/1/", in(func(r *http.Request) { r.Host = "evil.example" }), 421},
		"the name of the host":   {"GET", "/1/", in(func(r *http.Request) { r.Host = strings.Replace(host, "127.0.0.1", "localhost", 1) }), 421},
		"another port":           {"GET", "/1/", in(func(r *http.Request) { r.Host = "127.0.0.1:1" }), 421},
		"no host":                {"GET", "/1/", in(func(r *http.Request) { r.Host = "" }), 421},
		"another origin":         {"GET", "/1/data/runs", header("Origin", "https://evil.example"), 403},
		"the origin of a file":   {"GET", "/1/data/runs", header("Origin", "null"), 403},
		"another site":           {"GET", "/1/", header("Sec-Fetch-Site", "cross-site"), 403},
		"another port's page":    {"GET", "/1/", header("Sec-Fetch-Site", "same-site"), 403},
		"its own origin":         {"GET", "/1/data/runs", header("Origin", at), 200},
		"POST":                   {"POST", "/1/data/runs", in(nil), 405},
		"DELETE":                 {"DELETE", "/1/", in(nil), 405},
		"OPTIONS":                {"OPTIONS", "/1/", header("Origin", at), 405},
		"POST of the link":       {"POST", "/?token=x", nil, 405},
		"a path upwards":         {"GET", "/1/../../../etc/passwd", in(nil), 404},
		"an escaped path":        {"GET", "/1/%2e%2e/%2e%2e/etc/passwd", in(nil), 404},
		"an escaped slash":       {"GET", "/1%2f..%2f..%2fetc%2fpasswd", in(nil), 404},
		"a file":                 {"GET", "/1/records.jsonl", in(nil), 404},
		"two slashes":            {"GET", "//evil.example/", in(nil), 404},
		"no such page":           {"GET", "/3/", in(nil), 404},
		"page 0":                 {"GET", "/0/", in(nil), 404},
		"page -1":                {"GET", "/-1/", in(nil), 404},
		"page 01":                {"GET", "/01/", in(nil), 404},
		"a huge page":            {"GET", "/" + strings.Repeat("9", 4000) + "/", in(nil), 404},
		"itself":                 {"GET", "/diff/1/1/", in(nil), 404},
		"a comparison":           {"GET", "/diff/2/1/", in(nil), 200},
		"no number of a side":    {"GET", "/1/data/run?side=x&run=a/b/1", in(nil), 400},
		"no side":                {"GET", "/1/data/run", in(nil), 400},
		"no such side":           {"GET", "/1/data/run?side=7&run=a/b/1", in(nil), 404},
		"the texts of a run":     {"GET", "/1/data/run?side=0&run=a/b/1", in(nil), 200},
		"a huge id":              {"GET", "/1/data/run?side=0&run=" + strings.Repeat("a", 1<<20), in(nil), 404},
		"an id upwards":          {"GET", "/1/data/run?side=0&run=../../etc/passwd", in(nil), 404},
		"another token":          {"GET", "/?token=" + strings.Repeat("0", 64), in(nil), 403},
		"no token":               {"GET", "/?token=", nil, 403},
		"a token at other paths": {"GET", "/1/?token=x", nil, 403},
	} {
		if r := answer(server, request(c.method, at+c.path, c.with)); r.StatusCode != c.want || len(r.Cookies()) > 0 {
			t.Errorf("%s: %s %.60s is answered with %s, want %d", name, c.method, c.path, r.Status, c.want)
		}
	}
}

func TestSeveralResultsHaveAList(t *testing.T) {
	server, host, link := opened(t, "<b>a</b>", "b")
	cookie := enter(t, server, link)
	list := bodyOf(t, answer(server, request("GET", "http://"+host+"/", func(r *http.Request) { r.AddCookie(cookie) })))
	for _, want := range []string{`<a href="/1/">&lt;b&gt;a&lt;/b&gt;</a> complete`, `<a href="/diff/1/2/">compared with &lt;b&gt;a`} {
		if !strings.Contains(list, want) {
			t.Errorf("%s is missing in %s", want, list)
		}
	}
	text := bodyOf(t, answer(server, request("GET", "http://"+host+"/diff/1/2/", func(r *http.Request) { r.AddCookie(cookie) })))
	if text != "page of <b>a</b> and b" {
		t.Errorf("the comparison is %q", text)
	}
}

func TestAnErrorIsTold(t *testing.T) {
	server, host, link := opened(t, "broken")
	cookie := enter(t, server, link)
	r := answer(server, request("GET", "http://"+host+"/1/data/runs", func(r *http.Request) { r.AddCookie(cookie) }))
	if text := bodyOf(t, r); r.StatusCode != 500 || !strings.Contains(text, "the disk is gone") {
		t.Errorf("%s: %s", r.Status, text)
	}
}

// Who asks for news waits for them, and gets what is known after a while.
func TestNewsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &Server{Now: time.Now, Look: func() <-chan time.Time { return time.After(time.Second) }}
		of := pageOf("a")
		of.State = func() State {
			runs := int(time.Since(began).Seconds()) / 10 // one every 10 seconds, and none after 5
			return State{Results: fmt.Sprint(min(runs, 5)), Status: "running", Parts: []string{"1 in flight"}}
		}
		asked := func(seen string) (text string, after time.Duration) {
			from := time.Now()
			w := httptest.NewRecorder()
			s.state(&of, w, httptest.NewRequest("GET", "/?seen="+url.QueryEscape(seen), nil))
			return w.Body.String(), time.Since(from)
		}
		first, after := asked("")
		if after != 0 || first != `{"results":"0","status":"running","parts":["1 in flight"]}` {
			t.Errorf("after %v: %s", after, first)
		}
		second, after := asked(first)
		if after != 10*time.Second || !strings.Contains(second, `"results":"1"`) {
			t.Errorf("after %v: %s", after, second)
		}
		time.Sleep(time.Minute)
		last, _ := asked("")
		if same, after := asked(last); after != longest || same != last {
			t.Errorf("after %v: %s", after, same)
		}
	})
}
