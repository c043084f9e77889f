package replay

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/loop"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// world is what does not depend on the configuration: what models answer to
// what they are sent, and what that takes.
type world struct {
	seed uint64
	// In percent: how often calls fail, agents end, replies are final, and how
	// often an iteration makes several calls.
	fails, dries, finals, busy int
}

// dice are those of the n-th call of a model in a run, for what it is sent.
func (w *world) dice(name string, request *model.Request) *rand.Rand {
	h := fnv.New64a()
	sum := request.Sum(name)
	h.Write(sum[:])
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(request.Draw.Call)))
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

func chance(dice *rand.Rand, percent int) bool { return dice.IntN(100) < percent }

func of[T any](dice *rand.Rand, values ...T) T { return values[dice.IntN(len(values))] }

// answers is the model of that name.
type answers struct {
	world *world
	name  string
}

// Call answers in minutes: the clock of the machine must not matter.
func (a answers) Call(_ context.Context, request *model.Request) (*model.Reply, error) {
	dice := a.world.dice(a.name, request)
	took := time.Duration(1+dice.IntN(4)) * 30 * time.Second
	if a.name == "m" && request.Messages[0].Role != "more" && chance(dice, a.world.dries) {
		return nil, model.ErrEnded
	}
	if chance(dice, a.world.fails) {
		failed := model.Fail(of(dice, record.Server, record.ContextLength, record.CallTimeout), of(dice, "a", "b"), took)
		failed.Usage.InputTokens = int64(dice.IntN(50))
		failed.Waited = time.Duration(dice.IntN(3)) * time.Minute
		return nil, failed
	}
	reply := &model.Reply{
		Duration: took, Waited: time.Duration(dice.IntN(4)/2) * time.Minute,
		Usage: record.Usage{Calls: 1, InputTokens: int64(20 + dice.IntN(50)), OutputTokens: int64(dice.IntN(40))},
	}
	if a.name == "user" {
		reply.Text = of(dice, "go on", "why?", "and then?", "enough ###STOP###")
		return reply, nil
	}
	if callsTools(dice, request, reply) {
		return reply, nil
	}
	confidence := of(dice, "0.0", "0.2", "0.4", "0.6", "0.8", "0.9", "1.0")
	text := fmt.Sprintf(`{"c": %s, "o": %q, "p": %v, "f": %v, "s": %q}`, confidence, of(dice, "a", "b", "c"), chance(dice, 5), chance(dice, a.world.finals), of(dice, "x", "yy"))
	if a.name == "judge" {
		text = fmt.Sprintf(`{"confidence": %s, "feedback": %q}`, confidence, of(dice, "shorter", "longer"))
	} else if chance(dice, 5) {
		text = of(dice, `{"o": "a"}`, "no JSON", "")
	}
	reply.Text = text
	return reply, nil
}

// worker is an agent that makes some calls and uses tools between them.
type worker struct {
	world *world
	model model.Model
	spec  *spec.Agent
}

func (w *worker) request(turn *agent.Turn, n int) *model.Request {
	role := "user"
	if n > 0 {
		role = "more"
	}
	return &model.Request{
		Messages: []model.Message{{Role: role, Text: turn.System + "\n" + turn.Prompt}}, MaxOutputTokens: 40, Temperature: w.spec.Temperature,
		Draw: model.Draw{Task: turn.Task.ID, Trial: turn.Trial, Call: turn.Calls["m"]},
	}
}

// Sends is the hash of the first request.
func (w *worker) Sends(turn *agent.Turn) (string, error) { return w.request(turn, 0).Hash("m"), nil }

