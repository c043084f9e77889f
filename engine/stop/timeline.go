package stop

import (
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// Stretch is a part of an iteration's as-if time: one call, or the tools that one
// step of a conversation uses. Stretches follow one another.
type Stretch struct {
	Start, End time.Duration // since the start of the run
	Waited     time.Duration // part of it
	Step       int           // from 1, that it is of; 0: of none
	Calls      int           // of the iteration, up to the end of the stretch
	ToolCalls  int
	Tools      bool // it is not a call
}

// Worked is the part of the stretch that was not waited.
func (l *Stretch) Worked() time.Duration { return l.End - l.Start - l.Waited }

// Timeline is an iteration as stretches, in their order. What delegates called is in the
// time of the tools. Where there are no steps, tools take no time of their own.
func Timeline(it *record.Iteration) []Stretch {
	stretches := make([]Stretch, 0, len(it.Calls)+len(it.Steps))
	var last Stretch // as far as the iteration is read
	for i := range it.Calls {
		c := &it.Calls[i]
		if c.Role == record.RoleDelegate {
			continue
		}
		if c.Conversation != "" { // in the time of its program
			if n := len(stretches); n > 0 {
				stretches[n-1].Calls, last.Calls = i+1, i+1
			}
			continue
		}
		next := Stretch{Start: c.Start, End: c.Start + c.Duration + c.Waited, Waited: c.Waited, Calls: i + 1, ToolCalls: last.ToolCalls}
		next.Step = last.Step
		if last.Step < len(it.Steps) && it.Steps[last.Step].Call == i+1 {
			next.Step++
		} else if c.Role != record.RoleUser {
			next.Step = 0
		}
		stretches = append(stretches, next)
		if next.Step > last.Step && next.Step > 0 {
			if tools, any := toolStretch(it, next); any {
				next = tools
				stretches = append(stretches, tools)
			}
		}
		last = next
	}
	return stretches
}

// toolStretch is the stretch of the tools of a step, after that of its call.
func toolStretch(it *record.Iteration, call Stretch) (stretch Stretch, any bool) {
	tools := it.Steps[call.Step-1].Tools
	from := call.ToolCalls
	used := it.ToolCalls[from:min(from+tools, len(it.ToolCalls))]
	if len(used) == 0 {
		return stretch, false
	}
	stretch = Stretch{Start: call.End, End: call.End, Step: call.Step, Calls: call.Calls, ToolCalls: from + len(used), Tools: true}
	for stretch.Calls < len(it.Calls) && it.Calls[stretch.Calls].Role == record.RoleDelegate {
		stretch.Calls++
	}
	stretch.last(used)
	return stretch, true
}

// last makes the stretch as long as the longest of its tools.
func (l *Stretch) last(used []record.ToolCall) {
	l.End, l.Waited = l.Start, 0
	waited := make([]time.Duration, len(used))
	for i := range used {
		c := &used[i]
		waited[i] = c.Waited + waitedBefore(used[:i], waited, c.Start, l.Start)
		if end := c.Start + c.Duration; end > l.End {
			l.End, l.Waited = end, waited[i]
		}
	}
}

// until makes the stretch as long as those of its tools that had begun at a time, and
// gives that time. Where only working time counts, what they wait puts it off; what
// tools waited that come later does not.
func (l *Stretch) until(used []record.ToolCall, at time.Duration, working bool) time.Duration {
	starts := make([]time.Duration, len(used))
	for i := range used {
		starts[i] = used[i].Start
	}
	slices.Sort(starts)
	end := at
	for i, start := range starts {
		if i > 0 && start >= end {
			break
		}
		l.last(BegunTools(used, start))
		if working {
			end = max(end, at+l.Waited)
		}
	}
	return end
}

// waitedBefore is what was waited before a tool that follows another one.
func waitedBefore(earlier []record.ToolCall, waited []time.Duration, start, began time.Duration) time.Duration {
	for i, c := range slices.Backward(earlier) {
		if start > began && c.Start+c.Duration == start {
			return waited[i]
		}
	}
	return 0
}

// Made is what was made of an iteration.
type Made struct {
	End     time.Duration // since the start of the run
	Waited  time.Duration // within the iteration
	Working time.Duration
}

// Clip drops of an iteration what had not begun when a timeout cancelled it. What
// was in flight counts whole. Waited is what the run waited before the iteration.
func Clip(r *Rules, it *record.Iteration, waited time.Duration) Made {
	m := Made{End: r.cancelAt}
	if r.working {
		m.End += waited
	}
	stretches, kept := Timeline(it), 0
	for i := range stretches {
		if i > 0 && stretches[i].Start >= m.End {
			break
		}
		kept = i + 1
		switch l := &stretches[i]; {
		case l.Tools:
			m.End = l.until(it.ToolCalls[stretches[i-1].ToolCalls:l.ToolCalls], m.End, r.working)
		case r.working:
			m.End += l.Waited
		}
		m.add(&stretches[i])
	}
	clip(it, stretches, kept)
	if n := len(it.Steps); kept > 0 && stretches[kept-1].Step == n && n > 0 && stretches[kept-1].End > m.End && !answered(it) {
		it.Steps[n-1].User = ""
	}
	dropTools(it, m.End)
	return m
}

// answered says that the last call is the user's.
func answered(it *record.Iteration) bool {
	n := len(it.Calls)
	return n > 0 && it.Calls[n-1].Role == record.RoleUser
}

// ClipAfter drops what comes after a step, from 1.
func ClipAfter(it *record.Iteration, step int) (m Made) {
	stretches, kept := Timeline(it), 0
	for kept < len(stretches) && stretches[kept].Step > 0 && stretches[kept].Step <= step {
		m.add(&stretches[kept])
		m.End = stretches[kept].End
		kept++
	}
	clip(it, stretches, kept)
	return m
}

// ClipBefore drops what comes from a call on, of which so many stand before it.
func ClipBefore(it *record.Iteration, calls int) (m Made) {
	stretches, kept := Timeline(it), 0
	for kept < len(stretches) && stretches[kept].Calls <= calls {
		m.add(&stretches[kept])
		m.End = stretches[kept].End
		kept++
	}
	clip(it, stretches, kept)
	return m
}

func (m *Made) add(l *Stretch) {
	m.Waited += l.Waited
	m.Working += l.Worked()
}

// clip drops what comes after so many stretches. What an agent said that did not come
// to the end of its conversation is not its output.
func clip(it *record.Iteration, stretches []Stretch, kept int) {
	if len(it.Steps) == 0 || it.OfProgram() { // what a program did stands in its time
		calls := 0
		if kept > 0 {
			calls = stretches[kept-1].Calls
		}
		it.Calls = it.Calls[:calls]
		return
	}
	it.Output, it.NotUTF8, it.OutputB64 = nil, false, nil
	var last Stretch
	if kept > 0 {
		last = stretches[kept-1]
	}
	it.Calls, it.ToolCalls = it.Calls[:last.Calls], it.ToolCalls[:last.ToolCalls]
	if kept > 0 && last.Step == 0 {
		it.Steps = slices.Clone(it.Steps) // a call after all of them
		return
	}
	it.Steps = slices.Clone(it.Steps[:last.Step])
	if kept < len(stretches) && last.Step > 0 && stretches[kept].Step == last.Step {
		of := &it.Steps[last.Step-1]
		of.User = ""
		if !last.Tools && stretches[kept].Tools {
			of.Tools = 0
		}
	}
}

// dropTools drops the tools that had not begun before a time, and what delegates
// called from then on. Where there are no steps, tools take no time: one that was
// used at that very moment was used before the call that begins then.
func dropTools(it *record.Iteration, at time.Duration) {
	n := len(it.Steps)
	switch {
	case it.OfProgram():
		return
	case n == 0:
		it.ToolCalls = BegunTools(it.ToolCalls, at)
		return
	}
	before := len(it.ToolCalls)
	it.ToolCalls = slices.DeleteFunc(slices.Clone(it.ToolCalls), func(c record.ToolCall) bool { return c.Start >= at })
	it.Steps[n-1].Tools -= before - len(it.ToolCalls)
	it.Calls = slices.DeleteFunc(slices.Clone(it.Calls), func(c record.Call) bool {
		return c.Role == record.RoleDelegate && c.Start >= at
	})
}
