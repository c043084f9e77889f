package scorers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/pace"
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

// command takes the score from a program, which reads the run as JSON and writes its score as JSON. An exit status other
// than 0 is a failure, not a verdict.
func command(c *compiler) comparison {
	if c.all.outside == nil {
		return c.unable(errNobody)
	}
	program := c.all.outside.Program(c.spec.Command, cmp.Or(c.spec.Timeout, defaultTimeout))
	return c.asked(func(ctx context.Context, request []byte) ([]byte, error) {
		done, err := program.Run(ctx, request)
		return done.Stdout, err
	})
}

// endpoint takes the score from an endpoint: it is posted what a program reads, and answers what a program writes.
func endpoint(c *compiler) comparison {
	if c.all.outside == nil {
		return c.unable(errNobody)
	}
	at, err := c.all.outside.Endpoint(c.spec.URL, c.spec.Headers)
	if err != nil {
		return c.unable(err)
	}
	answers := pace.Retry(answering{at, cmp.Or(c.spec.Timeout, defaultTimeout)}, pace.RetryOptions{})
	return c.asked(func(ctx context.Context, request []byte) ([]byte, error) {
		reply, err := answers.Call(ctx, &model.Request{Messages: []model.Message{{Role: "user", Text: string(request)}}})
		if err != nil {
			return nil, err
		}
		return []byte(reply.Text), nil
	})
}

// answering is an endpoint as what answers a request, so that failures that pass are tried again as those of models are.
type answering struct {
	endpoint external.Endpoint
	timeout  time.Duration // of one attempt
}

// Call posts once.
func (a answering) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	answer, err := a.endpoint.PostWithin(ctx, a.timeout, []byte(request.Messages[0].Text))
	if failed, ok := errors.AsType[*record.Error](err); ok {
		return nil, model.Fail(failed.Class, "the endpoint: "+failed.Message, answer.Duration)
	}
	if err != nil {
		return nil, err
	}
	return &model.Reply{Text: string(answer.Body), Duration: answer.Duration}, nil
}

// cel takes the score from an expression: a number of the range, or a boolean.
func cel(c *compiler) comparison {
	if c.spec.Expr == nil {
		c.fault("", "a scorer of type cel needs expr")
		return nil
	}
	program := c.expression(c.spec.Expr)
	given := c.given()
	whyNot := quoted(c.spec.Expr.Text) + " is false"
	return func(ctx context.Context, s *subject) verdict {
		result, err := program.Value(ctx, s)
		if err != nil {
			return unscored("%v", err)
		}
		switch v := result.(type) {
		case bool:
			if v {
				return verdict{value: 1}
			}
			return verdict{explanation: whyNot}
		case float64:
			return given(v)
		case int64:
			return given(float64(v))
		}
		return unscored("the result is neither a number nor a boolean: %s", quoted(text(result)))
	}
}
