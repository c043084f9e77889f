package scorers

import (
	"bytes"
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
	"github.com/agentbench/agentbench/engine/testrun"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// asking sends a request to a program or an endpoint, and gives its answer.
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
		v, err := readVerdict(answer, given)
		if err != nil {
			return unscored("reading the answer: %v", err)
		}
		return v
	}
}

// request is what programs and endpoints read: of the run, its task with the target, the scorer's own target
// and the output; where the scorer takes something out of the output, that as the value.
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

// unable is the comparison of a scorer that cannot make its calls.
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

// readVerdict reads an answer: a number, a boolean, or an object with score, answer, explanation and unscored.
func readVerdict(written []byte, given func(any) (verdict, error)) (verdict, error) {
	if len(bytes.TrimSpace(written)) == 0 {
		return verdict{}, errors.New(`it is empty; want a number or {"score": 0.5}`)
	}
	value, err := expr.ParseJSON(written)
	if err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(string(written)), "\n")
		return verdict{}, fmt.Errorf(`it is not JSON: %w, in %q; want a number or {"score": 0.5}`, err, short(line, 60))
	}
	score := value
	object, ok := value.(*expr.Object)
	if ok {
		if score, _ = object.Get("score"); score == nil {
			err = errors.New("it has neither score nor unscored")
		}
	}
	explanation, wrong := textAt(object, "explanation")
	if wrong != nil {
		return verdict{}, wrong
	}
	why, wrong := textAt(object, "unscored")
	switch {
	case wrong != nil:
		return verdict{}, wrong
	case why != "":
		return unscored("%s", why), nil
	case err != nil:
		return verdict{}, err
	}
	v, err := given(score)
	if err != nil {
		return verdict{}, fmt.Errorf("its score is %w", err)
	}
	if answer, _ := object.Get("answer"); answer != nil {
		v.answer = short(text(answer), maxAnswer)
	}
	v.explanation = cmp.Or(short(explanation, maxExplanation), v.explanation)
	return v, nil
}

func textAt(object *expr.Object, key string) (string, error) {
	value, _ := object.Get(key)
	text, ok := value.(string)
	if value != nil && !ok {
		return "", fmt.Errorf("its %s is not a text", key)
	}
	return strings.TrimSpace(text), nil
}

// command takes the score from a program, which reads the run as JSON and writes its score as JSON. An exit status other
// than 0 is a failure, not a verdict.
func command(c *compiler) comparison {
	if c.all.outside == nil {
		return c.unable(errNoOutside)
	}
	started := c.all.outside.Program(c.spec.Command, cmp.Or(c.spec.Timeout, spec.DefaultScorerTimeout))
	return func(ctx context.Context, s *subject) verdict {
		if n := s.changedAfter(); n > 0 {
			return unscored("a program ran again in iteration %d, and what its files were before is not kept: declare workspace in its loop", n)
		}
		program, done, err := c.placed(ctx, s, started)
		if err != nil {
			return unscored("%s", whyNot(err))
		}
		defer done()
		return c.asked(func(ctx context.Context, request []byte) ([]byte, error) {
			finished, err := program.Run(ctx, request)
			return finished.Stdout, err
		})(ctx, s)
	}
}

// placed is a program where it judges: in a copy of the workspace as the iteration left it,
// over which the scorer's overlay is laid, or, where the run has no workspace, in the
// suite's folder. Done removes the copy.
func (c *compiler) placed(ctx context.Context, s *subject, program external.Program) (placed external.Program, done func(), err error) {
	done = func() {}
	if s.n == 0 || s.run.Iterations[s.n-1].Workspace == nil {
		return program, done, nil
	}
	workspaces, err := c.all.workspaces(s.run.Configuration)
	if err != nil {
		return program, done, err
	}
	files, err := c.overlay(ctx, s)
	if err != nil {
		return program, done, fmt.Errorf("overlay: %w", err)
	}
	if file := workspaces.FileOutside(s.run, program.Argv, files); file != "" {
		return program, done, fmt.Errorf("%s is not in the results: name the suite that it lies beside", file)
	}
	program.Argv = external.Beside(program.Dir, program.Argv)
	dir, done, err := workspaces.Copy(ctx, s.run.Iterations[s.n-1].Workspace.Tree, files)
	if err != nil {
		return program, done, err
	}
	program, err = workspaces.Within(program, dir, false)
	if err != nil {
		done()
	}
	return program, done, err
}

// overlay are the files that the scorer lays over a workspace: contents by paths.
func (c *compiler) overlay(ctx context.Context, s *subject) (map[string]string, error) {
	if c.spec.Overlay == nil {
		return nil, nil
	}
	value, err := c.expression(c.spec.Overlay).Value(ctx, s)
	if err != nil {
		return nil, err
	}
	return agent.Contents(value)
}

