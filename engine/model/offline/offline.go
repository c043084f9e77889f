// Package offline has models that call no server: a Script has canned
// replies, Simulate draws them. A Call stands for a call that is not made: how long it
// would have taken and what it would have used. Chance comes from a hash of
// what the call is, never from the order in which calls arrive, so that the
// same suite gives the same numbers at any concurrency.
//
// It is no stable API.
package offline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Call is what calls of a model stand for. The zero Call takes no time, and its
// tokens are estimated from the texts.
type Call struct {
	Latency spec.Latency
	Tokens  spec.TokenCounts
	Sleep   bool          // really wait
	Timeout time.Duration // of one call; 0: none
}

// CallOf is what calls of a declared model stand for.
func CallOf(m *spec.Model) Call {
	return Call{Latency: m.Latency, Tokens: m.Tokens, Sleep: m.Sleep, Timeout: m.Timeout}
}

// Varies says that chance has a part in it; else Duration and Usage take a nil one.
func (c *Call) Varies() bool { return c.Latency.Sigma > 0 || c.Tokens.Spread > 0 }

// longest is what one call takes at most: sums of many calls stay far from where
// they would wrap.
const longest = 24 * time.Hour

// Duration draws how long a call takes, a day at most: lognormal around the median.
func (c *Call) Duration(chance *rand.Rand) time.Duration {
	if c.Latency.Sigma <= 0 || c.Latency.Median <= 0 {
		return min(c.Latency.Median, longest)
	}
	drawn := float64(c.Latency.Median) * math.Exp(c.Latency.Sigma*chance.NormFloat64())
	return time.Duration(min(drawn, float64(longest)))
}

// Usage draws what a call uses. Counts that are not declared are estimated from
// what is sent and written, and the usage says so. As at a server, no reply is
// longer than the request allows.
func (c *Call) Usage(request *model.Request, reply *model.Reply, chance *rand.Rand) record.Usage {
	used := record.Usage{Calls: 1}
	if used.InputTokens = c.around(c.Tokens.Input, chance); used.InputTokens == 0 {
		used.InputTokens, used.Estimated = request.InputTokens(), 1
	}
	if used.OutputTokens = c.around(c.Tokens.Output, chance); used.OutputTokens == 0 {
		used.OutputTokens, used.Estimated = model.EstimateTokens(reply.Bytes()), 1
	}
	if most := int64(request.MaxOutputTokens); most > 0 {
		used.OutputTokens = min(used.OutputTokens, most)
	}
	return used
}

// around draws a count of at least 1 around a mean, 0 where there is no mean.
func (c *Call) around(mean int, chance *rand.Rand) int64 {
	switch {
	case mean <= 0:
		return 0
	case c.Tokens.Spread <= 0:
		return int64(c.Tokens.Most(mean))
	}
	drawn := math.Round(float64(mean) * (1 + c.Tokens.Spread*chance.NormFloat64()))
	return int64(min(max(1, drawn), float64(c.Tokens.Most(mean))))
}

// Pass lets the time of a call pass, really or as-if. Its errors are the call's
// timeout and the context's cause.
func (c *Call) Pass(ctx context.Context, d time.Duration) error {
	late := c.Timeout > 0 && d > c.Timeout
	if late {
		d = c.Timeout
	}
	if err := c.wait(ctx, d); err != nil {
		return err
	}
	if late {
		return model.Fail(record.CallTimeout, fmt.Sprintf("the call took longer than %v", c.Timeout), d)
	}
	return nil
}

func (c *Call) wait(ctx context.Context, d time.Duration) error {
	if !c.Sleep || d <= 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Draws gives the chance that belongs to a seed and to what the texts and
// numbers name: the same for the same arguments, unrelated for any others.
func Draws(seed int64, texts []string, numbers ...uint64) *rand.Rand {
	b := make([]byte, 0, 256)
	b = binary.LittleEndian.AppendUint64(b, uint64(seed))
	for _, text := range texts {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(text)))
		b = append(b, text...)
	}
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	sum := sha256.Sum256(b)
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])))
}

// Models are the models of a suite that call no server, by name.
func Models(doc *spec.Document) (map[string]model.Model, error) {
	all := map[string]model.Model{}
	for _, declared := range doc.Suite.Models {
		made, err := Of(doc, declared.Key, &declared.Value)
		if err != nil {
			return nil, err
		}
		if made != nil {
			all[declared.Key] = made
		}
	}
	return all, nil
}

// Of is the model of a suite by that name, nil where it calls a server.
func Of(doc *spec.Document, name string, declared *spec.Model) (model.Model, error) {
	switch declared.Provider {
	case "script":
		answers, err := doc.Answers(name)
		if err != nil {
			return nil, err
		}
		return &Script{
			Name: name, ByTask: answers.ByTask, All: answers.List, Conversations: answers.Conversations, AfterLast: AfterLast(answers.AfterLast),
			Time: CallOf(declared), Seed: doc.Suite.Seed,
		}, nil
	case "simulate":
		return Simulate(name, doc.Suite.Seed, declared), nil
	}
	return nil, nil
}

// Script replies from a script: Draw.Call is the place in the list, or Draw.Turn in that of the conversation.
type Script struct {
	Name string // in the suite, for messages
	// ByTask has the replies by task id. Where it is nil, All serves every task.
	ByTask map[string][]spec.Answer
	All    []spec.Answer
	// Conversations have the replies of a program's conversations, in place of both, by names or patterns: the first that matches.
	Conversations source.Named[spec.Replies]
	AfterLast     AfterLast
	Time          Call  // what a reply stands for
	Seed          int64 // of the suite; matters only where times or tokens vary
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
	replies, at, what := m.All, draw.Call, fmt.Sprintf("task %q", draw.Task)
	if m.Conversations != nil {
		of := cmp.Or(draw.Conversation, "main")
		if draw.Conversation != "" {
			at = draw.Turn
		}
		replies, what = m.conversation(of), fmt.Sprintf("the conversation %q", of)
	}
	if m.ByTask != nil {
		var known bool
		if replies, known = m.ByTask[draw.Task]; !known {
			return nil, m.exhausted("the script %q has no replies for task %q", m.Name, draw.Task)
		}
	}
	if at < len(replies) {
		return &replies[at], nil
	}
	switch {
	case m.AfterLast == End:
		return nil, model.ErrEnded
	case m.AfterLast == Repeat && len(replies) > 0:
		return &replies[len(replies)-1], nil
	}
	return nil, m.exhausted("the script %q has %s for %s; call %d has none", m.Name, count(len(replies)), what, at+1)
}

// conversation has the replies of a conversation.
func (m *Script) conversation(name string) []spec.Answer {
	for _, c := range m.Conversations {
		if matches, _ := path.Match(c.Key, name); matches {
			return c.Value
		}
	}
	return nil
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
