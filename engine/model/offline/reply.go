package offline

import (
	"fmt"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/spec/expr"
)

// reply is what was drawn for one call. It is the scope of the reply's
// template: see expr.Simulated.
type reply struct {
	request             *model.Request
	quality, confidence float64
	correct             bool
	truth, answer       any
	draw                int64
}

// Lookup gives the template its variables.
func (r *reply) Lookup(name string) (any, bool) {
	switch name {
	case "quality":
		return r.quality, true
	case "confidence":
		return r.confidence, true
	case "correct":
		return r.correct, true
	case "truth":
		return r.truth, true
	case "answer":
		return r.answer, true
	case "draw":
		return r.draw, true
	case "task":
		return withoutTarget{&r.request.Draw}, true
	case "iteration":
		return int64(r.request.Draw.Iteration), true
	case "prompt":
		if n := len(r.request.Messages); n > 0 {
			return r.request.Messages[n-1].Text, true
		}
		return "", true
	}
	return nil, false
}

// json is the reply of a model that declares none.
func (r *reply) json() (string, error) {
	o := expr.NewObject(3)
	o.Set("quality", r.quality)
	o.Set("confidence", r.confidence)
	o.Set("answer", r.answer)
	text, err := expr.AppendJSON(make([]byte, 0, 96), o)
	if err != nil {
		return "", fmt.Errorf("writing a simulated reply: %w", err)
	}
	return string(text), nil
}

// withoutTarget is a task as a reply's template sees it.
type withoutTarget struct{ *model.Draw }

func (t withoutTarget) Field(name string) any {
	switch {
	case name == "id":
		return t.Task
	case name == "target" || t.Of == nil:
		return nil
	}
	return t.Of.Field(name)
}