func (c *compilation) workspaces(configuration string) (*agent.Workspaces, error) {
	for i := range c.resolved {
		if c.resolved[i].Name == configuration && c.resolved[i].Loop.Workspace != nil {
			return c.outside.Workspaces(c.resolved[i].Loop)
		}
	}
	return nil, fmt.Errorf("the loop of %s has no workspace any more", configuration)
}

// test takes the score from tests that run in the workspace: 1 where they pass, or, where
// the scorer says so, the share that passes. Tests that take too long have failed.
func test(c *compiler) comparison {
	if c.all.outside == nil {
		return c.unable(errNoOutside)
	}
	started := c.all.outside.Program(c.spec.Command, cmp.Or(c.spec.Timeout, spec.DefaultTestTimeout))
	started.Called, started.Cuts = fmt.Sprintf("the test %q", strings.Join(c.spec.Command, " ")), true
	return func(ctx context.Context, s *subject) verdict {
		switch {
		case s.n == 0:
			return nothing
		case s.run.Iterations[s.n-1].Workspace == nil:
			return unscored("the run has no workspace in which tests could run")
		}
		program, done, err := c.placed(ctx, s, started)
		if err != nil {
			return unscored("%s", whyNot(err))
		}
		defer done()
		finished, err := program.Run(ctx, nil)
		failed, ok := errors.AsType[*record.Error](err)
		if ctx.Err() != nil || err != nil && (!ok || failed.Class != record.Program && !c.lost(s, program.Argv[0])) {
			return unscored("%s", whyNot(err))
		}
		r := testrun.Read(finished.Stdout, []byte(finished.Stderr), err == nil)
		v := verdict{explanation: whyFailed(&r, err)}
		v.answer = "the tests pass"
		if r.Passed {
			v.value = 1
			return v
		}
		v.answer = "the tests fail"
		if r.Tests > 0 {
			v.answer = fmt.Sprintf("%d of %d tests fail", max(1, len(r.Failed)), r.Tests)
		}
		if c.spec.Share {
			v.value = r.Share()
		}
		return v
	}
}

// lost reports whether the run took away the program that tests it.
func (c *compiler) lost(s *subject, program string) bool {
	workspaces, err := c.all.workspaces(s.run.Configuration)
	return err == nil && workspaces.Lost(program, s.run.Seed, s.run.Iterations[s.n-1].Workspace.Tree)
}

// whyFailed names the tests that failed, or says how they ended.
func whyFailed(r *testrun.Result, err error) string {
	switch {
	case err == nil:
		return ""
	case len(r.Failed) > 0:
		return short("failed: "+strings.Join(r.Failed, ", "), maxExplanation)
	}
	return short(whyNot(err), maxExplanation)
}

// changedAfter is the first iteration after the one that is judged in which a program may
// have changed the files that this one left, where no snapshot keeps them; 0: none.
func (s *subject) changedAfter() int {
	if s.n == 0 || s.run.Iterations[s.n-1].Workspace != nil {
		return 0
	}
	for i := s.n; i < len(s.run.Iterations); i++ {
		for c := range s.run.Iterations[i].Calls {
			if s.run.Iterations[i].Calls[c].Role == record.RoleProgram {
				return i + 1
			}
		}
	}
	return 0
}

// endpoint takes the score from an endpoint: it is posted what a program reads, and answers what a program writes.
func endpoint(c *compiler) comparison {
	if c.all.outside == nil {
		return c.unable(errNoOutside)
	}
	at, err := c.all.outside.Endpoint(c.spec.URL, c.spec.Headers)
	if err != nil {
		return c.unable(err)
	}
	answers := pace.Retry(answering{at, cmp.Or(c.spec.Timeout, spec.DefaultScorerTimeout)}, pace.RetryOptions{})
	return c.asked(func(ctx context.Context, request []byte) ([]byte, error) {
		reply, err := answers.Call(ctx, &model.Request{Messages: []model.Message{{Role: "user", Text: string(request)}}})
		if err != nil {
			return nil, err
		}
		return []byte(reply.Text), nil
	})
}

// answering is an endpoint as a model, so that its passing failures are retried like a model's.
type answering struct {
	endpoint external.Endpoint
	timeout  time.Duration // of one attempt
}

// Call posts once.
func (a answering) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	answer, err := a.endpoint.Post(ctx, a.timeout, []byte(request.Messages[0].Text))
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
		v, err := given(result)
		switch {
		case err != nil:
			return unscored("the result is neither a number nor a boolean: %s", quoted(text(result)))
		case result == false:
			v.explanation = whyNot
		}
		return v
	}
}
