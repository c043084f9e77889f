package record

import "time"

// readSignals reads what writer.signals wrote.
func readSignals(text []byte, names map[string]string) (*Signals, error) {
	r := reader{text: text, names: names}
	s := &Signals{}
	r.signals(s)
	return s, r.end()
}

func (r *reader) signals(s *Signals) {
	for key := range r.object() {
		switch key {
		case "v":
			s.Version = int(r.integer())
		case "run":
			s.ID = string(r.quoted())
		case "configuration":
			s.Configuration = r.string()
		case "task":
			s.Task = string(r.quoted())
		case "trial":
			s.Trial = int(r.integer())
		case "loop":
			s.Loop = r.string()
		case "outcome":
			r.outcome(&s.Outcome)
		case "usage":
			r.usage(&s.Usage)
		case "judging":
			r.usage(&s.Judging)
		case "elapsed_ns":
			s.Elapsed = r.duration()
		case "simulated":
			s.Simulated = r.boolean()
		case "checks":
			for range r.list() {
				s.Checks = append(s.Checks, r.checkHead())
			}
		case "iterations":
			for i := range r.list() {
				s.Iterations = append(s.Iterations, IterationSignals{})
				r.iteration(&s.Iterations[i])
			}
		case "bytes":
			s.Bytes = r.integer()
		default:
			r.pass()
		}
	}
}

func (r *reader) duration() time.Duration { return time.Duration(r.integer()) }

func (r *reader) outcome(o *Outcome) {
	for key := range r.object() {
		switch key {
		case "status":
			o.Status = Status(r.string())
		case "reason":
			o.Reason = Reason(r.string())
		case "class":
			o.Class = Class(r.string())
		case "fired":
			o.Fired = r.string()
		case "held":
			for range r.list() {
				o.Held = append(o.Held, r.string())
			}
		case "success":
			o.Success = r.boolean()
		case "returned":
			o.Returned = int(r.integer())
		case "error":
			o.Error = r.failure()
		default:
			r.pass()
		}
	}
}

func (r *reader) failure() *Error {
	e := &Error{}
	for key := range r.object() {
		switch key {
		case "class":
			e.Class = ErrorClass(r.string())
		case "message":
			e.Message = string(r.quoted())
		default:
			r.pass()
		}
	}
	return e
}

func (r *reader) usage(u *Usage) {
	for key := range r.object() {
		switch key {
		case "calls":
			u.Calls = r.integer()
		case "input_tokens":
			u.InputTokens = r.integer()
		case "cached_tokens":
			u.CachedTokens = r.integer()
		case "output_tokens":
			u.OutputTokens = r.integer()
		case "reasoning_tokens":
			u.ReasoningTokens = r.integer()
		case "tool_calls":
			u.ToolCalls = r.integer()
		case "cost_pusd":
			u.Cost = Money(r.integer())
		case "unpriced":
			u.Unpriced = r.integer()
		case "estimated":
			u.Estimated = r.integer()
		default:
			r.pass()
		}
	}
}

func (r *reader) checkHead() CheckHead {
	var c CheckHead
	for key := range r.object() {
		switch key {
		case "name":
			c.Name = r.string()
		case "weight":
			c.Weight = r.number()
		default:
			r.pass()
		}
	}
	return c
}

func (r *reader) iteration(it *IterationSignals) {
	for key := range r.object() {
		switch key {
		case "n":
			it.N = int(r.integer())
		case "phase":
			it.Phase = r.string()
		case "strategy":
			it.Strategy = r.string()
		case "request":
			it.Request = string(r.quoted())
		case "output":
			it.Output = string(r.quoted())
		case "tools":
			it.Tools = string(r.quoted())
		case "tool_calls":
			it.ToolCalls = int(r.integer())
		case "evaluated":
			it.Evaluated = r.boolean()
		case "confidence":
			it.Confidence = r.number()
		case "passed":
			it.Passed = r.boolean()
		case "checks":
			it.Checks = Marks(r.string())
		case "fault":
			it.Fault = r.boolean()
		case "skipped":
			it.Skipped = r.boolean()
		case "cut":
			it.Cut = r.string()
		case "ended":
			it.Ended = r.string()
		case "error":
			it.Error = ErrorClass(r.string())
		case "error_hash":
			it.ErrorHash = r.string()
		case "calls":
			for i := range r.list() {
				it.Calls = append(it.Calls, CallSignals{})
				r.call(&it.Calls[i])
			}
		case "start_ns":
			it.Start = r.duration()
		case "end_ns":
			it.End = r.duration()
		case "working_ns":
			it.Working = r.duration()
		default:
			r.pass()
		}
	}
}

func (r *reader) call(c *CallSignals) {
	for key := range r.object() {
		switch key {
		case "role":
			c.Role = Role(r.string())
		case "model":
			c.Model = r.string()
		case "request":
			c.Request = string(r.quoted())
		case "usage":
			r.usage(&c.Usage)
		case "reserved":
			c.Reserved = &Usage{}
			r.usage(c.Reserved)
		case "start_ns":
			c.Start = r.duration()
		case "duration_ns":
			c.Duration = r.duration()
		case "error":
			c.Error = ErrorClass(r.string())
		default:
			r.pass()
		}
	}
}
