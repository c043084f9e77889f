package plan

import (
	"math"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Worst is what a run, or all runs, can use at most.
type Worst struct {
	Iterations int64
	Calls      int64
	// Tokens and Cost count MaxOutputTokens of every call and an estimate of
	// its prompt: a quarter of its characters, or the tokens that the model
	// declares. They are lower bounds where Unbounded is set.
	Tokens int64
	Cost   record.Money
	// Unbounded counts calls whose output has no limit, Unpriced those whose
	// model has no price, Programs the programs run, whose usage is unknown.
	Unbounded int64
	Unpriced  int64
	Programs  int64
}

// Plus is the sum of both; what does not fit stays the most that does.
func (w Worst) Plus(v Worst) Worst {
	w.Iterations = sum(w.Iterations, v.Iterations)
	w.Calls = sum(w.Calls, v.Calls)
	w.Tokens = sum(w.Tokens, v.Tokens)
	w.Cost = w.Cost.Plus(v.Cost)
	w.Unbounded = sum(w.Unbounded, v.Unbounded)
	w.Unpriced = sum(w.Unpriced, v.Unpriced)
	w.Programs = sum(w.Programs, v.Programs)
	return w
}

// Times is n times the same.
func (w Worst) Times(n int64) Worst {
	return Worst{
		Iterations: product(w.Iterations, n), Calls: product(w.Calls, n), Tokens: product(w.Tokens, n), Cost: w.Cost.Times(n),
		Unbounded: product(w.Unbounded, n), Unpriced: product(w.Unpriced, n), Programs: product(w.Programs, n),
	}
}

// sum and product are those of counts, or the most that fits.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func product(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// WorstOfRun is the worst case of one run of a loop on a task whose input has
// so many characters.
func WorstOfRun(l *spec.Loop, models map[string]*spec.Model, characters int) Worst {
	w := worst{loop: l, models: models, characters: characters}
	var total Worst
	left := MaxIterations(l)
	for _, s := range l.Stages() {
		n := int64(left)
		if s.Limit > 0 {
			n = min(n, int64(s.Limit))
		}
		left -= int(n)
		total = total.Plus(w.iteration(s).Times(n))
	}
	return total
}

// MaxIterations is the most iterations that a run of the loop can have.
func MaxIterations(l *spec.Loop) int {
	limit := 0
	if guard := l.Guards.AbsoluteMaxIterations; !guard.Off {
		limit = guard.Value
	}
	if effective, _, _ := l.EffectiveMax(); effective > 0 && (limit == 0 || effective < limit) {
		limit = effective
	}
	return limit
}

type worst struct {
	loop       *spec.Loop
	models     map[string]*spec.Model
	characters int
}

// iteration is the worst case of one iteration: the agent's call or program,
// and those of the evaluation.
func (w *worst) iteration(s spec.Stage) Worst {
	total := Worst{Iterations: 1}
	if s.Agent.Model != "" {
		total = total.Plus(w.call(s.Agent.Model, s.Agent.MaxOutputTokens, s.Agent.System, s.Prompt))
	} else {
		total.Programs++
	}
	if e := w.loop.Evaluate; e != nil && e.Judge != nil {
		total = total.Plus(w.call(e.Judge.Model, e.Judge.MaxOutputTokens, e.Judge.Rubric))
	}
	if e := w.loop.Evaluate; e != nil && e.Command != nil {
		total.Programs++
	}
	return total
}

func (w *worst) call(name string, maxOutput int, prompts ...*spec.Prompt) Worst {
	input := w.characters
	for _, p := range prompts {
		if p != nil {
			input += len(p.Text)
		}
	}
	m := w.models[name]
	input, output := mostTokens(m, input/4, maxOutput)
	call := Worst{Calls: 1, Tokens: int64(input + output)}
	if output == 0 {
		call.Unbounded = 1
	}
	switch {
	case m == nil || m.Price == nil:
		call.Unpriced = 1
	case !m.Price.Free:
		call.Cost = dollarsPerMillion(m.Price.Input, input).Plus(dollarsPerMillion(m.Price.Output, output))
	}
	return call
}

// mostTokens are those of the texts, or those that the model declares. An output
// of 0 has no limit.
func mostTokens(m *spec.Model, input, maxOutput int) (in, out int) {
	if m == nil {
		return input, maxOutput
	}
	if declared := m.Tokens.Most(m.Tokens.Input); declared > 0 {
		input = declared
	}
	if declared := m.Tokens.Most(m.Tokens.Output); declared > 0 && (maxOutput == 0 || declared < maxOutput) {
		maxOutput = declared
	}
	return input, maxOutput
}

// dollarsPerMillion is the cost of tokens at a price per million.
func dollarsPerMillion(price float64, tokens int) record.Money {
	return record.Money(math.Round(price * 1e6)).Times(int64(tokens))
}
