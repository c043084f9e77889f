package record

import "time"

// readSignals reads what writer.signals wrote.
func (r *reader) readSignals(text []byte) (*Signals, error) {
	r.begin(text)
	s := &Signals{}
	r.signals(s)
	return s, r.end()
}

// readHead reads the front part of a record or of signals and leaves the rest:
// version, id, bytes and status. The result is valid until the next one.
func (r *reader) readHead(text []byte) (*Signals, error) {
	r.begin(text)
	r.head = Signals{}
	s := &r.head
	for key := range r.object() {
		if r.ofHead(key, s) {
			continue
		}
		switch string(key) {
		case "outcome":
			s.Outcome.Status = r.status()
			return s, r.err
		default:
			r.pass()
		}
	}
	r.fail()
	return nil, r.err
}

func (r *reader) signals(s *Signals) {
	for key := range r.object() {
		if r.ofHead(key, s) || r.ofRun(key, s) {
			continue
		}
		switch string(key) {
		case "outcome":
			r.outcome(&s.Outcome)
		case "next":
			s.Next = r.nextRequest()
		case "checks":
			for range r.list() {
				s.Checks = append(s.Checks, r.checkHead())
			}
		case "iterations":
			s.Iterations = listed(r, &r.iterations, r.iteration)
		default:
			r.pass()
		}
	}
}

// ofHead reads a member that records and signals begin with, if it is one.
func (r *reader) ofHead(key []byte, s *Signals) bool {
	switch string(key) {
	case "v":
		s.Version = int(r.integer())
	case "run":
		s.ID = r.string()
	case "bytes":
		s.Bytes = r.integer()
	default:
		return false
	}
	return true
}

// ofRun reads a member that signals and the lines of baselines have alike, if it
// is one.
func (r *reader) ofRun(key []byte, s *Signals) bool {
	switch string(key) {
	case "configuration":
		s.Configuration = r.name()
	case "task":
		s.Task = r.string()
	case "trial":
		s.Trial = int(r.integer())
	case "cluster":
		s.Cluster = r.name()
	case "group":
		s.Group = r.name()
	case "loop":
		s.Loop = r.name()
	case "usage":
		r.usage(&s.Usage)
	case "judging":
		r.usage(&s.Judging)
	case "user":
		r.usage(&s.User)
	case "elapsed_ns":
		s.Elapsed = r.duration()
	case "untimed":
		s.Untimed = r.boolean()
	case "simulated":
		s.Simulated = r.boolean()
	default:
		return false
	}
	return true
}

// listed reads a list into memory of its own; kept is room that is used again.
func listed[E any](r *reader, kept *[]E, element func() E) []E {
	*kept = (*kept)[:0]
	for range r.list() {
		*kept = append(*kept, element())
	}
	return cloned(*kept)
}

func (r *reader) duration() time.Duration { return time.Duration(r.integer()) }

func (r *reader) outcome(o *Outcome) {
	for key := range r.object() {
		if r.ofOutcome(key, o) {
			continue
		}
		switch string(key) {
		case "held":
			for range r.list() {
				o.Held = append(o.Held, r.name())
			}
		case "used":
			o.Used = r.number()
		case "limit":
			o.Limit = r.number()
		case "error":
			o.Error = r.failure()
		default:
			r.pass()
		}
	}
}

// ofOutcome reads a member that outcomes and the lines of baselines have alike,
// if it is one.
func (r *reader) ofOutcome(key []byte, o *Outcome) bool {
	switch string(key) {
	case "status":
		o.Status = Status(r.name())
	case "reason":
		o.Reason = Reason(r.name())
	case "class":
		o.Class = Class(r.name())
	case "fired":
		o.Fired = r.name()
	case "success":
		o.Success = r.boolean()
	case "returned":
		o.Returned = int(r.integer())
	default:
		return false
	}
	return true
}

func (r *reader) failure() *Error {
	e := &Error{}
	for key := range r.object() {
		switch string(key) {
		case "class":
			e.Class = ErrorClass(r.name())
		case "message":
			e.Message = r.string()
		default:
			r.pass()
		}
	}
	return e
}

