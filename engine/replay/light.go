package replay

import (
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Recorded is a run and its task. One that is light has no iterations in its Run, but signals, which take less memory: Whole has
// them.
type Recorded struct {
	Run  *record.Run
	Task *spec.Task

	light *record.Signals // nil: Run is whole
}

// Light is a run of which only signals are known.
func Light(s *record.Signals) Recorded {
	return Recorded{light: s, Run: &record.Run{
		Version: s.Version, ID: s.ID, Configuration: s.Configuration, Task: s.Task, Trial: s.Trial, Cluster: s.Cluster, Group: s.Group,
		Loop: s.Loop, Outcome: s.Outcome, Usage: s.Usage, Judging: s.Judging, User: s.User, Elapsed: s.Elapsed, Untimed: s.Untimed, Next: s.Next, Simulated: s.Simulated,
	}}
}

// Iterations is how many the run has.
func (r *Recorded) Iterations() int {
	if r.light != nil {
		return len(r.light.Iterations)
	}
	return len(r.Run.Iterations)
}

// Whole is the run with its iterations. Those of a light one are made anew, without a room, or are valid until the room is used
// again.
func (r *Recorded) Whole(room *Room) *record.Run {
	if r.light == nil {
		return r.Run
	}
	if room == nil {
		room = &Room{}
	}
	room.free()
	room.run = *r.Run
	room.run.Iterations = room.iterations.take(len(r.light.Iterations))
	for i := range room.run.Iterations {
		room.run.Iterations[i] = iterationOf(room, r.light, &r.light.Iterations[i])
	}
	return &room.run
}

// Room is memory in which runs are made whole and walked, one after the other.
type Room struct {
	walk  walk
	made  []record.Iteration
	spent []spent

	run         record.Run
	iterations  shelf[record.Iteration]
	calls       shelf[record.Call]
	evaluations shelf[record.Evaluation]
	toolCalls   shelf[record.ToolCall]
	steps       shelf[record.Step]
	outputs     shelf[byte]
}

// free takes back what runs and iterations consist of.
func (r *Room) free() {
	r.iterations.free()
	r.calls.free()
	r.evaluations.free()
	r.toolCalls.free()
	r.steps.free()
	r.outputs.free()
}

// shelf is memory that is used again.
type shelf[T any] struct {
	all  []T
	used int
}

func (s *shelf[T]) free() { s.used = 0 }

// take gives so many zero values; nil for none.
func (s *shelf[T]) take(n int) []T {
	if n == 0 {
		return nil
	}
	if s.used+n > len(s.all) {
		s.all, s.used = make([]T, max(n, 2*len(s.all))), 0 // what was taken stays where it is
	}
	taken := s.all[s.used : s.used+n : s.used+n]
	s.used += n
	clear(taken)
	return taken
}
