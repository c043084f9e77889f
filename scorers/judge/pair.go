package judge

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// Pair is an output beside another one for the same task.
type Pair struct {
	Input     any // of the task; nil is not shown
	Output    any
	Beside    any
	Reference any // a right answer; nil: none is shown
	Draw      model.Draw
}

const (
	compareOf = "You compare two outputs of agents for the same task by a rubric.\n"
	noPlace   = "Which of them stands first says nothing about them. Call it a tie where neither meets the rubric better.\n"
	compare   = "Compare the two outputs by the rubric. Reply with the JSON object."
)

// What a judge answers of a pair, and what that is worth to an output: where it
// stands first, and where it stands second.
var (
	first  = &Scale{Choices: []Choice{{"first", 1}, {"tie", 0.5}, {"second", 0}}}
	second = &Scale{Choices: []Choice{{"first", 0}, {"tie", 0.5}, {"second", 1}}}
)

// Compare asks which of two outputs is better, in both orders. A vote is worth
// the mean of what it says in each of them; it is there where both are.
func (p *Panel) Compare(ctx context.Context, c *Pair, rubric string) Judgement {
	straight, err := c.prompt(rubric, false)
	if err != nil {
		return Judgement{Unscored: err.Error()}
	}
	swapped, err := c.prompt(rubric, true)
	if err != nil {
		return Judgement{Unscored: err.Error()}
	}
	polled, usage, cut := p.Poll(ctx, c.Draw, []Prompt{straight, swapped})
	j := Judgement{Votes: append(polled[0], polled[1]...), Usage: usage, Unscored: cut}
	if cut != "" {
		return j
	}
	if j.Value, j.Unscored = p.Reduce.Of(bothOrders(polled[0], polled[1])); j.Unscored != "" {
		return j
	}
	nearest := Nearest(j.Votes, j.Value)
	if j.Explanation = nearest.Explanation; nearest.Swapped && j.Explanation != "" {
		j.Explanation = "(as the second) " + j.Explanation
	}
	j.Answer = outcomes(j.Votes)
	return j
}

// bothOrders are the votes, each made of what was said in both orders.
func bothOrders(straight, swapped []record.Vote) []record.Vote {
	votes := make([]record.Vote, len(straight))
	for i := range straight {
		votes[i] = straight[i]
		if votes[i].Unscored == "" {
			votes[i].Unscored = swapped[i].Unscored
		}
		votes[i].Value = (straight[i].Value + swapped[i].Value) / 2
	}
	return votes
}

// outcomes counts what was said for and against the output.
func outcomes(votes []record.Vote) string {
	var wins, ties, losses int
	for i := range votes {
		switch v := &votes[i]; {
		case v.Unscored != "":
		case v.Value == 1:
			wins++
		case v.Value == 0:
			losses++
		default:
			ties++
		}
	}
	var told []string
	for _, of := range []struct {
		n         int
		one, many string
	}{{wins, "win", "wins"}, {ties, "tie", "ties"}, {losses, "loss", "losses"}} {
		switch {
		case of.n == 1:
			told = append(told, "1 "+of.one)
		case of.n > 1:
			told = append(told, fmt.Sprint(of.n, " ", of.many))
		}
	}
	return strings.Join(told, ", ")
}

// prompt shows both outputs in one of the orders.
func (c *Pair) prompt(rubric string, swapped bool) (Prompt, error) {
	p := Prompt{Swapped: swapped, Scale: first}
	one, other := c.Output, c.Beside
	if swapped {
		p.Scale, one, other = second, other, one
	}
	reference := ""
	if c.Reference != nil {
		reference = referenceToo
	}
	p.System = compareOf + noPlace + fmt.Sprintf(asData, reference, "the first output and the second output") +
		fmt.Sprintf(replyWith, p.Scale.asked()) + "\nRubric:\n" + strings.TrimSpace(rubric)
	parts, err := shown(named{"task", c.Input, c.Input != nil}, named{"reference", c.Reference, c.Reference != nil},
		named{"first output", one, true}, named{"second output", other, true})
	p.User = Fenced(parts) + compare
	return p, err
}
