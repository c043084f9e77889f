package engine

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/loop"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/model/offline"
	"github.com/agentbench/agentbench/engine/model/openai"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

// confinementVariable set to off leaves programs out of PID namespaces.
const confinementVariable = "AGENTBENCH_PIDNS"

// models are a suite's models, made when a loop asks for them.
type models struct {
	doc     *spec.Document
	options BuildOptions
	made    map[string]model.Model
	nested  map[*spec.Loop]*loop.Loop // those that serve others
	// confinement holds the programs of all loops.
	confinement *external.Confinement
	// client is that of all endpoints that are no model's.
	client  *http.Client
	servers map[*spec.Loop]*serverNames
	// together is what the tools of all loops share.
	together tool.Options
}

func newModels(doc *spec.Document, o BuildOptions) (*models, error) {
	if doc.Suite == nil {
		return nil, fmt.Errorf("a loop alone has no models: it runs in a suite")
	}
	return &models{
		doc: doc, options: o, made: map[string]model.Model{}, nested: map[*spec.Loop]*loop.Loop{}, servers: map[*spec.Loop]*serverNames{},
		confinement: confinement(o.Getenv),
		client:      external.NewClient(),
		together:    tool.Options{Memory: o.memory(), Schemas: &tool.Schemas{}},
	}, nil
}

// memory has what pure tools answered, in earlier sessions too where there is a
// cache.
func (o *BuildOptions) memory() *tool.Memory {
	if o.Cache == nil {
		return &tool.Memory{}
	}
	return &tool.Memory{Lasting: cache.Tools{Store: o.Cache, Mode: o.CacheMode}}
}

// named is the model of that name. Around what the provider gives stand, from
// the outside: the run's budget of as-if usage, the cache, and around each
// attempt what patient gives it.
func (m *models) named(name string) (model.Model, error) {
	if made, ok := m.made[name]; ok {
		return made, nil
	}
	declared, ok := m.doc.Suite.Models.Get(name)
	if !ok {
		return nil, fmt.Errorf("there is no model %q", name)
	}
	pricing := pace.OptionsOf(&declared)
	answers, err := m.cached(name, &declared, pricing)
	if err != nil {
		return nil, err
	}
	made := pace.LimitRun(answers, pricing)
	m.made[name] = made
	return made, nil
}

// cached is a model behind the cache, where there is one and calls are paid
// for. One that may only be asked of the cache is never made: it needs no key.
func (m *models) cached(name string, declared *spec.Model, pricing pace.LimitOptions) (model.Model, error) {
	store := m.options.Cache
	if free(declared.Provider) || store == nil {
		return m.limited(name, declared, pricing)
	}
	identity := cache.Identity{Provider: declared.Provider, BaseURL: declared.BaseURL, Model: cmp.Or(declared.Name, name), Headers: declared.Headers}
	if m.options.CacheMode == cache.Only {
		return cache.Wrap(nil, store, identity, cache.Only), nil
	}
	answers, err := m.limited(name, declared, pricing)
	if err != nil {
		return nil, err
	}
	return cache.Wrap(answers, store, identity, m.options.CacheMode), nil
}

// free says whether a provider's answers cost nothing and are always the same.
func free(provider string) bool { return provider == "script" || provider == "simulate" }

// limited is a model whose calls are reserved in the suite's budget, and paced
// and tried again where they go over a network.
func (m *models) limited(name string, declared *spec.Model, pricing pace.LimitOptions) (model.Model, error) {
	provided, err := m.provide(name, declared)
	if err != nil {
		return nil, err
	}
	if free(declared.Provider) {
		pricing.Simulated = true
		return pace.Limit(provided, m.options.Budget, pricing), nil
	}
	return m.patient(provided, declared, pricing), nil
}

// patient tries calls again. Every attempt is reserved in the suite's budget and
// passes the gate, so retries stand around both.
func (m *models) patient(provided model.Model, declared *spec.Model, pricing pace.LimitOptions) model.Model {
	g := pace.NewGate(pace.GateOptions{Requests: declared.RPM, Tokens: declared.TPM, Parallel: declared.MaxParallel})
	if m.options.Gate != nil {
		m.options.Gate(g)
	}
	paced := g.Wrap(provided)
	var o pace.RetryOptions
	if declared.Retries != nil {
		o.Retries = *declared.Retries
		if o.Retries == 0 {
			o.Retries = -1
		}
	}
	return pace.Retry(pace.Limit(paced, m.options.Budget, pricing), o)
}

func (m *models) provide(name string, declared *spec.Model) (model.Model, error) {
	switch declared.Provider {
	case "script":
		answers, err := m.doc.Answers(name)
		if err != nil {
			return nil, err
		}
		return &offline.Script{
			Name: name, ByTask: answers.ByTask, All: answers.List, AfterLast: offline.AfterLast(answers.AfterLast),
			Time: offline.CallOf(declared), Seed: m.doc.Suite.Seed,
		}, nil
	case "simulate":
		return offline.Simulate(name, m.doc.Suite.Seed, declared), nil
	case "openai":
		options, err := openai.FromSpec(name, declared, m.options.Getenv)
		if err != nil {
			return nil, err
		}
		return openai.New(options)
	}
	return nil, fmt.Errorf("model %q: there is no provider %q", name, declared.Provider)
}

// simulated says whether a simulated model has a part in the loop.
func (m *models) simulated(l *spec.Loop) bool {
	for _, name := range Used(l) {
		if declared, _ := m.doc.Suite.Models.Get(name); declared.Provider == "simulate" {
			return true
		}
	}
	return false
}
