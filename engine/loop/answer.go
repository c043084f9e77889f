package loop

import (
	"fmt"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/spec/expr"
)

// answer is what a judge or a program says of an output.
type answer struct {
	value        any // the whole, as expressions see it
	confidence   *float64
	passed       *bool
	feedback     string
	improvements []string
}

// parse reads an answer: one JSON object with confidence (0 to 1), passed,
// feedback and improvements, each optional. Verdicts are never looked for in
// prose.
func parse(text string, parseJSON func([]byte) (any, error)) (answer, error) {
	value, err := parseJSON([]byte(model.Verdict(text)))
	if err != nil {
		return answer{}, fmt.Errorf("it is not JSON: %w", err)
	}
	object, ok := value.(*expr.Object)
	if !ok {
		return answer{}, fmt.Errorf("it is not a JSON object")
	}
	a := answer{value: object}
	readers := []struct {
		key  string
		read func(any) bool
		want string
	}{
		{"confidence", a.setConfidence, "a number from 0 to 1"},
		{"passed", a.setPassed, "true or false"},
		{"feedback", a.setFeedback, "a text"},
		{"improvements", a.setImprovements, "a list of texts"},
	}
	for _, r := range readers {
		if v, ok := object.Get(r.key); ok && v != nil && !r.read(v) {
			return answer{}, fmt.Errorf("its %s is not %s", r.key, r.want)
		}
	}
	return a, nil
}

func (a *answer) setConfidence(v any) bool {
	number, ok := v.(float64)
	a.confidence = &number
	return ok && number >= 0 && number <= 1
}

func (a *answer) setPassed(v any) bool {
	passed, ok := v.(bool)
	a.passed = &passed
	return ok
}

func (a *answer) setFeedback(v any) (ok bool) {
	a.feedback, ok = v.(string)
	return ok
}

func (a *answer) setImprovements(v any) bool {
	items, ok := v.([]any)
	for _, item := range items {
		text, isText := item.(string)
		ok = ok && isText
		a.improvements = append(a.improvements, text)
	}
	return ok
}
