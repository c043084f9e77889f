// Package plan has the runs of a suite before anything runs. New makes a Plan of
// suite x configuration x task x trial, each run with a stable id, and what
// they may cost at worst. It is pure.
//
// It is no stable API.
package plan

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Plan is the list of runs, not spread out: its memory does not grow with the
// number of tasks.
type Plan struct {
	Configurations []spec.Resolved
	Trials         int
	// Tasks is the number of tasks; -1: not counted.
	Tasks int
	// Part is the shard that the plan is; nil: it is the whole.
	Part  *Part
	only  []string
	limit int
}

// Selection narrows a plan. Its zero value selects everything.
type Selection struct {
	Configurations []string // by name or alias, under which they run
	Tasks          []string // by id
	Limit          int      // the first so many tasks; 0: all
}

// Item is one run that is to be done.
type Item struct {
	ID            string
	Configuration int // index into Plan.Configurations
	Task          *spec.Task
	Trial         int // from 1
}

// New plans a suite of so many tasks. It fails where a selection names what
// does not exist.
func New(suite *spec.Suite, tasks int, only Selection) (*Plan, error) {
	p := &Plan{Configurations: suite.Resolved, Trials: max(1, suite.Trials), Tasks: tasks, only: only.Tasks, limit: only.Limit}
	if names := only.Configurations; len(names) > 0 {
		p.Configurations = nil
		var known []string
		for i := range suite.Resolved {
			c := &suite.Resolved[i]
			known = append(known, c.Name)
			switch asked := slices.IndexFunc(names, c.Called); {
			case slices.Contains(names, c.Name):
				p.Configurations = append(p.Configurations, *c)
			case asked >= 0: // it runs under the name that was asked for
				p.Configurations = append(p.Configurations, *c.As(names[asked]))
			}
		}
		for _, name := range names {
			if !slices.ContainsFunc(suite.Resolved, func(c spec.Resolved) bool { return c.Called(name) }) {
				return nil, &UnknownError{What: "configuration", Name: name, Known: known}
			}
		}
	}
	if len(only.Tasks) > 0 {
		p.Tasks = len(slices.Compact(slices.Sorted(slices.Values(only.Tasks))))
	}
	if only.Limit > 0 && (p.Tasks < 0 || only.Limit < p.Tasks) {
		p.Tasks = only.Limit
	}
	return p, nil
}

// UnknownError means that a selection names something that does not exist.
type UnknownError struct {
	What, Name string
	Known      []string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown %s %q", e.What, e.Name) }

// Runs is the number of runs; -1: not counted.
func (p *Plan) Runs() int {
	if p.Tasks < 0 {
		return -1
	}
	return p.Tasks * p.Trials * len(p.Configurations)
}

// Once is the plan with one trial: the others are like it.
func (p *Plan) Once() *Plan {
	once := *p
	once.Trials = 1
	return &once
}

// Items gives the runs in their order: task by task, trial by trial, and
// within a trial one configuration after the other, so that tasks are read
// once and runs that may share calls come together. It ends at the first error.
func (p *Plan) Items(tasks iter.Seq2[*spec.Task, error]) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for task, err := range p.Selected(tasks) {
			if err != nil {
				yield(Item{}, err)
				return
			}
			if p.Part != nil && !p.Part.has(task.ID) {
				continue
			}
			for trial := 1; trial <= p.Trials; trial++ {
				for c := range p.Configurations {
					id := record.RunID(p.Configurations[c].Name, task.ID, trial)
					if !yield(Item{ID: id, Configuration: c, Task: task, Trial: trial}, nil) {
						return
					}
				}
			}
		}
	}
}

// Selected are the tasks that the plan is made of, those of all shards.
func (p *Plan) Selected(tasks iter.Seq2[*spec.Task, error]) iter.Seq2[*spec.Task, error] {
	return func(yield func(*spec.Task, error) bool) {
		taken, only := 0, make(map[string]bool, len(p.only))
		for _, id := range p.only {
			only[id] = true
		}
		for task, err := range tasks {
			if err == nil && len(only) > 0 && !only[task.ID] {
				continue
			}
			if err == nil && p.limit > 0 && taken == p.limit {
				return
			}
			taken++
			if !yield(task, err) {
				return
			}
		}
	}
}

