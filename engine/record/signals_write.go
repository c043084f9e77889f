package record

import "fmt"

// appendSignals appends the signals as a line.
func appendSignals(dst []byte, s *Signals) ([]byte, error) {
	w := writer{to: append(dst, lineHead...)}
	w.signals(s)
	if w.err != nil {
		return nil, fmt.Errorf("the signals of run %s cannot be written: %w", s.ID, w.err)
	}
	line, err := seal(w.to, len(dst))
	if err != nil {
		return nil, fmt.Errorf("the signals of run %s cannot be written: %w", s.ID, err)
	}
	return line, nil
}

func (w *writer) signals(s *Signals) {
	w.open()
	w.integer("v", int64(s.Version))
	w.string("run", s.ID)
	w.maybeInteger("bytes", s.Bytes)
	w.string("configuration", s.Configuration)
	w.string("task", s.Task)
	w.integer("trial", int64(s.Trial))
	w.maybeString("cluster", s.Cluster)
	w.maybeString("group", s.Group)
	w.maybeString("loop", s.Loop)
	w.key("outcome")
	w.outcome(&s.Outcome)
	w.key("usage")
	w.usage(&s.Usage)
	if s.Judging != (Usage{}) {
		w.key("judging")
		w.usage(&s.Judging)
	}
	if s.User != (Usage{}) {
		w.key("user")
		w.usage(&s.User)
	}
	w.integer("elapsed_ns", int64(s.Elapsed))
	w.maybeTrue("untimed", s.Untimed)
	if s.Next != nil {
		w.key("next")
		w.nextRequest(s.Next)
	}
	w.maybeTrue("simulated", s.Simulated)
	if len(s.Checks) > 0 {
		w.list("checks", len(s.Checks), func(i int) { w.checkHead(&s.Checks[i]) })
	}
	w.list("iterations", len(s.Iterations), func(i int) { w.iteration(&s.Iterations[i]) })
	w.close()
}

func (w *writer) outcome(o *Outcome) {
	w.open()
	w.string("status", string(o.Status))
	w.string("reason", string(o.Reason))
	w.string("class", string(o.Class))
	w.maybeString("fired", o.Fired)
	if len(o.Held) > 0 {
		w.list("held", len(o.Held), func(i int) { w.to = appendString(w.to, o.Held[i]) })
	}
	w.boolean("success", o.Success)
	w.maybeInteger("returned", int64(o.Returned))
	w.maybeNumber("used", o.Used)
	w.maybeNumber("limit", o.Limit)
	if o.Error != nil {
		w.key("error")
		w.open()
		w.string("class", string(o.Error.Class))
		w.string("message", o.Error.Message)
		w.close()
	}
	w.close()
}

func (w *writer) nextRequest(n *Next) {
	w.open()
	w.maybeString("role", string(n.Role))
	w.maybeString("phase", n.Phase)
	w.maybeString("strategy", n.Strategy)
	w.maybeString("request", n.Request)
	if n.Reserved != nil {
		w.key("reserved")
		w.usage(n.Reserved)
	}
	w.close()
}

func (w *writer) usage(u *Usage) {
	w.open()
	w.maybeInteger("calls", u.Calls)
	w.maybeInteger("input_tokens", u.InputTokens)
	w.maybeInteger("cached_tokens", u.CachedTokens)
	w.maybeInteger("output_tokens", u.OutputTokens)
	w.maybeInteger("reasoning_tokens", u.ReasoningTokens)
	w.maybeInteger("tool_calls", u.ToolCalls)
	w.maybeInteger("cost_pusd", int64(u.Cost))
	w.maybeInteger("unpriced", u.Unpriced)
	w.maybeInteger("estimated", u.Estimated)
	w.maybeInteger("uncounted", u.Uncounted)
	w.maybeInteger("unreported", u.Unreported)
	w.close()
}

func (w *writer) checkHead(c *CheckHead) {
	w.open()
	w.string("name", c.Name)
	w.maybeNumber("weight", c.Weight)
	w.close()
}

func (w *writer) iteration(it *IterationSignals) {
	w.open()
	w.integer("n", int64(it.N))
	w.maybeString("phase", it.Phase)
	w.maybeString("strategy", it.Strategy)
	w.maybeString("request", it.Request)
	w.maybeString("output", it.Output)
	w.maybeString("tools", it.Tools)
	w.maybeInteger("tool_calls", int64(it.ToolCalls))
	w.maybeInteger("steps", int64(it.Steps))
	w.maybeTrue("evaluated", it.Evaluated)
	w.maybeNumber("confidence", it.Confidence)
	w.maybeTrue("passed", it.Passed)
	w.maybeString("checks", string(it.Checks))
	w.maybeTrue("fault", it.Fault)
	w.maybeTrue("skipped", it.Skipped)
	w.maybeString("cut", it.Cut)
	w.maybeString("ended", it.Ended)
	w.maybeString("ended_by", it.EndedBy)
	w.maybeString("error", string(it.Error))
	w.maybeString("error_hash", it.ErrorHash)
	if len(it.Calls) > 0 {
		w.list("calls", len(it.Calls), func(i int) { w.call(&it.Calls[i]) })
	}
	w.integer("start_ns", int64(it.Start))
	w.integer("end_ns", int64(it.End))
	w.maybeTrue("untimed", it.Untimed)
	w.maybeInteger("working_ns", int64(it.Working))
	w.close()
}

func (w *writer) call(c *CallSignals) {
	w.open()
	w.string("role", string(c.Role))
	w.maybeString("model", c.Model)
	w.maybeString("answered", c.Answered)
	w.maybeString("request", c.Request)
	w.key("usage")
	w.usage(&c.Usage)
	if c.Reserved != nil {
		w.key("reserved")
		w.usage(c.Reserved)
	}
	if c.Charged != nil {
		w.key("charged")
		w.usage(c.Charged)
	}
	w.integer("start_ns", int64(c.Start))
	w.integer("duration_ns", int64(c.Duration))
	w.maybeInteger("waited_ns", int64(c.Waited))
	w.maybeString("error", string(c.Error))
	w.close()
}
