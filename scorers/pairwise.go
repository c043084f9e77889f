package scorers

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/scorers/judge"
	"github.com/agentbench/agentbench/spec"
)

// isBaseline is why the runs of the baseline are worth as much as those that they stand beside.
var isBaseline = verdict{value: 0.5, answer: "tie", explanation: "it is the baseline"}

// pairwise asks models whether the value is better than that of another configuration's run of the same task and trial,
// in both orders.
func pairwise(c *compiler) comparison {
	panel, asked := c.panel(), c.criteria()
	c.made.needsTarget = c.spec.Reference || c.readsAny("target")
	c.made.against = c.against()
	made, reference := c.made, c.spec.Reference
	return func(ctx context.Context, s *subject) verdict {
		if made.unable != nil {
			return unscored("%v", made.unable)
		}
		other, why := s.other(ctx, made)
		switch {
		case why != "":
			return unscored("%s", why)
		case isEmpty(other):
			return verdict{value: 1, answer: "win", explanation: "the other gave nothing"}
		case text(s.value) == text(other):
			return verdict{value: 0.5, answer: "tie", explanation: "both gave the same"}
		}
		criteria, err := asked(ctx, s)
		if err != nil {
			return unscored("rubric: %v", err)
		}
		of := judge.Pair{Output: s.value, Beside: other, Draw: s.draw()}
		if s.task != nil {
			of.Input = s.task.Input
		}
		if reference {
			of.Reference = s.target
		}
		return judgement(panel.Compare(ctx, &of, criteria[0].Rubric))
	}
}

// pairOfNothing is the verdict on no answer beside another: a tie where there is none
// either. Runs that fail alike are worth as much as those of the baseline.
func (s *scorer) pairOfNothing(ctx context.Context, at *subject) verdict {
	other, why := at.other(ctx, s)
	switch {
	case why != "":
		return unscored("%s", why)
	case isEmpty(other):
		return verdict{value: 0.5, answer: "tie", explanation: "both gave nothing"}
	}
	return nothing
}

// against is the configuration whose runs stand beside the others.
func (c *compiler) against() string {
	name := cmp.Or(c.spec.Against, c.all.baseline)
	if name == "" && c.made.unable == nil {
		c.made.unable = errors.New("there is no baseline to compare with")
	}
	for i := range c.all.resolved {
		if r := &c.all.resolved[i]; slices.Contains(r.Aliases, name) {
			return r.Name
		}
	}
	return name
}

// other is what stands beside the subject's value, and why there is nothing.
func (s *subject) other(ctx context.Context, by *scorer) (value any, why string) {
	var run *record.Run
	if s.beside != nil {
		run = s.beside(by.against)
	}
	switch {
	case run == nil:
		return nil, "there is no run of " + by.against + " beside it"
	case run.Outcome.Status == record.Faulted || run.Outcome.Status == record.Cancelled:
		return nil, "the run of " + by.against + " beside it did not end by itself"
	}
	other := newSubject(s.task, run, s.checklists[by.against])
	other.standAtEnd()
	other.begin()
	other.target = s.target
	if err := by.answer(ctx, other); err != nil {
		return nil, "the run of " + by.against + " beside it: " + err.Error()
	}
	return other.value, ""
}

// Pair judges a run beside those of other configurations, of the same task and trial, by the scorers that need these;
// beside gives them, nil where there is none. The scores are of the run itself.
func (s *Set) Pair(ctx context.Context, task *spec.Task, run *record.Run, beside func(configuration string) *record.Run) []record.Score {
	at := newSubject(task, run, s.checklist[run.Configuration])
	at.beside, at.checklists = beside, s.checklist
	at.standAtEnd()
	var scores []record.Score
	for _, scorer := range s.declared {
		if scorer.pairs {
			scores = append(scores, scorer.score(ctx, at))
		}
	}
	return scores
}
