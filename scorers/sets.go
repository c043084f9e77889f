package scorers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

type part struct {
	*scorer
	weight float64
	own    bool // it stands only here
}

// allOf is worth the weighted mean of its parts; with a threshold it holds where that is reached. It cannot judge where
// a part could not.
func allOf(c *compiler) comparison {
	parts, threshold, not := c.parts(), c.spec.Threshold, c.spec.Not
	return func(ctx context.Context, s *subject) verdict {
		p := judged(ctx, s, parts)
		switch {
		case p.unscored != "":
			return p.verdict(unscored("%s", p.unscored))
		case not && p.nothing:
			return p.verdict(nothing)
		}
		return p.verdict(p.reaches(p.mean(), threshold))
	}
}

// anyOf is worth as much as its best part; with a threshold it holds where that reaches it. A part that could not judge
// matters where no other is enough.
func anyOf(c *compiler) comparison {
	parts, threshold, not := c.parts(), c.spec.Threshold, c.spec.Not
	enough := 1.0
	if threshold != nil {
		enough = *threshold
	}
	return func(ctx context.Context, s *subject) verdict {
		p := judged(ctx, s, parts)
		switch best := p.best(); {
		case p.unscored != "" && !reached(best, enough):
			return p.verdict(unscored("%s", p.unscored))
		case not && p.nothing:
			return p.verdict(nothing)
		default:
			return p.verdict(p.reaches(best, threshold))
		}
	}
}

func (c *compiler) parts() []part {
	if len(c.spec.Parts) == 0 {
		c.fault("", "a scorer of type %s needs scorers", c.spec.Type)
	}
	var parts []part
	for i := range c.spec.Parts {
		p := c.part(&c.spec.Parts[i])
		if p.scorer == nil {
			continue
		}
		parts = append(parts, p)
		c.made.OfRun = c.made.OfRun || p.OfRun
		if c.made.unable == nil {
			c.made.unable = p.unable
		}
		c.made.LooksAround = c.made.LooksAround || p.LooksAround
	}
	return parts
}

func (c *compiler) part(declared *spec.ScorerPart) part {
	weightOf := func(s *spec.Scorer) float64 {
		if s.Weight == nil {
			return 1
		}
		return *s.Weight
	}
	if declared.Scorer != nil {
		return part{c.all.scorer(declared.Scorer), weightOf(declared.Scorer), true}
	}
	at := slices.IndexFunc(c.all.declared, func(s spec.Scorer) bool { return s.Name == declared.Named })
	if at < 0 {
		c.fault("scorers", "unknown scorer %q", declared.Named)
		return part{}
	}
	made := c.all.at(at)
	if made == nil {
		c.fault("scorers", "the scorer %q is a part of itself", declared.Named)
		return part{}
	}
	made.shared = true
	return part{made, weightOf(&c.all.declared[at]), false}
}

type judgedParts struct {
	parts    []part
	scores   []record.Score
	counted  []bool // what the part took is in no other score
	unscored string // the first part that could not judge, and why
	nothing  bool   // a part found no answer
}

func judged(ctx context.Context, s *subject, parts []part) *judgedParts {
	p := &judgedParts{parts: parts, scores: make([]record.Score, len(parts)), counted: make([]bool, len(parts))}
	for i := range parts {
		score, empty := parts[i].score(ctx, s)
		p.scores[i], p.counted[i] = score, s.counts(parts[i])
		p.nothing = p.nothing || empty
		if p.unscored == "" && score.Unscored != "" {
			p.unscored = parts[i].Name + ": " + score.Unscored
		}
	}
	return p
}

func (p *judgedParts) mean() float64 {
	var sum, weights float64
	for i := range p.parts {
		sum += p.parts[i].weight * p.scores[i].Value
		weights += p.parts[i].weight
	}
	return min(sum/weights, 1)
}

// best is the highest of those that could be scored.
func (p *judgedParts) best() (best float64) {
	for i := range p.scores {
		if p.scores[i].Unscored == "" {
			best = max(best, p.scores[i].Value)
		}
	}
	return best
}

// reaches is the verdict on what the parts are worth together.
func (p *judgedParts) reaches(value float64, threshold *float64) verdict {
	v := verdict{value: value}
	if threshold != nil {
		v = verdict{answer: fmt.Sprintf("%.4g", value)}
		if reached(value, *threshold) {
			v.value = 1
		}
	}
	if v.value < 1 {
		v.explanation = p.short()
	}
	return v
}

func (p *judgedParts) short() string {
	var fell []string
	for i := range p.scores {
		switch score := &p.scores[i]; {
		case score.Unscored != "":
			fell = append(fell, p.parts[i].Name+" is unscored")
		case score.Value < 1 && score.Explanation != "":
			fell = append(fell, p.parts[i].Name+": "+score.Explanation)
		case score.Value < 1:
			fell = append(fell, fmt.Sprintf("%s: %.2g", p.parts[i].Name, score.Value))
		}
	}
	return short(strings.Join(fell, "; "), maxAnswer)
}

// verdict adds what asking for parts took, where that is in no other score.
func (p *judgedParts) verdict(v verdict) verdict {
	for i := range p.parts {
		if !p.counted[i] {
			continue
		}
		v.usage = v.usage.Plus(p.scores[i].Usage)
		for _, vote := range p.scores[i].Votes {
			vote.Criterion = strings.TrimSuffix(p.parts[i].Name+"/"+vote.Criterion, "/")
			v.votes = append(v.votes, vote)
		}
	}
	return v
}

// reached allows for what sums of decimal numbers may be off in binary.
func reached(value, threshold float64) bool { return value+rounding(value, threshold) >= threshold }

// checks takes the score from what the loop's own evaluation said: whether the named check passed, or the weighted
// share of those that did. What was not evaluated is unscored.
func checks(c *compiler) comparison {
	name := c.spec.Check
	return func(_ context.Context, s *subject) verdict {
		it := s.judged()
		switch {
		case it == nil || !it.Evaluated():
			return unscored("iteration %d was not evaluated", s.n)
		case len(it.Evaluation.Checks) == 0:
			return unscored("the evaluation has no checks")
		case name != "":
			return oneCheck(it.Evaluation.Checks, name)
		}
		return allChecks(it.Evaluation.Checks)
	}
}

func oneCheck(list []record.Check, name string) verdict {
	for i := range list {
		switch check := &list[i]; {
		case check.Name != name:
		case check.Passed:
			return verdict{value: 1, answer: "passed"}
		default:
			return verdict{answer: "failed", explanation: short(check.Feedback, maxAnswer)}
		}
	}
	return unscored("the evaluation has no check %q", name)
}

func allChecks(list []record.Check) verdict {
	var failing []string
	for i := range list {
		if !list[i].Passed {
			failing = append(failing, list[i].Name)
		}
	}
	v := verdict{value: record.Share(list), answer: fmt.Sprintf("%d of %d", len(list)-len(failing), len(list))}
	if len(failing) > 0 {
		v.explanation = short("failing: "+strings.Join(failing, ", "), maxAnswer)
	}
	return v
}
