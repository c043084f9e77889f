package proxy

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/model/wire/wiretest"
)

// Whatever the clients of the vendors understand without the proxy they understand with it: the tests of the mock server have the same
// script.
func TestTheClientsOfTheVendors(t *testing.T) {
	t.Parallel()
	rules, faults := mockserver.ParseRules("r.yaml", wiretest.VendorRules(t))
	broken, err := mockserver.ParseFaults(wiretest.VendorFaults...)
	if faults.Err() != nil || err != nil {
		t.Fatal(faults, err)
	}
	for vendor, c := range map[string]struct {
		variable  string
		protocols []model.Protocol
	}{
		"openai":    {"AGENTBENCH_OPENAI_SDK", []model.Protocol{model.Responses, model.Chat}},
		"anthropic": {"AGENTBENCH_ANTHROPIC_SDK", []model.Protocol{model.Messages}},
	} {
		t.Run(vendor, func(t *testing.T) {
			folder := wiretest.Package{Name: "the client of " + vendor, Variable: c.variable}.Folder(t)
			good := inProtocols(t, c.protocols, mockserver.New(mockserver.Options{Rules: rules, Chunk: 7}))
			bad := inProtocols(t, c.protocols, mockserver.New(mockserver.Options{Rules: rules, Faults: broken}))
			if models := wiretest.Understood(t, vendor, folder, good, bad, "t", "t"); models == nil {
				t.Error("no models are listed")
			}
		})
	}
}

// inProtocols is the address of a server behind sessions, one for each protocol: a model answers in one.
func inProtocols(t *testing.T, protocols []model.Protocol, upstream http.Handler) string {
	t.Helper()
	sessions := map[string]*Session{}
	for _, p := range protocols {
		sessions["/v1"+forms[p].body] = opened(t, Run{Models: named(behind(t, p, upstream))})
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, isCall := sessions[r.URL.Path]
		if !isCall {
			s = sessions["/v1"+forms[protocols[0]].body]
		}
		r.Header.Set("Authorization", "Bearer "+s.Token)
		r.Header.Del("X-Api-Key")
		s.server.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL
}
