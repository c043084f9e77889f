package plan

import (
	"iter"
	"math"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
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
	// model has no price, Open those that send along what tools gave, which has
	// no known length. Programs counts programs and remote agents run, whose
	// usage is unknown. Served counts the steps of programs that call models, which
	// are among the calls and not in tokens and cost; Limitless counts those of them
	// that may make as many as they want.
	Unbounded int64
	Unpriced  int64
	Open      int64
	Programs  int64
	Served    int64
	Limitless int64
	// Handed counts the tasks that are handed to delegates: one to each in every
	// step. An agent may hand out more.
	Handed int64
	// Beside is how many calls are made at the same time at most, where these are several: by delegates, or the
	// members of a panel. Dearest is what 1000 tokens more cost of a reply without a limit.
	Beside  int
	Dearest record.Money
}

// Plus is the sum of both; what does not fit stays the most that does.
func (w Worst) Plus(v Worst) Worst {
	w.Iterations = sum(w.Iterations, v.Iterations)
	w.Calls = sum(w.Calls, v.Calls)
	w.Tokens = sum(w.Tokens, v.Tokens)
	w.Cost = w.Cost.Plus(v.Cost)
	w.Unbounded = sum(w.Unbounded, v.Unbounded)
	w.Unpriced = sum(w.Unpriced, v.Unpriced)
	w.Open = sum(w.Open, v.Open)
	w.Programs = sum(w.Programs, v.Programs)
	w.Served = sum(w.Served, v.Served)
	w.Limitless = sum(w.Limitless, v.Limitless)
	w.Handed = sum(w.Handed, v.Handed)
	w.Beside, w.Dearest = max(w.Beside, v.Beside), max(w.Dearest, v.Dearest)
	return w
}

