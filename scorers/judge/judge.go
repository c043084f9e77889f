// Package judge decides how models are asked what an output is worth.
//
// The stages, in order: what is asked becomes prompts, one for each criterion,
// in which the output stands as data (prompt.go); every member of a panel is
// asked each of them as often as there are votes, and once more where it cannot
// be read what it answered (poll.go, read.go); the votes that there are make one
// value (reduce.go).
package judge

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// Panel is who judges. It is safe for concurrent use.
type Panel struct {
	Members []Member
	Votes   int    // of each member; 0 is 1
	Reduce  Reduce // "" is Mean

	Timeout         time.Duration // of a call; 0: none
	Temperature     *float64
	MaxOutputTokens int // 0: the server's default
}

// Member is a model that judges, by its name in the suite.
type Member struct {
	Name  string
	Model model.Model
}

// Case is an output to be judged.
type Case struct {
	Input  any // of the task; nil is not shown
	Output any
	// Reference is a right answer; nil: none is shown.
	Reference any
	// Draw is that of its calls. Call is how many calls of each member came before.
	Draw model.Draw
}

// Criterion is one thing that is asked for. One without a name is all that there
// is.
type Criterion struct {
	Name   string
	Rubric string
	Weight float64
}

// Judgement is what came of asking.
type Judgement struct {
	Value       float64
	Answer      string
	Explanation string
	// Unscored says why there is no value.
	Unscored string
	Votes    []record.Vote
	Usage    record.Usage // as if nothing were cached
}

// Judge asks for every criterion; the value is their weighted mean.
func (p *Panel) Judge(ctx context.Context, c *Case, scale *Scale, criteria []Criterion) Judgement {
	prompts := make([]Prompt, len(criteria))
	for i := range criteria {
		var err error
		if prompts[i], err = c.prompt(scale, &criteria[i]); err != nil {
			return Judgement{Unscored: err.Error()}
		}
	}
	polled, usage, cut := p.Poll(ctx, c.Draw, prompts)
	j := Judgement{Usage: usage, Unscored: cut}
	for _, votes := range polled {
		j.Votes = append(j.Votes, votes...)
	}
	if cut == "" {
		p.sumUp(&j, scale, criteria, polled)
	}
	return j
}

// sumUp makes one judgement of what was said of each criterion.
func (p *Panel) sumUp(j *Judgement, scale *Scale, criteria []Criterion, polled [][]record.Vote) {
	var sum, weights float64
	var answers, explanations []string
	for i, votes := range polled {
		name := criteria[i].Name
		value, missing := p.Reduce.Of(votes)
		if missing != "" {
			j.Unscored = strings.TrimPrefix(name+": "+missing, ": ")
			return
		}
		sum += criteria[i].Weight * value
		weights += criteria[i].Weight
		answer, explanation := scale.Answer(value, votes), Nearest(votes, value).Explanation
		if name != "" {
			explanation = strings.TrimSuffix(fmt.Sprintf("%s %.2g: %s", name, value, explanation), ": ")
			answer = name + " " + answer
		}
		answers, explanations = append(answers, answer), append(explanations, explanation)
	}
	j.Value = min(sum/weights, 1)
	j.Answer, j.Explanation = strings.Join(answers, ", "), strings.Join(explanations, "; ")
}