// Execute makes calls and uses tools as the dice say.
func (w *worker) Execute(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
	first := w.request(turn, 0)
	result := agent.Result{Request: first.Hash("m")}
	dice := w.world.dice("worker", first)
	calls := 1
	if chance(dice, w.world.busy) {
		calls += dice.IntN(3)
	}
	text, elapsed := "", turn.Elapsed
	for n := range calls {
		request := w.request(turn, n)
		reply, call, err := trace.Ask(ctx, model.Asked{
			Model: w.model, Name: "m", Role: record.RoleAgent, Hash: request.Hash("m"), Request: request, Calls: turn.Calls, Timeout: w.spec.Timeout,
		})
		if call != nil {
			result.Calls = append(result.Calls, *call)
		}
		if err != nil {
			return result, err
		}
		text, elapsed = reply.Text, elapsed+call.Duration+call.Waited
		for range dice.IntN(3) {
			result.ToolCalls = append(result.ToolCalls, record.ToolCall{
				Tool: of(dice, "search", "read"), Arguments: []byte(of(dice, `{"q":1}`, `{"a":1,"b":2}`, `{"b":2,"a":1}`)), Start: elapsed,
			})
		}
	}
	if text == "" {
		return result, &record.Error{Class: record.NoAnswer, Message: "the reply is empty"}
	}
	result.SetReply(text, w.spec.Reply)
	var err error
	result.Ended, err = agent.FinalResponse(ctx, w.spec, turn.Scope, &result)
	return result, err
}

// price is dear, so that budgets of money count.
var price = pace.Price{Rates: pace.Rates{Input: record.USD / 1000, Output: record.USD / 500}}

// live puts a loop together as it runs.
func (w *world) live(l *spec.Loop) *loop.Loop {
	named := func(name string) model.Model {
		return pace.LimitRun(answers{w, name}, pace.LimitOptions{Price: price, MaxOutput: 40})
	}
	built := &loop.Loop{Rules: stop.Compile(l), Param: paramOf(l), Head: record.Run{Configuration: "c"}}
	for _, s := range l.Stages() {
		var executes agent.Agent = &worker{w, named("m"), s.Agent}
		if l.Converses(s.Agent) {
			executes = w.talker(l, s.Agent, named)
		}
		built.Stages = append(built.Stages, loop.Stage{Agent: executes, System: s.Agent.System, Prompt: s.Prompt})
	}
	if l.Evaluate != nil {
		built.Evaluator = &loop.DeclaredEvaluator{Spec: l.Evaluate, Pattern: l.Pattern, Judge: named("judge")}
	}
	if b := l.Guards.Budget; b != nil && b.Hard {
		built.Begin = func(ctx context.Context) (context.Context, func()) {
			return pace.WithRun(ctx, pace.OfRun(b)), func() {}
		}
	}
	return built
}

// again judges as a loop does, without calls; nil in a loop that judges nothing.
func (w *world) again(l *spec.Loop) Judge {
	if l.Evaluate == nil {
		return nil
	}
	return loop.Again{Evaluator: &loop.DeclaredEvaluator{Spec: l.Evaluate, Pattern: l.Pattern}}
}

var task = &spec.Task{ID: "t", Input: "hello"}

func (w *world) run(l *spec.Loop) *record.Run {
	return w.live(l).Run(context.Background(), "c/t/1", task, 1, nil)
}

// compiled expressions and prompts are kept: compiling takes most of the time.
var compiled sync.Map

func cel(text string, want expr.Want) *spec.Expr {
	return compile("cel", expr.Evaluate(expr.Any), text, want)
}

func compile(place string, env *expr.Env, text string, want expr.Want) *spec.Expr {
	return keep(place+" "+fmt.Sprint(want)+text, func() any {
		program, faults := env.Compile(text, want)
		if len(faults) > 0 {
			panic(fmt.Sprint(text, ": ", faults))
		}
		return &spec.Expr{Text: text, Program: program}
	}).(*spec.Expr)
}

func prompt(text string) *spec.Prompt {
	return keep("prompt "+text, func() any {
		template, faults := expr.Loop(expr.Any).Template(text)
		if len(faults) > 0 {
			panic(fmt.Sprint(text, ": ", faults))
		}
		return &spec.Prompt{Text: text, Template: template}
	}).(*spec.Prompt)
}

func keep(key string, make func() any) any {
	if known, ok := compiled.Load(key); ok {
		return known
	}
	made, _ := compiled.LoadOrStore(key, make())
	return made
}