// Times is n times the same.
func (w Worst) Times(n int64) Worst {
	return Worst{
		Iterations: product(w.Iterations, n), Calls: product(w.Calls, n), Tokens: product(w.Tokens, n), Cost: w.Cost.Times(n),
		Unbounded: product(w.Unbounded, n), Unpriced: product(w.Unpriced, n), Open: product(w.Open, n),
		Programs: product(w.Programs, n), Served: product(w.Served, n), Limitless: product(w.Limitless, n), Handed: product(w.Handed, n),
		Beside: w.Beside, Dearest: w.Dearest,
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
	return (&worst{models: models, characters: characters}).run(l)
}

func (w *worst) run(l *spec.Loop) Worst {
	of := *w
	of.loop = l
	var total Worst
	left, carried := MaxIterations(l), int64(0)
	for _, s := range l.Stages() {
		n := int64(left)
		if s.Limit > 0 {
			n = min(n, int64(s.Limit))
		}
		left -= int(n)
		total = total.Plus(of.stage(s, carried, n))
		carried = sum(carried, product(of.remembered(s), n))
	}
	if b := l.Guards.Budget; b != nil && b.Steps > 0 && (total.Limitless > 0 || total.Served > b.Steps) { // it counts those of the whole run
		total.Calls, total.Served, total.Limitless = sum(total.Calls-total.Served, b.Steps), b.Steps, 0
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
	// delegates are the worst cases of loops that tasks are handed to.
	delegates map[*spec.Loop]Worst
}

// stage is the worst case of so many iterations of a stage: the agent's calls or
// programs, and those of the evaluation. Carried are the tokens of the iterations
// before, which a memory sends along.
func (w *worst) stage(s spec.Stage, carried, n int64) Worst {
	total := Worst{Iterations: 1}
	if e := w.loop.Evaluate; e != nil && e.Judge != nil {
		total = total.Plus(w.call(e.Judge.Model, e.Judge.MaxOutputTokens, e.Judge.Rubric))
	}
	if e := w.loop.Evaluate; e != nil && (e.Command != nil || e.Test != nil) {
		total.Programs++
	}
	switch {
	case s.Agent.Model == "":
		total.Programs++
		if steps := int64(s.Agent.MaxSteps); len(s.Agent.Models) > 0 && steps > 0 {
			total.Calls, total.Served = total.Calls+steps, steps
		} else if len(s.Agent.Models) > 0 {
			total.Limitless++
		}
	case !w.loop.Converses(s.Agent):
		total = total.Plus(w.call(s.Agent.Model, s.Agent.MaxOutputTokens, s.Agent.System, s.Prompt))
	default:
		return total.Times(n).Plus(w.conversations(s, carried, n))
	}
	return total.Times(n)
}

func (w *worst) call(name string, maxOutput int, prompts ...*spec.Prompt) Worst {
	return w.calls(name, maxOutput, series{n: 1, first: tokensOf(w.characters, prompts...)})
}

// tokensOf estimates the tokens of texts: the length of some, and prompts.
func tokensOf(characters int, prompts ...*spec.Prompt) int64 {
	for _, p := range prompts {
		if p != nil {
			characters += len(p.Text)
		}
	}
	return int64(characters / 4)
}

// series are the inputs of so many calls, each of which sends so much more than
// the one before it. Most is what is sent at most, and no less than the first; 0:
// no limit.
type series struct{ n, first, more, most int64 }

// total is the sum of the series.
func (s series) total() int64 {
	growing := s.n
	if s.most > 0 && s.more > 0 {
		growing = min(s.n, (s.most-s.first)/s.more+1)
	}
	grown := product(s.more, product(growing, growing-1)/2)
	return sum(sum(product(growing, s.first), grown), product(s.n-growing, s.most))
}

// calls are calls of one model with such inputs.
func (w *worst) calls(name string, maxOutput int, s series) Worst {
	m := w.models[name]
	declared, output := declaredTokens(m, maxOutput)
	input := s.total()
	if declared > 0 {
		input = product(int64(declared), s.n)
	}
	outputs := product(int64(output), s.n)
	calls := Worst{Calls: s.n, Tokens: sum(input, outputs)}
	in, out, perCall, known := m.Dearest()
	if output == 0 {
		calls.Unbounded, calls.Dearest = s.n, dollarsPerMillion(out, 1000)
	}
	if !known {
		calls.Unpriced = s.n
	}
	calls.Cost = dollarsPerMillion(in, input).Plus(dollarsPerMillion(out, outputs)).Plus(record.Money(math.Round(perCall * float64(record.USD))).Times(s.n))
	return calls
}

// declaredTokens are those that the model declares of its input, 0 if it does
// not, and the most that it answers, where 0 is no limit.
func declaredTokens(m *spec.Model, maxOutput int) (in, out int) {
	if m == nil {
		return 0, maxOutput
	}
	if declared := m.Tokens.Most(m.Tokens.Output); declared > 0 && (maxOutput == 0 || declared < maxOutput) {
		maxOutput = declared
	}
	return m.Tokens.Most(m.Tokens.Input), maxOutput
}

// dollarsPerMillion is the cost of tokens at a price per million.
func dollarsPerMillion(price float64, tokens int64) record.Money {
	return record.Money(math.Round(price * 1e6)).Times(tokens)
}

// Overshoot is by how much a suite's budget may be exceeded. Its zero value
// means not at all: every reply has a limit, and that is reserved.
type Overshoot struct {
	// Calls may be in flight at once that have no limit of their replies.
	Calls int
	// Per1000 is what all of them cost beyond what is reserved for them, when
	// each reply is 1000 tokens longer than that.
	Per1000 record.Money
}

// Overshoot is the possible overshoot of the budget of a suite, so many of whose runs are in flight at once. Each makes
// one call at a time, and one for each delegate of an agent's; its scorers ask all members of a panel at once.
func (w *WorstCase) Overshoot(p *Plan, concurrency int) Overshoot {
	var dearest record.Money
	calls, widest, tasks := 0, 1, p.Tasks
	if tasks < 0 { // not counted
		tasks = concurrency
	}
	scores := w.Scores().Worst
	for i := range w.Each {
		if of := w.Each[i].Plus(scores); of.Unbounded > 0 {
			wide := max(1, of.Beside)
			calls += tasks * p.Trials * wide
			widest, dearest = max(widest, wide), max(dearest, of.Dearest)
		}
	}
	calls = min(calls, concurrency*widest)
	return Overshoot{Calls: calls, Per1000: dearest.Times(int64(calls))}
}

// WorstCase is the worst case of all runs of a plan, and of their scores.
type WorstCase struct {
	Each []Worst // of each configuration
	// Paid is what of them is to be paid where configurations share calls.
	Paid    Worst
	Asking  []Asking
	Scoring []Scoring // of each of them
}

// WorstCaseOf is that of a plan of a suite's tasks.
func WorstCaseOf(s *spec.Suite, p *Plan, tasks iter.Seq2[*spec.Task, error]) (*WorstCase, error) {
	models, asking := ModelsOf(s), AskingOf(s)
	shared := SharedBy(p.Configurations, models)
	w := &WorstCase{Each: make([]Worst, len(p.Configurations)), Asking: asking, Scoring: make([]Scoring, len(asking))}
	for item, err := range p.Once().Items(tasks) { // all trials have the same
		if err != nil {
			return nil, err
		}
		c, length := item.Configuration, characters(item.Task.Input)+spec.ImageCharacters*len(item.Task.Images)
		w.Each[c] = w.Each[c].Plus(WorstOfRun(p.Configurations[c].Loop, models, length))
		for i := range asking {
			w.Scoring[i] = w.Scoring[i].Plus(asking[i].WorstOfRun(&p.Configurations[c], models, length, characters(item.Task.Target)))
		}
		if c == 0 {
			w.Paid = w.Paid.Plus(shared.WorstOfTask(models, length))
		}
	}
	trials := int64(p.Trials)
	for c := range w.Each {
		w.Each[c] = w.Each[c].Times(trials)
	}
	for i := range w.Scoring {
		w.Scoring[i] = w.Scoring[i].Times(trials)
	}
	w.Paid = w.Paid.Times(trials)
	return w, nil
}

// ModelsOf are the models of a suite by their names.
func ModelsOf(s *spec.Suite) map[string]*spec.Model {
	models := map[string]*spec.Model{}
	for i := range s.Models {
		models[s.Models[i].Key] = &s.Models[i].Value
	}
	return models
}

// Runs is the worst case of all runs together.
func (w *WorstCase) Runs() (total Worst) {
	for i := range w.Each {
		total = total.Plus(w.Each[i])
	}
	return total
}

// Scores is the worst case of all scores together.
func (w *WorstCase) Scores() (total Scoring) {
	for i := range w.Scoring {
		total = total.Plus(w.Scoring[i])
	}
	return total
}

// characters is the length of an input as it stands in a prompt.
func characters(input any) int {
	if text, ok := input.(string); ok {
		return len(text)
	}
	text, err := expr.AppendJSON(nil, input)
	if err != nil {
		return 0
	}
	return len(text)
}
