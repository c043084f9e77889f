package a2a

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/a2a"
)

func TestCards(t *testing.T) {
	for card, want := range map[string]string{
		`{"url":"http://a.test/rpc","preferredTransport":"JSONRPC","protocolVersion":"0.3.0"}`: "http://a.test/rpc",
		`{"url":"http://A.test:81/rpc"}`:           "http://A.test:81/rpc",
		`{"url":"/rpc","protocolVersion":"0.2.6"}`: "http://a.test:80/rpc",
		`{"url":"http://a.test/grpc","preferredTransport":"GRPC","additionalInterfaces":[{"url":"http://a.test/j","transport":"JSONRPC"}]}`: "http://a.test/j",
		`{"url":"http://a.test/grpc","preferredTransport":"GRPC"}`:                                                                          "offers no JSONRPC",
		`{"supportedInterfaces":[{"url":"/b","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`:                                        "offers no JSONRPC",
		`{"url":"/b","protocolVersion":"1.0"}`:                                                                                              "version 1.0; 0.3 is supported",
		`{}`:                                                                                                                                "offers no JSONRPC",
		`{"url":"http://b.test/rpc"}`:                                                                                                       "names another host, b.test",
		`{"url":"http://localhost/rpc"}`:                                                                                                    "another host",
		`{"url":"ftp://a.test/rpc"}`:                                                                                                        "not an http or https address",
		`{"url":"http://a.test/%zz"}`:                                                                                                       "not an http or https address",
	} {
		var read a2a.AgentCard
		must(t, json.Unmarshal([]byte(card), &read))
		address, _ := url.Parse("http://a.test:80/below")
		got, err := endpoint(&read, address)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", card, got, want)
		}
	}
	address, _ := url.Parse("http://localhost:9")
	if got, err := endpoint(&a2a.AgentCard{URL: "http://0.0.0.0:9/"}, address); err != nil || got != "http://0.0.0.0:9/" {
		t.Errorf("this machine by another name: %v", err)
	}
}

// The card is looked for below the address, or is the address; it is asked for once.
// Neither it nor a task follows a redirect to another server.
func TestWhereCardsLie(t *testing.T) {
	for address, want := range map[string]string{
		"http://a.test":            "GET /.well-known/agent-card.json, POST /rpc, POST /rpc",
		"http://a.test/x/":         "GET /x/.well-known/agent-card.json, POST /rpc, POST /rpc",
		"http://a.test/y.json?v=1": "GET /y.json?v=1, POST /rpc, POST /rpc",
		"http://a.test/moved":      "GET /moved/.well-known/agent-card.json, GET /y.json, POST /rpc, POST /rpc",
		"http://a.test/loop":       strings.Repeat("GET /loop/.well-known/agent-card.json, ", 9) + "GET /loop/.well-known/agent-card.json",
		"http://a.test/away":       "GET /away/.well-known/agent-card.json, GET /away/.well-known/agent-card.json",
	} {
		var reached []string
		serve := func(w http.ResponseWriter, r *http.Request) {
			reached = append(reached, r.Method+" "+strings.TrimPrefix(r.URL.String(), "http://a.test"))
			switch {
			case strings.HasPrefix(r.URL.Path, "/moved"):
				http.Redirect(w, r, "/y.json", http.StatusFound)
			case strings.HasPrefix(r.URL.Path, "/loop"):
				http.Redirect(w, r, r.URL.Path, http.StatusFound)
			case r.Method == http.MethodPost, strings.HasPrefix(r.URL.Path, "/away"):
				http.Redirect(w, r, "http://b.test/rpc", http.StatusTemporaryRedirect)
			default:
				_, _ = w.Write([]byte(`{"url":"/rpc"}`))
			}
		}
		c, err := New(Options{Address: address, Transport: inside{http.HandlerFunc(serve)}})
		must(t, err)
		for range 2 {
			if _, _, err := c.Send(t.Context(), "x", ""); err == nil || !strings.Contains(err.Error(), "a.test sends the request on") {
				t.Errorf("%s: %v", address, err)
			}
		}
		if got := strings.Join(reached, ", "); got != want {
			t.Errorf("%s: reached %s", address, got)
		}
	}
}

// Whatever a card says, tasks go to the host that was addressed, over http.
func FuzzCard(f *testing.F) {
	f.Add(`{"url":"http://agent.test/rpc","protocolVersion":"0.3.0","additionalInterfaces":[{"url":"//b.test","transport":"JSONRPC"}]}`)
	f.Add(`{"url":"http://agent.test@b.test/"}`)
	f.Add(`{"url":"HTTP:\\b.test"}`)
	address, _ := url.Parse(fakeAddress)
	f.Fuzz(func(t *testing.T, text string) {
		var card a2a.AgentCard
		if json.Unmarshal([]byte(text), &card) != nil {
			return
		}
		at, err := endpoint(&card, address)
		if err != nil {
			if !classOf(err).Fault() {
				t.Fatal(err)
			}
			return
		}
		request, err := http.NewRequest(http.MethodPost, at, nil)
		if err != nil {
			return // it is told when the task is sent
		}
		if host := request.URL.Hostname(); !sameHost(host, "agent.test") || request.URL.Scheme != "http" && request.URL.Scheme != "https" {
			t.Fatalf("%s sends tasks to %s", text, at)
		}
	})
}