// conversations is what so many iterations use in which the agent converses: its
// steps, the user's turns, and the tasks that it hands out.
func (w *worst) conversations(s spec.Stage, carried, n int64) Worst {
	steps := w.stepsOf(s.Agent)
	total := w.steps(s, steps, carried, n)
	if openEnded(s.Agent) {
		total.Open = product(steps, n)
	}
	if u := w.loop.User; u != nil && u.Model != "" { // one turn for each step
		turns := steps
		if most := int64(u.MaxTurns); most > 0 {
			turns = min(turns, most)
		}
		in := series{n: turns, first: sum(tokensOf(w.characters, u.System), w.perStep(s)), more: w.perStep(s)}
		total = total.Plus(w.calls(u.Model, 0, in).Times(n))
	}
	if n := len(s.Agent.Delegates); n > 1 {
		total.Beside = n
	}
	for i := range s.Agent.Delegates {
		handed := w.delegate(&s.Agent.Delegates[i])
		handed.Handed++
		total = total.Plus(handed.Times(product(steps, n)))
	}
	return total
}

// stepsOf is how many steps an agent makes in one iteration. One that can only talk
// makes one after each turn of the user.
func (w *worst) stepsOf(a *spec.Agent) int64 {
	steps := w.loop.Steps(a)
	if u := w.loop.User; u != nil && u.MaxTurns > 0 && !openEnded(a) {
		steps = min(steps, u.MaxTurns+1)
	}
	return int64(steps)
}

// steps are the agent's own calls. Each sends the replies and turns before it
// along; with a memory those of the iterations before, too.
func (w *worst) steps(s spec.Stage, steps, carried, n int64) Worst {
	characters := w.characters // of instructions, tools and prompt, which the first step sends
	for i := range s.Agent.Tools {
		t := &s.Agent.Tools[i]
		characters += len(t.Name) + len(t.Builtin) + len(t.Description) + len(t.Parameters)
	}
	for i := range s.Agent.Delegates {
		characters += len(s.Agent.Delegates[i].Name) + len(s.Agent.Delegates[i].Description)
	}
	in := series{n: steps, first: tokensOf(characters, s.Agent.System, s.Prompt), more: w.perStep(s)}
	memory := s.Agent.Memory
	if memory == nil {
		return w.calls(s.Agent.Model, s.Agent.MaxOutputTokens, in).Times(n)
	}
	in.n, in.more = product(steps, n), sum(in.more, tokensOf(0, s.Prompt)/max(1, steps)) // a prompt in every iteration
	if in.most = int64(memory.MaxTokens); in.most > 0 {
		in.most = max(in.most, in.first)
	}
	if in.first = sum(in.first, carried); in.most > 0 && (openEnded(s.Agent) || in.first > in.most) {
		in.first = in.most // what tools give may fill it
	}
	return w.calls(s.Agent.Model, s.Agent.MaxOutputTokens, in)
}

// perStep is by how much a step makes the conversation longer, what tools give
// left out.
func (w *worst) perStep(s spec.Stage) int64 {
	_, reply := declaredTokens(w.models[s.Agent.Model], s.Agent.MaxOutputTokens)
	if u := w.loop.User; u != nil && u.Model != "" {
		_, answer := declaredTokens(w.models[u.Model], 0)
		reply += answer
	}
	return int64(reply)
}

// remembered is what an iteration of the stage leaves to the memories of those
// after it.
func (w *worst) remembered(s spec.Stage) int64 {
	if s.Agent.Memory == nil {
		return 0
	}
	return sum(tokensOf(0, s.Prompt), product(w.perStep(s), w.stepsOf(s.Agent)))
}

// delegate is what one task costs that is handed on.
func (w *worst) delegate(d *spec.Delegate) Worst {
	if d.Resolved == nil {
		return Worst{Programs: 1}
	}
	if known, ok := w.delegates[d.Resolved]; ok {
		return known
	}
	if w.delegates == nil {
		w.delegates = map[*spec.Loop]Worst{}
	}
	of := w.run(d.Resolved)
	of.Iterations = 0 // of the run are its own
	w.delegates[d.Resolved] = of
	return of
}

// openEnded reports whether nothing limits what the agent's tools and delegates give.
func openEnded(a *spec.Agent) bool {
	return len(a.Tools)+len(a.Delegates) > 0
}

// Scoring is what the scorers that ask others can use at most, on some runs.
type Scoring struct {
	Scores int64 // of outputs that are judged
	// Worst has the calls of models, half of which only ask again where an answer
	// cannot be read, and the programs. Open are calls that show an output whose
	// length nothing limits.
	Worst
	Posts int64 // to endpoints
}

// Plus is the sum of both.
func (s Scoring) Plus(t Scoring) Scoring {
	return Scoring{sum(s.Scores, t.Scores), s.Worst.Plus(t.Worst), sum(s.Posts, t.Posts)}
}

// Times is n times the same.
func (s Scoring) Times(n int64) Scoring {
	return Scoring{product(s.Scores, n), s.Worst.Times(n), product(s.Posts, n)}
}

