package scorers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/expr"
)

// asking sends a request to whom a scorer asks, and gives what was answered.
type asking func(ctx context.Context, request []byte) ([]byte, error)

// asked takes the score from what a program or an endpoint answers. What goes wrong there leaves the score unscored.
func (c *compiler) asked(ask asking) comparison {
	given, digs := c.given(), c.spec.Value != nil || c.spec.Extract != nil
	return func(ctx context.Context, s *subject) verdict {
		request, err := s.request(digs)
		if err != nil {
			return unscored("writing the request: %v", err)
		}
		answer, err := ask(ctx, request)
		if err != nil {
			return unscored("%s", whyNot(err))
		}
		said, err := readSaid(answer)
		if err != nil {
			return unscored("reading the answer: %v", err)
		}
		return said.verdict(given)
	}
}

// request is what those who are asked are told: of the run, its task with the target, what the scorer's own target is,
// and the output. Where the scorer digs something out of that, it is the value.
func (s *subject) request(digs bool) ([]byte, error) {
	task := expr.NewObject(0)
	if s.task != nil {
		task = agent.Task(s.task)
		task.Set("target", s.task.Target)
	}
	o := agent.Judged(task, s.run.Trial, s.n, s.output(s.n))
	o.Set("target", s.target)
	if digs {
		o.Set("value", s.value)
	}
	o.Set("run", s.run.ID)
	o.Set("configuration", s.run.Configuration)
	return expr.AppendJSON(nil, o)
}

// unable is the comparison of a scorer that cannot ask whom it has to.
func (c *compiler) unable(why error) comparison {
	c.made.unable = why
	return func(context.Context, *subject) verdict { return unscored("%v", why) }
}

// whyNot is what went wrong, without the class that the errors of runs have.
func whyNot(err error) string {
	if why, ok := errors.AsType[*record.Error](err); ok {
		return why.Message
	}
	return err.Error()
}

// said is what was answered: a number, a boolean, or an object with score, answer, explanation and unscored.
type said struct {
	score       any // a number or a boolean; nil where unscored says why there is none
	answer      any
	explanation string
	unscored    string
}

func readSaid(text []byte) (said, error) {
	value, err := expr.ParseJSON(text)
	if err != nil {
		return said{}, fmt.Errorf("it is not JSON: %w", err)
	}
	object, ok := value.(*expr.Object)
	if !ok {
		return scored(said{score: value})
	}
	var a said
	a.score, _ = object.Get("score")
	a.answer, _ = object.Get("answer")
	if a.explanation, err = textAt(object, "explanation"); err != nil {
		return said{}, err
	}
	if a.unscored, err = textAt(object, "unscored"); err != nil || a.unscored != "" {
		return a, err
	}
	if a.score == nil {
		return said{}, errors.New("it has neither score nor unscored")
	}
	return scored(a)
}

// scored refuses a score of another type.
func scored(a said) (said, error) {
	switch a.score.(type) {
	case bool, float64, int64:
		return a, nil
	}
	return said{}, errors.New("its score is neither a number nor true or false")
}

func textAt(object *expr.Object, key string) (string, error) {
	value, _ := object.Get(key)
	text, ok := value.(string)
	if value != nil && !ok {
		return "", fmt.Errorf("its %s is not a text", key)
	}
	return strings.TrimSpace(text), nil
}

func (a *said) verdict(given func(float64) verdict) verdict {
	var v verdict
	switch score := a.score.(type) {
	case bool:
		if score {
			v.value = 1
		}
	case int64:
		v = given(float64(score))
	case float64:
		v = given(score)
	}
	if a.unscored != "" {
		return unscored("%s", a.unscored)
	}
	if a.answer != nil {
		v.answer = short(text(a.answer), maxAnswer)
	}
	v.explanation = cmp.Or(short(a.explanation, maxExplanation), v.explanation)
	return v
}
