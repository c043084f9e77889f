package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/trace"
)

// maxShown is how much of an answer that cannot be read the one who gave it is
// shown again, in bytes.
const maxShown = 4000

// Poll gets the votes on every prompt, in an order that does not depend on who
// answers first: those of the first member, then those of the next. The members
// are asked beside each other; each of them one thing after the other, so that
// its calls have the same numbers every time. Cut says why votes were not asked
// for any more, as where the budget is spent: those that there are then say
// nothing of the others.
func (p *Panel) Poll(ctx context.Context, draw model.Draw, prompts []Prompt) (votes [][]record.Vote, usage record.Usage, cut string) {
	each := max(1, p.Votes)
	votes = make([][]record.Vote, len(prompts))
	used, cuts := make([]record.Usage, len(p.Members)), make([]string, len(p.Members))
	for i := range prompts {
		votes[i] = make([]record.Vote, len(p.Members)*each)
	}
	var asking sync.WaitGroup
	for m := range p.Members {
		asking.Go(func() {
			a := asker{Panel: p, Member: &p.Members[m], draw: draw, calls: map[string]int{p.Members[m].Name: draw.Call}}
			beside := model.Beside(ctx, m)
			for i := range prompts {
				for k := range each {
					votes[i][m*each+k] = a.vote(beside, &prompts[i])
				}
			}
			used[m], cuts[m] = a.used, a.cut
		})
	}
	asking.Wait()
	for _, u := range used {
		usage = usage.Plus(u)
	}
	return votes, usage, cmp.Or(cuts...)
}

// asker asks one member.
type asker struct {
	*Panel
	*Member
	draw  model.Draw
	calls map[string]int
	used  record.Usage
	cut   string // why nobody may be asked any more
}

// vote asks, and asks once more where the answer cannot be read.
func (a *asker) vote(ctx context.Context, p *Prompt) (vote record.Vote) {
	vote = record.Vote{Criterion: p.Criterion, Swapped: p.Swapped, Cached: true}
	if len(a.Members) > 1 {
		vote.Judge = a.Name
	}
	defer func() {
		if cause := recover(); cause != nil {
			vote.Unscored, vote.Cached = fmt.Sprintf("%s: panic: %v", record.Internal, cause), false
		}
	}()
	messages := []model.Message{{Role: "system", Text: p.System}, {Role: "user", Text: p.User}}
	reply, err := a.ask(ctx, messages, &vote)
	if err == nil {
		if err = p.Scale.read(reply.Text, &vote); err != nil {
			vote.Repaired = true
			err = a.repair(ctx, p, messages, reply, err, &vote)
		}
	}
	if err != nil {
		vote.Unscored, vote.Repaired = reason(ctx, err), false
		if ctx.Err() != nil || errors.Is(err, model.ErrRefused) {
			a.cut = cmp.Or(a.cut, vote.Unscored)
		}
	}
	return vote
}

// repair shows the judge what it answered, and what was wrong with it.
func (a *asker) repair(ctx context.Context, p *Prompt, messages []model.Message, bad *model.Reply, wrong error, vote *record.Vote) error {
	messages = append(messages,
		model.Message{Role: "assistant", Text: begin(bad.Text)},
		model.Message{Role: "user", Text: "That answer cannot be read: " + wrong.Error() + ". " +
			"Reply with the JSON object and nothing else; its score is " + p.Scale.asked() + "."})
	reply, err := a.ask(ctx, messages, vote)
	if err != nil {
		return err
	}
	if err := p.Scale.read(reply.Text, vote); err != nil {
		cut := ""
		if reply.Finish == "length" {
			cut = " (it was cut at its limit of output tokens)"
		}
		return &record.Error{Class: record.BadResponse, Message: "the judge's answer cannot be read: " + err.Error() + cut + ", and that twice"}
	}
	return nil
}

// ask makes one call and adds it up.
func (a *asker) ask(ctx context.Context, messages []model.Message, vote *record.Vote) (*model.Reply, error) {
	request := &model.Request{
		Messages: messages, Temperature: a.Temperature, MaxOutputTokens: a.MaxOutputTokens, JSON: true, Draw: a.draw,
	}
	request.Draw.Call = a.calls[a.Name]
	reply, call, err := trace.Ask(ctx, model.Asked{
		Model: a.Model, Name: a.Name, Role: record.RoleJudge, Hash: request.Hash(a.Name),
		Request: request, Timeout: a.Timeout, Calls: a.calls,
	})
	if call != nil {
		a.used = a.used.Plus(call.Usage)
	}
	vote.Cached = vote.Cached && call != nil && call.Cached
	if err == nil && reply.Finish == "content_filter" {
		err = &record.Error{Class: record.ContentFilter, Message: "the server's content filter stopped the judge's answer"}
	}
	return reply, err
}

// reason says why there is no vote: the class of the error, and the error.
func reason(ctx context.Context, err error) string {
	var failed *record.Error
	switch {
	case errors.As(err, &failed):
		return failed.Error()
	case errors.Is(err, model.ErrRefused):
		return "refused: " + err.Error()
	case errors.Is(err, model.ErrEnded):
		return string(record.Exhausted) + ": the judge has nothing more to say"
	case ctx.Err() != nil:
		return "cancelled: " + err.Error()
	}
	return string(record.Internal) + ": " + err.Error()
}

// begin is the beginning of a long text. Servers refuse a message that is empty.
func begin(text string) string {
	switch {
	case strings.TrimSpace(text) == "":
		return "(nothing)"
	case len(text) <= maxShown:
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}