// Asking is a scorer that asks others.
type Asking struct {
	*spec.Scorer
	Models []string // of whom it asks each
	every  bool     // it judges the outputs of all iterations
	beside *spec.Resolved
}

// AskingOf are the scorers of a suite that ask others, those within sets as well.
func AskingOf(s *spec.Suite) []Asking {
	var all []Asking
	for scorer := range s.AllScorers() {
		kind := scorer.Kind()
		if !kind.Asks {
			continue
		}
		a := Asking{Scorer: scorer, Models: scorer.Models}
		for i := range s.Scorers { // for itself, or for a set that it is a part of
			declared := &s.Scorers[i]
			if declared.Judges(s.Scorers) == spec.ScoreEveryIteration && slices.Contains(slices.Collect(declared.MadeOf(s.Scorers)), scorer) {
				a.every = true
			}
		}
		if kind.Pairs {
			against := cmp.Or(scorer.Against, s.Baseline)
			if at := slices.IndexFunc(s.Resolved, func(r spec.Resolved) bool { return r.Called(against) }); at >= 0 {
				a.beside = &s.Resolved[at]
			}
		}
		if scorer.Model != "" {
			a.Models = append([]string{scorer.Model}, a.Models...)
		}
		all = append(all, a)
	}
	return all
}

// WorstOfRun is the worst case of the scores of one run of a configuration, on a task whose input and target have so
// many characters.
func (a *Asking) WorstOfRun(c *spec.Resolved, models map[string]*spec.Model, input, target int) Scoring {
	outputs := a.outputs(c.Loop)
	switch {
	case a.beside != nil && a.beside.Name == c.Name:
		return Scoring{Scores: outputs} // it is what the others are compared with
	case a.Type == "command" || a.Type == "test":
		return Scoring{Scores: 1, Worst: Worst{Programs: 1}}.Times(outputs)
	case a.Type == "http":
		return Scoring{Scores: 1, Posts: 1}.Times(outputs)
	}
	if a.Reference {
		input += target
	}
	w := worst{models: models, characters: input}
	return Scoring{Scores: 1, Worst: a.asked(&w, c.Loop)}.Times(outputs)
}

// outputs are how many outputs of a run are judged. How a run ended may make another one of the one that it returned.
func (a *Asking) outputs(l *spec.Loop) int64 {
	if !a.every {
		return 1
	}
	read := []*spec.Expr{a.Value, a.Target}
	if a.Extract != nil {
		read = append(read, a.Extract.Expr)
	}
	outputs := int64(MaxIterations(l))
	if slices.ContainsFunc(read, func(e *spec.Expr) bool {
		return e != nil && e.Program != nil && readsAny(e.Reads(), "best", "iterations", "usage")
	}) {
		outputs++
	}
	return outputs
}

// asked are the calls on one output: by every model for every vote, on every criterion, or in both orders; and once
// more where the answer cannot be read, with that answer.
func (a *Asking) asked(w *worst, l *spec.Loop) Worst {
	const instructions = 800 // about how many characters a judge gets besides the rubric
	shown, open := longest(l, w.models)
	if a.beside != nil {
		other, unlimited := longest(a.beside.Loop, w.models)
		shown, open = sum(shown, other), open || unlimited
	}
	rubrics := []*spec.Prompt{a.Rubric}
	if a.Type == "pairwise" {
		rubrics = append(rubrics, a.Rubric)
	} else if len(a.Criteria) > 0 {
		rubrics = nil
		for i := range a.Criteria {
			rubrics = append(rubrics, a.Criteria[i].Rubric)
		}
	}
	var total Worst
	if n := len(a.Models); n > 1 {
		total.Beside = n
	}
	for _, name := range a.Models {
		_, reply := declaredTokens(w.models[name], a.MaxOutputTokens)
		for _, rubric := range rubrics {
			in := series{n: 2, first: sum(shown, tokensOf(w.characters+instructions, rubric)), more: int64(reply)}
			total = total.Plus(w.calls(name, a.MaxOutputTokens, in))
		}
	}
	total = total.Times(int64(max(1, a.Votes)))
	if open {
		total.Open = total.Calls
	}
	return total
}

// longest is the most tokens that an output of a loop may have; open: nothing limits it.
func longest(l *spec.Loop, models map[string]*spec.Model) (tokens int64, open bool) {
	for _, s := range l.Stages() {
		_, reply := declaredTokens(models[s.Agent.Model], s.Agent.MaxOutputTokens)
		tokens, open = max(tokens, int64(reply)), open || reply == 0
	}
	return tokens, open
}
