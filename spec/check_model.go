package spec

import (
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// providerKeys are the keys that belong to one provider or several; the others belong to all.
var providerKeys = map[string]string{
	"base_url": "openai", "api_key_env": "openai", "headers": "openai",
	"stream": "openai", "first_byte_timeout": "openai", "idle_timeout": "openai", "retries": "openai",
	"rpm": "openai", "tpm": "openai", "max_parallel": "openai",
	"responses": "script", "files": "script", "each": "script", "key": "script", "answers": "script", "after_last": "script",
	"quality": "simulate", "errors": "simulate", "reply": "simulate",
	"latency": "simulate script", "tokens": "simulate script", "sleep": "simulate script",
}

func (l *loader) checkModels(s *Suite) {
	for i := range s.Models {
		m := &s.Models[i].Value
		if m.Node == nil || m.Provider == "" {
			continue
		}
		for _, entry := range m.Node.Entries {
			if owners := providerKeys[entry.Key]; owners != "" && !slices.Contains(strings.Fields(owners), m.Provider) {
				l.add(m.Node.KeyFault(entry.Key, "it belongs to provider: "+strings.Join(strings.Fields(owners), " or "),
					"%q means nothing for the provider %s", entry.Key, m.Provider))
			}
		}
		switch m.Provider {
		case "script":
			l.checkScript(s.Models[i].Key, m)
		case "openai":
			l.checkAddress(m.Node.Get("base_url"), "base_url: http://localhost:8080/v1")
		}
	}
}

// mockVariables hold the replies of script models that declare none, as a JSON list.
var mockVariables = []string{"AGENTBENCH_MOCK_RESPONSES", "DEBUG_MOCK_RESPONSES"}

// checkScript wants one source of replies.
func (l *loader) checkScript(name string, m *Model) {
	mocked := slices.ContainsFunc(mockVariables, func(variable string) bool { return l.opt.Env(variable) != "" })
	switch {
	case m.Responses != nil && m.Files != nil:
		l.add(m.Node.KeyFault("files", "keep one of them", "the model %q has responses and files", name))
	case m.Responses == nil && m.Files == nil && !mocked:
		l.fault(m.Node, "write responses: [...], or files, key and answers, or set "+mockVariables[0],
			"the model %q has no replies", name)
	case m.Files != nil && (m.Key == nil || m.Answers == nil):
		l.fault(m.Node, "key gives the id of the task that a row answers, answers the list of replies",
			"the model %q looks its answers up: it needs key and answers", name)
	}
	for _, n := range fileNodes(m.Node.Get("files")) {
		l.checkGlob(n, false)
	}
	if m.Responses != nil && m.Responses.File != "" {
		l.checkGlob(m.Responses.Node, false)
	}
}

func fileNodes(n *source.Node) []*source.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// compileModels compiles the mappings of script models and the replies of simulated ones.
func (l *loader) compileModels(s *Suite) {
	mapping, simulated := compiler{l, expr.Mapping(), nil}, compiler{l, expr.Simulated(), nil}
	for i := range s.Models {
		m := &s.Models[i].Value
		mapping.expr(m.Each, expr.WantList)
		mapping.expr(m.Key, expr.WantString)
		mapping.expr(m.Answers, expr.WantList)
		simulated.prompt(m.Reply)
	}
}
