// Package script decides what a scripted model replies: canned replies, one per
// call of a run, the same for every task or recorded for each.

package offline

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Model replies from a script: Draw.Call is the place in the list.
type Script struct {
	Name string // in the suite, for messages
	// ByTask has the replies by task id. Where it is nil, All serves every task.
	ByTask    map[string][]spec.Answer
	All       []spec.Answer
	AfterLast AfterLast
	Time      Call  // what a reply stands for
	Seed      int64 // of the suite; matters only where times or tokens vary
}

// AfterLast says what follows the last reply.
type AfterLast string

// What follows the last reply; the zero value is an error, too.
const (
	Error  AfterLast = "error"  // the run fails: the script is too short
	Repeat AfterLast = "repeat" // the last reply again
	End    AfterLast = "end"    // the agent ends the run
)

// Call replies with what is next.
func (m *Script) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	answer, err := m.next(&request.Draw)
	if err != nil {
		return nil, err
	}
	reply := replyOf(answer)
	var chance *rand.Rand
	if m.Time.Varies() {
		d := &request.Draw
		chance = Draws(m.Seed, []string{"script", m.Name, d.Task}, uint64(d.Trial), uint64(d.Call))
	}
	reply.Duration = m.Time.Duration(chance)
	reply.Usage = m.Time.Usage(request, reply, chance)
	if err := m.Time.Pass(ctx, reply.Duration); err != nil {
		return nil, err
	}
	return reply, nil
}

// replyOf is an answer as a server would have sent it.
func replyOf(a *spec.Answer) *model.Reply {
	reply := &model.Reply{Text: a.Text, Thinking: a.Thinking, Finish: a.Finish}
	for _, call := range a.ToolCalls {
		reply.ToolCalls = append(reply.ToolCalls, model.ToolCall(call))
	}
	model.Identify(reply.ToolCalls)
	switch {
	case reply.Finish != "":
	case reply.ToolCalls != nil:
		reply.Finish = "tool_calls"
	default:
		reply.Finish = "stop"
	}
	return reply
}

func (m *Script) next(draw *model.Draw) (*spec.Answer, error) {
	replies := m.All
	if m.ByTask != nil {
		var known bool
		if replies, known = m.ByTask[draw.Task]; !known {
			return nil, m.exhausted("the script %q has no replies for task %q", m.Name, draw.Task)
		}
	}
	if draw.Call < len(replies) {
		return &replies[draw.Call], nil
	}
	switch {
	case m.AfterLast == End:
		return nil, model.ErrEnded
	case m.AfterLast == Repeat && len(replies) > 0:
		return &replies[len(replies)-1], nil
	}
	return nil, m.exhausted("the script %q has %s for task %q; call %d has none",
		m.Name, count(len(replies)), draw.Task, draw.Call+1)
}

func (m *Script) exhausted(format string, args ...any) error {
	failed := model.Fail(record.Exhausted, fmt.Sprintf(format, args...), 0)
	failed.Usage = record.Usage{} // nothing was called
	return failed
}

func count(replies int) string {
	if replies == 1 {
		return "1 reply"
	}
	return fmt.Sprintf("%d replies", replies)
}
