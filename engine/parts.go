package engine

import (
	"fmt"
	"time"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/loop"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/spec"
)

// Parts are what a suite is run with. Its loops and those that score them ask
// the same models, behind one gate and one cache.
type Parts struct{ models *models }

// New makes no model before something asks for it.
func NewParts(doc *spec.Document, o BuildOptions) (*Parts, error) {
	models, err := newModels(doc, o)
	if err != nil {
		return nil, err
	}
	return &Parts{models}, nil
}

// Loops makes a loop of every configuration, in their order. It fails where a
// model cannot be made: a missing key, unreadable recordings.
func (p *Parts) Loops(configurations []spec.Resolved) ([]*loop.Loop, error) {
	var loops []*loop.Loop
	for i := range configurations {
		built, err := p.models.loop(&configurations[i])
		if err != nil {
			return nil, fmt.Errorf("configuration %q: %w", configurations[i].Name, err)
		}
		loops = append(loops, built)
	}
	return loops, nil
}

// Model is the model of that name. It is not safe for concurrent use; the model is.
func (p *Parts) Model(name string) (model.Model, error) { return p.models.named(name) }

// Program is one that starts in the suite's folder.
func (p *Parts) Program(argv []string, timeout time.Duration) external.Program {
	return p.models.program(p.models.doc.Dir(), argv, timeout)
}

// Endpoint fails where the variable of a header is not set.
func (p *Parts) Endpoint(url string, headers spec.Headers) (external.Endpoint, error) {
	_, err := p.models.headers(headers)
	return p.models.endpoint(url, headers), err
}

// Exposed is why the programs of a document, or those of a loop's, can read keys in
// the environment of this process and of those that started it; "" where they cannot,
// or there are none.
func Exposed(doc *spec.Document, getenv func(string) string) string {
	if !doc.StartsPrograms() {
		return ""
	}
	return confinement(getenv).Exposed()
}

// confinement is what holds programs, unless the user switched it off.
func confinement(getenv func(string) string) *external.Confinement {
	return &external.Confinement{Off: getenv(confinementVariable) == "off"}
}
