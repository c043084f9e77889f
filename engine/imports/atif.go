package imports

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/expr"
)

// atifVersion is what is written: the newest schema that readers in use know.
const atifVersion = "ATIF-v1.7"

// ATIF writes a run and its scores as a document of the Agent Trajectory Interchange
// Format. What the format has no place for is in extra.agentbench, from which the
// mapping atif reads it. A run that was read from such a document becomes that document
// again.
func ATIF(run *record.Run, scores []record.Score) ([]byte, error) {
	document, err := (&trajectory{run: run}).document(scores)
	if err != nil {
		return nil, fmt.Errorf("writing %s as ATIF: %w", run.ID, err)
	}
	text, err := expr.AppendJSON(nil, document)
	if err != nil {
		return nil, fmt.Errorf("writing %s as ATIF: %w", run.ID, err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return nil, fmt.Errorf("writing %s as ATIF: %w", run.ID, err)
	}
	return append(indented.Bytes(), '\n'), nil
}

// trajectory is a document in the making.
type trajectory struct {
	run       *record.Run
	model     string // of the agent
	steps     []any
	delegates []any
}

// objectOf is an object of keys and values in turn, without those that are nil.
func objectOf(pairs ...any) *expr.Object {
	o := expr.NewObject(len(pairs) / 2)
	for i := 0; i < len(pairs); i += 2 {
		if key, _ := pairs[i].(string); pairs[i+1] != nil {
			o.Set(key, pairs[i+1])
		}
	}
	return o
}

// orNil is a value, nil where it is zero.
func orNil[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}

// kept is what the mapping atif put into extra.
func kept(extra json.RawMessage) (*expr.Object, error) {
	if len(extra) == 0 {
		return nil, nil
	}
	v, err := expr.ParseJSON(extra)
	object, _ := v.(*expr.Object)
	atif, _ := object.Get("atif")
	object, _ = atif.(*expr.Object)
	return object, err
}

func (t *trajectory) document(scores []record.Score) (*expr.Object, error) {
	run := t.run
	from, err := kept(run.Extra)
	if err != nil {
		return nil, err
	}
	agent := t.agent()
	before, _ := from.Get("before")
	t.copied(before)
	for i := range run.Iterations {
		if err := t.iteration(&run.Iterations[i]); err != nil {
			return nil, fmt.Errorf("iteration %d: %w", i+1, err)
		}
	}
	head := objectOf("schema_version", atifVersion, "session_id", run.ID, "agent", agent, "steps", t.steps, "final_metrics", t.totals())
	if document, ok := from.Get("document"); ok {
		overlay(head, document)
		for _, derived := range []string{"final_metrics", "session_id"} {
			if !has(document, derived) {
				head = without(head, derived)
			}
		}
		return inOrder(head, documentOrder), nil
	}
	head.Set("extra", objectOf("agentbench", t.own(scores)))
	if len(t.delegates) > 0 {
		head.Set("subagent_trajectories", t.delegates)
	}
	return head, nil
}

// overlay sets what was kept of a document; it is nearer to what was read than what is
// derived from the record.
func overlay(o *expr.Object, kept any) {
	from, _ := kept.(*expr.Object)
	for i := range from.Len() {
		o.Set(from.At(i))
	}
}

func has(v any, key string) bool {
	o, _ := v.(*expr.Object)
	_, ok := o.Get(key)
	return ok
}

func without(o *expr.Object, leave string) *expr.Object {
	rest := expr.NewObject(o.Len())
	for i := range o.Len() {
		if key, value := o.At(i); key != leave {
			rest.Set(key, value)
		}
	}
	return rest
}

// The members of a document and of a step, in the order in which they are written.
var (
	documentOrder = []string{"schema_version", "session_id", "trajectory_id", "agent", "notes", "steps", "final_metrics", "continued_trajectory_ref", "extra"}
	stepOrder     = []string{"step_id", "timestamp", "source", "model_name", "reasoning_effort", "message", "reasoning_content", "tool_calls", "observation", "metrics"}
)

func inOrder(o *expr.Object, order []string) *expr.Object {
	ordered := expr.NewObject(o.Len())
	for _, key := range order {
		if v, ok := o.Get(key); ok {
			ordered.Set(key, v)
		}
	}
	overlay(ordered, o)
	return ordered
}

// step appends a step, and counts it.
func (t *trajectory) step(o *expr.Object) {
	o.Set("step_id", int64(len(t.steps)+1))
	t.steps = append(t.steps, inOrder(o, stepOrder))
}

// copied appends steps as they were read.
func (t *trajectory) copied(steps any) {
	list, _ := steps.([]any)
	for _, s := range list {
		if o, ok := s.(*expr.Object); ok {
			t.step(o)
		}
	}
}

func (t *trajectory) agent() *expr.Object {
	run := t.run
	for i := range run.Iterations {
		for k := range run.Iterations[i].Calls {
			if c := &run.Iterations[i].Calls[k]; c.Role == record.RoleAgent {
				t.model = cmp.Or(t.model, c.Model)
			}
		}
	}
	var tools []any
	for _, server := range run.Servers {
		for _, tool := range server.Tools {
			parameters, _ := expr.ParseJSON(tool.Parameters) // none are nil
			tools = append(tools, objectOf("type", "function", "function",
				objectOf("name", tool.Name, "description", orNil(tool.Description), "parameters", parameters)))
		}
	}
	agent := objectOf("name", run.Configuration, "version", cmp.Or(run.Loop, "unknown"), "model_name", orNil(t.model))
	if tools != nil {
		agent.Set("tool_definitions", tools)
	}
	return agent
}

// totals are the metrics of the agent in the whole run, without what is unknown.
func (t *trajectory) totals() *expr.Object {
	m := metrics(t.run.Usage)
	totals := objectOf("total_steps", int64(len(t.steps)))
	for _, name := range []string{"prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd"} {
		if v, ok := m.Get(name); ok {
			totals.Set("total_"+name, v)
		}
	}
	if more, ok := m.Get("extra"); ok {
		totals.Set("extra", more)
	}
	return totals
}

// metrics are what calls used, without what is unknown.
func metrics(u record.Usage) *expr.Object {
	o := expr.NewObject(5)
	if u.TokensTold() && u.Estimated == 0 && u.Calls > 0 {
		o.Set("prompt_tokens", u.InputTokens)
		o.Set("completion_tokens", u.OutputTokens)
		if u.CachedTokens > 0 {
			o.Set("cached_tokens", u.CachedTokens)
		}
	}
	if u.Priced() && u.Calls > 0 {
		o.Set("cost_usd", u.Cost.Dollars())
	}
	more := objectOf("reasoning_tokens", orNil(u.ReasoningTokens), "cache_creation_input_tokens", orNil(u.CacheWriteTokens+u.CacheWrite1hTokens),
		"cache_write_1h_tokens", orNil(u.CacheWrite1hTokens))
	if more.Len() > 0 {
		o.Set("extra", more)
	}
	return o
}

// own is what only agentbench knows of a run.
func (t *trajectory) own(scores []record.Score) *expr.Object {
	run := t.run
	values := expr.NewObject(len(scores))
	for i := range scores {
		if s := &scores[i]; s.Iteration == 0 && s.Unscored == "" {
			values.Set(s.Name, s.Value)
		} else if s.Iteration == 0 {
			values.Set(s.Name, nil)
		}
	}
	o := objectOf("run", run.ID, "configuration", run.Configuration, "task", run.Task, "trial", int64(run.Trial), "status", string(run.Outcome.Status),
		"stop", stopWord(run.Outcome.Reason), "ended", run.Outcome.Class == record.ByAgent, "success", run.Outcome.Success, "scores", values)
	if e := run.Outcome.Error; e != nil && run.Outcome.Class == record.ByFault {
		o.Set("fault", objectOf("class", string(e.Class), "message", e.Message))
	}
	if started := t.timestamp(0, false); started != nil {
		o.Set("started", started)
	}
	if !run.Untimed {
		o.Set("elapsed_seconds", run.Elapsed.Seconds())
	}
	for _, part := range []struct {
		name string
		used record.Usage
	}{{"judging", run.Judging}, {"user", run.User}} {
		if part.used != (record.Usage{}) {
			o.Set(part.name, metrics(part.used))
		}
	}
	return o
}

// stopWord is a reason that a log may give.
func stopWord(r record.Reason) string {
	if _, ok := cuts[r]; ok || slices.Contains(byAgent, r) {
		return string(r)
	}
	return string(record.ReasonUnknown)
}

// plainJSON is JSON of a record as a value; text that is not JSON is itself.
func plainJSON(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	v, err := expr.ParseJSON(raw)
	if err != nil {
		return string(raw)
	}
	return v
}

// content is a value as the content of a message: text, or parts of which the format
// has text and images; every other value is its JSON.
func content(v any) (as any, same bool) {
	switch x := v.(type) {
	case nil:
		return "", false
	case string:
		return x, true
	case []any:
		part := func(p any) bool { return (has(p, "text") || has(p, "source")) && has(p, "type") }
		if len(x) > 0 && !slices.ContainsFunc(x, func(p any) bool { return !part(p) }) {
			return x, true
		}
	}
	text, _ := expr.AppendJSON(nil, v) // it was JSON
	return string(text), false
}

// iteration appends the steps of an iteration.
func (t *trajectory) iteration(it *record.Iteration) error {
	from, err := kept(it.Extra)
	if err != nil {
		return err
	}
	if step, ok := from.Get("step"); ok {
		used, _ := it.Spent()
		o := t.turn(it, turn{text: it.Output, thinking: it.Thinking, calls: it.ToolCalls, used: used})
		for _, derived := range []string{"metrics", "timestamp", "llm_call_count"} {
			o = without(o, derived)
		}
		overlay(o, step)
		t.step(o)
		after, _ := from.Get("after")
		t.copied(after)
		return nil
	}
	t.said(it.Prompt, t.timestamp(it.Start, it.Untimed))
	first, used, at := len(t.steps), 0, it.Start
	agent, _ := it.Spent()
	if len(it.Steps) == 0 {
		only := turn{text: it.Output, thinking: it.Thinking, calls: it.ToolCalls, used: agent, end: it.End}
		if at := slices.IndexFunc(it.Calls, func(c record.Call) bool { return c.Role == record.RoleAgent }); at >= 0 {
			only.model = it.Calls[at].Model
		}
		t.step(t.turn(it, only))
	}
	for i := range it.Steps {
		step := &it.Steps[i]
		text, err := json.Marshal(step.Text)
		if err != nil {
			return err
		}
		next := min(used+step.Tools, len(it.ToolCalls))
		one := turn{text: text, thinking: step.Thinking, calls: it.ToolCalls[used:next], end: at}
		if step.Call > 0 && step.Call <= len(it.Calls) {
			call := &it.Calls[step.Call-1]
			one.used, one.end, one.model = call.Usage, call.Start+call.Duration, call.Model
		}
		used, at = next, one.end
		t.step(t.turn(it, one))
		t.said(step.User, nil)
	}
	t.marks(it, first, agent)
	return nil
}

// said appends what a user said.
func (t *trajectory) said(text string, at any) {
	if text != "" {
		t.step(objectOf("timestamp", at, "source", "user", "message", text))
	}
}

// turn is what an agent did in a step.
type turn struct {
	text     json.RawMessage
	thinking string
	calls    []record.ToolCall
	used     record.Usage
	end      time.Duration
	model    string
}

// turn is a step of the agent.
func (t *trajectory) turn(it *record.Iteration, did turn) *expr.Object {
	message, _ := content(plainJSON(did.text))
	o := objectOf("timestamp", t.timestamp(did.end, it.Untimed), "source", "agent", "message", message, "reasoning_content", orNil(did.thinking))
	if did.model != "" && did.model != t.model {
		o.Set("model_name", did.model)
	}
	var calls, results []any
	for i := range did.calls {
		call, result := t.toolCall(&did.calls[i], len(t.steps)+1, i)
		calls = append(calls, call)
		if result != nil {
			results = append(results, result)
		}
	}
	if calls != nil {
		o.Set("tool_calls", calls)
	}
	if results != nil {
		o.Set("observation", objectOf("results", results))
	}
	if m := metrics(did.used); m.Len() > 0 {
		o.Set("metrics", m)
	}
	if did.used.Calls == 0 {
		o.Set("llm_call_count", int64(0))
		o = without(without(o, "metrics"), "reasoning_content")
	} else if did.used.Calls > 1 {
		o.Set("llm_call_count", did.used.Calls)
	}
	return o
}

func (t *trajectory) timestamp(at time.Duration, unknown bool) any {
	if started := t.run.Volatile.Started; !started.IsZero() && !unknown {
		return started.Add(at).Format(time.RFC3339Nano)
	}
	return nil
}

// toolCall is a call, and its result, if it has one; else nil.
func (t *trajectory) toolCall(c *record.ToolCall, step, i int) (call, result *expr.Object) {
	id := cmp.Or(c.ID, fmt.Sprintf("call_%d_%d", step, i+1))
	given, own := plainJSON(c.Arguments), expr.NewObject(2)
	if _, ok := given.(*expr.Object); !ok {
		if given != nil {
			own.Set("arguments", given)
		}
		given = expr.NewObject(0)
	}
	call = objectOf("tool_call_id", id, "function_name", cmp.Or(c.Tool, "unknown"), "arguments", given)
	if own.Len() > 0 {
		call.Set("extra", objectOf("agentbench", own))
	}
	if len(c.Result) == 0 && c.Error == nil && c.Delegated == nil {
		return call, nil
	}
	v, own := plainJSON(c.Result), expr.NewObject(2)
	told, same := content(v)
	if !same && v != nil {
		own.Set("result", v)
	}
	if c.Error != nil {
		own.Set("error", objectOf("class", string(c.Error.Class), "message", c.Error.Message))
		if v == nil {
			told = c.Error.Message
		}
	}
	result = objectOf("source_call_id", id, "content", told)
	if c.Delegated != nil {
		name := fmt.Sprintf("delegate-%d", len(t.delegates)+1)
		if sub, err := (&trajectory{run: c.Delegated}).document(nil); err == nil {
			sub.Set("trajectory_id", name)
			t.delegates = append(t.delegates, sub)
			result.Set("subagent_trajectory_ref", []any{objectOf("trajectory_id", name)})
		}
	}
	if own.Len() > 0 {
		result.Set("extra", objectOf("agentbench", own))
	}
	return call, result
}

// marks writes into the agent's steps of an iteration what only agentbench knows: at the
// first all of it, at those after it that they continue it.
func (t *trajectory) marks(it *record.Iteration, first int, agent record.Usage) {
	marked := 0
	for _, s := range t.steps[first:] {
		step, _ := s.(*expr.Object)
		if source, _ := step.Get("source"); source != "agent" {
			continue
		}
		if marked++; marked > 1 {
			step.Set("extra", objectOf("agentbench", objectOf("continues", true)))
			continue
		}
		own := objectOf("iteration", int64(it.N), "phase", orNil(it.Phase), "strategy", orNil(it.Strategy), "cut", orNil(it.Cut))
		output := plainJSON(it.Output)
		if _, same := content(output); output != nil && (!same || len(it.Steps) > 0) {
			own.Set("output", output)
		}
		if len(it.Steps) > 1 {
			used := metrics(agent)
			used.Set("calls", agent.Calls)
			own.Set("metrics", used)
			if ended := t.timestamp(it.End, it.Untimed); ended != nil {
				own.Set("ended_at", ended)
			}
		}
		if e := it.Evaluation; e != nil {
			own.Set("evaluation", objectOf("confidence", e.Confidence, "passed", e.Passed, "feedback", orNil(e.Feedback)))
		}
		if e := it.Error; e != nil {
			own.Set("error", objectOf("class", string(e.Class), "message", e.Message))
		}
		step.Set("extra", objectOf("agentbench", own))
	}
}
