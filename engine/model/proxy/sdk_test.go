package proxy

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/mockserver"
)

// The clients are those of the vendors, with the script by which the mock server is held to them (mockserver/sdk_test.go).
const sdkScript = "../mockserver/testdata/sdk.mjs"

const sdkRules = `
- {match: think, replies: [{thinking: Six times seven., text: "42"}]}
- match: weather
  steps:
  - {thinking: Where to., text: I look., tool_calls: [{name: get_weather, arguments: {city: Paris}}, {name: get_weather, arguments: {city: Rome}}]}
  - It rains.
- {match: long, replies: ["This reply is a good deal longer than sixteen tokens, which are about sixty-four characters, may be."]}
`

// told is what the script prints of a client.
func told(t *testing.T, arguments ...string) map[string]any {
	t.Helper()
	printed, err := exec.CommandContext(t.Context(), "node", append([]string{sdkScript}, arguments...)...).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	var all map[string]any
	must(t, json.Unmarshal(printed, &all))
	return all
}

// servers are two: one that replies, and one that refuses each request in another way. Both begin anew.
func servers(t *testing.T) (good, bad http.Handler) {
	t.Helper()
	rules, faults := mockserver.ParseRules("r.yaml", []byte(sdkRules))
	broken, err := mockserver.ParseFaults("at=1:400", "at=2:401", "at=3:403", "at=4:404", "at=5:429", "at=6:500", "at=7:529", "at=8:cut", "at=9:half-json")
	if faults.Err() != nil || err != nil {
		t.Fatal(faults, err)
	}
	return mockserver.New(mockserver.Options{Rules: rules, Chunk: 7}), mockserver.New(mockserver.Options{Rules: rules, Faults: broken})
}

// Whatever the clients of the vendors understand without the proxy they understand with it.
func TestTheClientsOfTheVendors(t *testing.T) {
	t.Parallel()
	for vendor, c := range map[string]struct {
		variable  string
		protocols []model.Protocol
	}{
		"openai":    {"AGENTBENCH_OPENAI_SDK", []model.Protocol{model.Responses, model.Chat}},
		"anthropic": {"AGENTBENCH_ANTHROPIC_SDK", []model.Protocol{model.Messages}},
	} {
		t.Run(vendor, func(t *testing.T) {
			dir := os.Getenv(c.variable)
			if _, err := exec.LookPath("node"); err != nil || dir == "" {
				t.Skipf("node is not installed, or %s names no folder with the client: .ci/run sets it", c.variable)
			}
			good, bad := servers(t)
			working, failing := httptest.NewServer(good), httptest.NewServer(bad)
			defer working.Close()
			defer failing.Close()
			want := told(t, vendor, dir, working.URL, failing.URL)

			// One session for each protocol: a model answers in one.
			good, bad = servers(t)
			asks := func(upstream http.Handler) *Session {
				switching := map[string]model.Protocol{}
				for _, p := range c.protocols {
					switching["/v1"+forms[p].body] = p
				}
				made := map[model.Protocol]*Session{}
				for _, p := range c.protocols {
					made[p] = opened(t, Run{Models: named(behind(t, p, upstream))})
				}
				front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					p, isCall := switching[r.URL.Path]
					if !isCall {
						p = c.protocols[0]
					}
					r.Header.Set("Authorization", "Bearer "+made[p].Token)
					r.Header.Del("X-Api-Key")
					made[p].server.ServeHTTP(w, r)
				}))
				t.Cleanup(front.Close)
				return &Session{BaseURL: front.URL, Token: "t"}
			}
			through, refused := asks(good), asks(bad)
			got := told(t, vendor, dir, through.BaseURL, refused.BaseURL, through.Token, refused.Token)
			for name := range want {
				if name != "models" && !reflect.DeepEqual(got[name], want[name]) {
					is, _ := json.Marshal(got[name]) // of JSON
					wanted, _ := json.Marshal(want[name])
					t.Errorf("%s: got %s\nwant %s", name, is, wanted)
				}
			}
			if len(want) < 6 || len(got) != len(want) || got["models"] == nil {
				t.Errorf("%d results, want %d", len(got), len(want))
			}
		})
	}
}
