package scorers

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/scorers/judge"
	"github.com/agentbench/agentbench/spec"
)

// errNoOutside is why a set without an outside makes no calls.
var errNoOutside = errors.New("no model is configured")

// judges asks models what the value is worth by a rubric, or by several criteria.
func judges(c *compiler) comparison {
	panel, scale, asked := c.panel(), c.scale(), c.criteria()
	for _, choice := range c.spec.Choices {
		if !(choice.Value >= 0 && choice.Value <= 1) {
			c.fault("choices", "%s is worth %s, which is not between 0 and 1", choice.Key, judge.Decimal(choice.Value))
		}
		scale.Choices = append(scale.Choices, judge.Choice{Word: choice.Key, Worth: choice.Value})
	}
	c.made.needsTarget = c.spec.Reference || c.readsAny("target")
	made, reference := c.made, c.spec.Reference
	return func(ctx context.Context, s *subject) verdict {
		if made.unable != nil {
			return unscored("%v", made.unable)
		}
		criteria, err := asked(ctx, s)
		if err != nil {
			return unscored("rubric: %v", err)
		}
		of, err := s.judgedCase(reference)
		if err != nil {
			return unscored("%v", err)
		}
		if made.Judges != spec.ScoreReturned {
			of.Draw.Call = max(0, s.n-1) * max(1, panel.Votes) * len(criteria)
		}
		return judgement(panel.Judge(ctx, of, scale, criteria))
	}
}

// judgedCase is what judges see of the subject.
func (s *subject) judgedCase(reference bool) (of *judge.Case, err error) {
	of = &judge.Case{Output: s.value, Draw: model.Draw{Task: s.run.Task, Trial: s.run.Trial, Iteration: s.n, Of: spec.JudgedTask{Task: s.task}}}
	if s.task != nil {
		of.Input = s.task.Input
		of.Images, err = model.Images(s.task.Images, true)
	}
	if reference {
		of.Reference = s.target
	}
	return of, err
}

func judgement(j judge.Judgement) verdict {
	for i := range j.Votes {
		v := &j.Votes[i]
		v.Answer, v.Unscored = short(v.Answer, maxAnswer), short(v.Unscored, maxAnswer)
		v.Explanation = short(v.Explanation, maxExplanation)
	}
	return verdict{
		value: j.Value, answer: short(j.Answer, maxAnswer), explanation: short(j.Explanation, maxExplanation),
		unscored: j.Unscored, votes: j.Votes, usage: j.Usage,
	}
}

// panel is the models that judge. The first that cannot be asked is why the scorer is unable.
func (c *compiler) panel() *judge.Panel {
	p := &judge.Panel{
		Votes: c.spec.Votes, Reduce: judge.Reduce(c.spec.Reduce), Timeout: cmp.Or(c.spec.Timeout, spec.DefaultScorerTimeout),
		Temperature: c.spec.Temperature, MaxOutputTokens: c.spec.MaxOutputTokens,
	}
	names := c.spec.Models
	if c.spec.Model != "" {
		names = append([]string{c.spec.Model}, names...)
	}
	if c.all.outside == nil {
		c.made.unable = errNoOutside
		return p
	}
	for _, name := range names {
		m, err := c.all.outside.Model(name)
		if err != nil && c.made.unable == nil {
			c.made.unable = err
		}
		p.Members = append(p.Members, judge.Member{Name: name, Model: m})
	}
	if len(names) == 0 {
		c.fault("", "a scorer of type %s needs model or models", c.spec.Type)
	}
	return p
}

// criteria are what is asked for, with their rubrics as a subject has them.
func (c *compiler) criteria() func(context.Context, *subject) ([]judge.Criterion, error) {
	declared := c.spec.Criteria
	if declared == nil {
		declared = []spec.Criterion{{Rubric: c.spec.Rubric}}
	}
	declared = slices.Clone(declared)
	for i := range declared {
		if declared[i].Rubric == nil {
			c.fault("", "a scorer of type %s needs rubric", c.spec.Type)
			return nil
		}
		declared[i].Rubric = c.prompt(declared[i].Rubric)
	}
	return func(ctx context.Context, s *subject) ([]judge.Criterion, error) {
		all := make([]judge.Criterion, len(declared))
		for i := range declared {
			rubric, err := declared[i].Rubric.Render(ctx, s)
			if err != nil {
				return nil, err
			}
			all[i] = judge.Criterion{Name: declared[i].Name, Rubric: rubric, Weight: 1}
			if weight := declared[i].Weight; weight != nil {
				all[i].Weight = *weight
			}
		}
		return all, nil
	}
}

// isBaseline is the verdict on the runs of the baseline, which are compared with themselves.
var isBaseline = verdict{value: 0.5, answer: "tie", explanation: "it is the baseline"}

// pairwise asks models whether the value is better than that of another configuration's run of the same task and trial,
// in both orders.
func pairwise(c *compiler) comparison {
	panel, asked := c.panel(), c.criteria()
	c.made.needsTarget = c.spec.Reference || c.readsAny("target")
	c.made.Against = c.against()
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
		of, err := s.judgedCase(reference)
		if err != nil {
			return unscored("%v", err)
		}
		of.Beside = other
		return judgement(panel.Compare(ctx, of, criteria[0].Rubric))
	}
}

// against is the configuration that runs are compared with.
func (c *compiler) against() string {
	name := cmp.Or(c.spec.Against, c.all.baseline)
	if name == "" && c.made.unable == nil {
		c.made.unable = errors.New("no baseline is configured to compare with")
	}
	for i := range c.all.resolved {
		if r := &c.all.resolved[i]; slices.Contains(r.Aliases, name) {
			return r.Name
		}
	}
	return name
}

// other is the value that the subject's is compared with, or why it is missing.
func (s *subject) other(ctx context.Context, by *scorer) (value any, why string) {
	var run *record.Run
	if s.beside != nil {
		run = s.beside(by.Against)
	}
	switch {
	case run == nil:
		return nil, "the run of " + by.Against + " is missing"
	case run.Outcome.Status == record.Faulted || run.Outcome.Status == record.Cancelled:
		return nil, "the run of " + by.Against + " did not end by itself"
	}
	other := newSubject(s.task, run, s.checklists[by.Against])
	other.standAtEnd()
	other.begin()
	other.target = s.target
	if err := by.answer(ctx, other); err != nil {
		return nil, "the run of " + by.Against + ": " + err.Error()
	}
	return other.value, ""
}

// Pair judges a run by the scorers that compare it with the run of another configuration, of the same task and trial,
// which beside gives; nil where there is none. The scores are of the run itself (iteration 0).
func (s *Set) Pair(ctx context.Context, task *spec.Task, run *record.Run, wanted func(v *Version, iteration int) bool, beside func(configuration string) *record.Run) []record.Score {
	at := newSubject(task, run, s.checklist[run.Configuration])
	at.beside, at.checklists = beside, s.checklist
	at.standAtEnd()
	var scores []record.Score
	for _, scorer := range s.declared {
		if scorer.Pairs && wanted(&scorer.Version, 0) {
			score, _ := scorer.score(ctx, at)
			scores = append(scores, score)
		}
	}
	return scores
}
