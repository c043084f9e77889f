package plan

import (
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec"
)

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
		a := Asking{Scorer: scorer, every: judgesEvery(s, scorer), Models: scorer.Models}
		switch scorer.Type {
		case "judge", "command", "http":
		case "pairwise":
			a.beside = configuration(s, scorer.Against)
		default:
			continue
		}
		if scorer.Model != "" {
			a.Models = append([]string{scorer.Model}, a.Models...)
		}
		all = append(all, a)
	}
	return all
}

// judgesEvery says whether a scorer judges every iteration, for itself or for a set that it is a part of.
func judgesEvery(s *spec.Suite, scorer *spec.Scorer) bool {
	for i := range s.Scorers {
		declared := &s.Scorers[i]
		if declared.Judges(s.Scorers) != spec.ScoreEveryIteration {
			continue
		}
		for part := range declared.MadeOf(s.Scorers) {
			if part == scorer {
				return true
			}
		}
	}
	return false
}

// configuration is the one of that name, or the baseline; nil: it is not there.
func configuration(s *spec.Suite, name string) *spec.Resolved {
	if name == "" {
		name = s.Baseline
	}
	at := slices.IndexFunc(s.Resolved, func(r spec.Resolved) bool { return goesBy(&r, name) })
	if at < 0 {
		return nil
	}
	return &s.Resolved[at]
}

// WorstOfRun is the worst case of the scores of one run of a configuration, on a task whose input and target have so
// many characters.
func (a *Asking) WorstOfRun(c *spec.Resolved, models map[string]*spec.Model, input, target int) Scoring {
	outputs := a.outputs(c.Loop)
	switch {
	case a.beside != nil && a.beside.Name == c.Name:
		return Scoring{Scores: outputs} // it is what the others are compared with
	case a.Type == "command":
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
	outputs := int64(MaxIterations(l))
	if a.looksAround() {
		outputs++
	}
	return outputs
}

func (a *Asking) looksAround() bool {
	read := []*spec.Expr{a.Value, a.Target}
	if a.Extract != nil {
		read = append(read, a.Extract.Expr)
	}
	for _, e := range read {
		if e == nil || e.Program == nil {
			continue
		}
		for _, path := range e.Reads() {
			if name, _, _ := strings.Cut(path, "."); name == "best" || name == "iterations" || name == "usage" {
				return true
			}
		}
	}
	return false
}

// instructions is about how many characters a judge is told beside the rubric.
const instructions = 800

// asked are the calls on one output: by every model for every vote, on every criterion, or in both orders; and once
// more where the answer cannot be read, with that answer.
func (a *Asking) asked(w *worst, l *spec.Loop) Worst {
	shown, open := longest(l, w.models)
	if a.beside != nil {
		other, unlimited := longest(a.beside.Loop, w.models)
		shown, open = sum(shown, other), open || unlimited
	}
	var total Worst
	for _, name := range a.Models {
		_, reply := declaredTokens(w.models[name], a.MaxOutputTokens)
		for _, rubric := range a.rubrics() {
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

// rubrics are those of all prompts.
func (a *Asking) rubrics() (all []*spec.Prompt) {
	if a.Type == "pairwise" {
		return []*spec.Prompt{a.Rubric, a.Rubric}
	}
	for i := range a.Criteria {
		all = append(all, a.Criteria[i].Rubric)
	}
	if all == nil {
		all = []*spec.Prompt{a.Rubric}
	}
	return all
}

// longest is the most tokens that an output of a loop may have; open: nothing limits it.
func longest(l *spec.Loop, models map[string]*spec.Model) (tokens int64, open bool) {
	for _, s := range l.Stages() {
		_, reply := declaredTokens(models[s.Agent.Model], s.Agent.MaxOutputTokens)
		tokens, open = max(tokens, int64(reply)), open || reply == 0
	}
	return tokens, open
}
