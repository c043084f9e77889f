package scorers

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/scorers/judge"
	"github.com/agentbench/agentbench/spec"
)

// defaultTimeout is that of asking once.
const defaultTimeout = time.Minute

// errNobody is why nobody is asked where a set is made without an outside.
var errNobody = errors.New("nobody can be asked here")

// judges asks models what the value is worth by a rubric, or by several criteria.
func judges(c *compiler) comparison {
	panel, scale, asked := c.panel(), c.judgeScale(), c.criteria()
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
		of := judge.Case{Output: s.value, Draw: s.draw()}
		if s.task != nil {
			of.Input = s.task.Input
		}
		if reference {
			of.Reference = s.target
		}
		if made.judges != spec.ScoreReturned {
			of.Draw.Call = max(0, s.n-1) * max(1, panel.Votes) * len(criteria)
		}
		return judgement(panel.Judge(ctx, &of, scale, criteria))
	}
}

// draw is that of calls on behalf of the subject.
func (s *subject) draw() model.Draw {
	return model.Draw{Task: s.run.Task, Trial: s.run.Trial, Iteration: s.n, Of: spec.JudgedTask{Task: s.task}}
}

// judgement is the verdict of judges.
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

// panel is who judges. Whoever cannot be asked is why the scorer is unable.
func (c *compiler) panel() *judge.Panel {
	p := &judge.Panel{
		Votes: c.spec.Votes, Reduce: judge.Reduce(c.spec.Reduce), Timeout: cmp.Or(c.spec.Timeout, defaultTimeout),
		Temperature: c.spec.Temperature, MaxOutputTokens: c.spec.MaxOutputTokens,
	}
	names := c.spec.Models
	if c.spec.Model != "" {
		names = append([]string{c.spec.Model}, names...)
	}
	if c.all.outside == nil {
		c.made.unable = errNobody
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

// judgeScale is what may be answered.
func (c *compiler) judgeScale() *judge.Scale {
	numbers := c.scale()
	scale := &judge.Scale{Worst: numbers.worst, Best: numbers.best}
	for _, choice := range c.spec.Choices {
		if !(choice.Value >= 0 && choice.Value <= 1) {
			c.fault("choices", "%s is worth %s, which is not between 0 and 1", choice.Key, decimal(choice.Value))
		}
		scale.Choices = append(scale.Choices, judge.Choice{Word: choice.Key, Worth: choice.Value})
	}
	return scale
}

// criteria are what is asked for, with their rubrics as a subject has them.
func (c *compiler) criteria() func(context.Context, *subject) ([]judge.Criterion, error) {
	declared := c.spec.Criteria
	if declared == nil {
		declared = []spec.Criterion{{Rubric: c.spec.Rubric}}
	}
	for i := range declared {
		if declared[i].Rubric == nil {
			c.fault("", "a scorer of type %s needs rubric", c.spec.Type)
			return nil
		}
	}
	declared = slices.Clone(declared)
	for i := range declared {
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
