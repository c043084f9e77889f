package a2a

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestCards(t *testing.T) {
	const old = `"preferredTransport":"JSONRPC","protocolVersion":"0.3.0"`
	for card, want := range map[string]string{
		`{"url":"http://a.test/rpc",` + old + `}`:  "0.3 http://a.test/rpc",
		`{"url":"http://A.test:81/rpc"}`:           "0.3 http://A.test:81/rpc",
		`{"url":"/rpc","protocolVersion":"0.2.6"}`: "0.3 http://a.test:80/rpc",
		`{"url":"http://a.test/grpc","preferredTransport":"GRPC","additionalInterfaces":[{"url":"http://a.test/j","transport":"JSONRPC"}]}`:                           "0.3 http://a.test/j",
		`{"supportedInterfaces":[{"url":"/a","protocolBinding":"JSONRPC","protocolVersion":"0.3"},{"url":"/b","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`: "1.0 http://a.test:80/b",
		`{"supportedInterfaces":[{"url":"/b","protocolBinding":"JSONRPC","protocolVersion":"1.1"}],"url":"/a",` + old + `}`:                                           "1.0 http://a.test:80/b",
		`{"supportedInterfaces":[{"url":"/b","protocolBinding":"GRPC","protocolVersion":"1.0"}]}`:                                                                     "it has GRPC 1.0",
		`{"supportedInterfaces":[{"url":"/b","protocolBinding":"JSONRPC","protocolVersion":"2.0"}]}`:                                                                  "it has JSONRPC 2.0",
		`{}`:                             "it has no interface",
		`[]`:                             "not what the protocol promises",
		`<html>`:                         "not what the protocol promises",
		`{"url":"http://b.test/rpc"}`:    "names another host, b.test",
		`{"url":"http://localhost/rpc"}`: "another host",
		`{"url":"ftp://a.test/rpc"}`:     "not an http or https address",
		`{"url":"http://a.test/%zz"}`:    "not an http or https address",
	} {
		address, _ := url.Parse("http://a.test:80/below")
		got, err := readCard([]byte(card), address)
		told := ""
		if err != nil {
			told = err.Error()
		} else {
			told = got.wire.version + " " + got.url
		}
		if !strings.Contains(told, want) {
			t.Errorf("%s: %s, want %s", card, told, want)
		}
	}
	address, _ := url.Parse("http://localhost:9")
	if got, err := readCard([]byte(`{"url":"http://0.0.0.0:9/"}`), address); err != nil || got.url != "http://0.0.0.0:9/" {
		t.Errorf("this machine by another name: %v", err)
	}
}

// The card is looked for below the address, in its older place, and at the
// address itself; it is asked for once.
func TestWhereCardsLie(t *testing.T) {
	for address, place := range map[string]string{
		"http://a.test":        "/.well-known/agent-card.json",
		"http://a.test/":       "/.well-known/agent.json",
		"http://a.test/x":      "/x/.well-known/agent-card.json",
		"http://a.test/y.json": "/y.json",
	} {
		asked := 0
		c, err := New(Options{Address: address, Transport: inside{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != place {
				http.NotFound(w, r)
				return
			}
			asked++
			_, _ = w.Write([]byte(`{"url":"/rpc"}`))
		})}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if to, err := c.endpoint(t.Context()); err != nil || to.url != "http://a.test/rpc" {
				t.Errorf("%s: %v", address, err)
			}
		}
		if asked != 1 {
			t.Errorf("%s: asked %d times", address, asked)
		}
	}
}

func TestNoCard(t *testing.T) {
	c, err := New(Options{Address: "http://a.test", Transport: inside{http.HandlerFunc(http.NotFound)}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.endpoint(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the agent's card at http://a.test/.well-known/agent-card.json: status 404") {
		t.Error(err)
	}
}

// Neither the card nor a task follows a redirect to another host.
func TestRedirects(t *testing.T) {
	var reached []string
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached = append(reached, r.Method+" "+r.URL.String())
		switch r.URL.Path {
		case "/.well-known/agent-card.json":
			http.Redirect(w, r, "/card", http.StatusFound)
		case "/card":
			_, _ = w.Write([]byte(`{"url":"/rpc"}`))
		default:
			http.Redirect(w, r, "http://b.test/rpc", http.StatusTemporaryRedirect)
		}
	})
	c, err := New(Options{Address: "http://a.test", Transport: inside{serve}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Send(t.Context(), "x", ""); err == nil || !strings.Contains(err.Error(), "sends the request on") {
		t.Error(err)
	}
	if got := strings.Join(reached, " "); strings.Contains(got, "b.test") || len(reached) != 3 {
		t.Errorf("reached %s", got)
	}
}