func (r *reader) nextRequest() *Next {
	n := &Next{}
	for key := range r.object() {
		switch string(key) {
		case "role":
			n.Role = Role(r.name())
		case "phase":
			n.Phase = r.name()
		case "strategy":
			n.Strategy = r.name()
		case "request":
			n.Request = r.string()
		case "reserved":
			n.Reserved = &Usage{}
			r.usage(n.Reserved)
		default:
			r.pass()
		}
	}
	return n
}

func (r *reader) usage(u *Usage) {
	for key := range r.object() {
		switch string(key) {
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
		case "uncounted":
			u.Uncounted = r.integer()
		case "unreported":
			u.Unreported = r.integer()
		default:
			r.pass()
		}
	}
}

func (r *reader) checkHead() CheckHead {
	var c CheckHead
	for key := range r.object() {
		switch string(key) {
		case "name":
			c.Name = r.name()
		case "weight":
			c.Weight = r.number()
		default:
			r.pass()
		}
	}
	return c
}

// status reads an outcome up to its status, which is its first member.
func (r *reader) status() Status {
	r.expect('{')
	if string(r.quoted()) != "status" {
		r.fail()
	}
	r.expect(':')
	return Status(r.name())
}

// cloned has the length and capacity of the list; it is nil for an empty one.
func cloned[E any](list []E) []E {
	if len(list) == 0 {
		return nil
	}
	own := make([]E, len(list))
	copy(own, list)
	return own
}

func (r *reader) iteration() IterationSignals {
	var it IterationSignals
	for key := range r.object() {
		if r.ofEvaluation(key, &it) || r.ofEnd(key, &it) {
			continue
		}
		switch string(key) {
		case "n":
			it.N = int(r.integer())
		case "phase":
			it.Phase = r.name()
		case "strategy":
			it.Strategy = r.name()
		case "request":
			it.Request = r.string()
		case "output":
			it.Output = r.string()
		case "tools":
			it.Tools = r.string()
		case "tool_calls":
			it.ToolCalls = int(r.integer())
		case "steps":
			it.Steps = int(r.integer())
		case "calls":
			it.Calls = listed(r, &r.calls, r.call)
		default:
			r.pass()
		}
	}
	return it
}

// ofEvaluation reads how good an iteration is, if the member says it.
func (r *reader) ofEvaluation(key []byte, it *IterationSignals) bool {
	switch string(key) {
	case "evaluated":
		it.Evaluated = r.boolean()
	case "confidence":
		it.Confidence = r.number()
	case "passed":
		it.Passed = r.boolean()
	case "checks":
		it.Checks = Marks(r.name())
	case "fault":
		it.Fault = r.boolean()
	case "skipped":
		it.Skipped = r.boolean()
	default:
		return false
	}
	return true
}

// ofEnd reads how an iteration ended, and when, if the member says it.
func (r *reader) ofEnd(key []byte, it *IterationSignals) bool {
	switch string(key) {
	case "cut":
		it.Cut = r.name()
	case "ended":
		it.Ended = r.name()
	case "ended_by":
		it.EndedBy = r.name()
	case "error":
		it.Error = ErrorClass(r.name())
	case "error_hash":
		it.ErrorHash = r.name()
	case "start_ns":
		it.Start = r.duration()
	case "end_ns":
		it.End = r.duration()
	case "untimed":
		it.Untimed = r.boolean()
	case "working_ns":
		it.Working = r.duration()
	default:
		return false
	}
	return true
}

func (r *reader) call() CallSignals {
	var c CallSignals
	for key := range r.object() {
		switch string(key) {
		case "role":
			c.Role = Role(r.name())
		case "model":
			c.Model = r.name()
		case "answered":
			c.Answered = r.string()
		case "request":
			c.Request = r.string()
		case "usage":
			r.usage(&c.Usage)
		case "reserved":
			c.Reserved = &Usage{}
			r.usage(c.Reserved)
		case "charged":
			c.Charged = &Usage{}
			r.usage(c.Charged)
		case "start_ns":
			c.Start = r.duration()
		case "duration_ns":
			c.Duration = r.duration()
		case "waited_ns":
			c.Waited = r.duration()
		case "error":
			c.Error = ErrorClass(r.name())
		default:
			r.pass()
		}
	}
	return c
}
