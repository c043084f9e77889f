package replay

import (
	"encoding/binary"
	"math"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Recorded is a run and its task. One that is packed has no iterations in its Run,
// but in a tenth of the memory: Whole has them.
type Recorded struct {
	Run  *record.Run
	Task *spec.Task

	packed string   // the iterations, as [coder.iteration] writes them; "" where Run has them
	made   int32    // how many they are
	words  []string // those so far when it was packed; nil: it is not
}

// Iterations is how many the run has.
func (r *Recorded) Iterations() int {
	if r.words != nil {
		return int(r.made)
	}
	return len(r.Run.Iterations)
}

// Whole is the run with its iterations. Without room, one that is packed is made
// anew; with it, its iterations are valid until the room is used again.
func (r *Recorded) Whole(room *Room) *record.Run {
	if r.words == nil {
		return r.Run
	}
	if room == nil {
		room = &Room{}
	}
	room.free()
	room.run = *r.Run
	room.run.Iterations = room.iterations.take(int(r.made))
	c := coder{all: r.words, in: r.packed, room: room}
	for i := range room.run.Iterations {
		c.iteration(&room.run.Iterations[i])
	}
	return &room.run
}

// Words are those that the packed runs of a recording have in common. Packing adds
// to them, and changes nothing of runs that are packed already.
type Words struct {
	all  []string
	at   map[string]int
	out  []byte
	room Room
}

// Pack packs a run of which only signals are known.
func (w *Words) Pack(s *record.Signals) Recorded {
	run := &record.Run{
		Version: s.Version, ID: s.ID, Configuration: w.Word(s.Configuration), Task: w.Word(s.Task), Trial: s.Trial, Cluster: w.Word(s.Cluster), Group: w.Word(s.Group),
		Loop: w.Word(s.Loop), Outcome: s.Outcome, Usage: s.Usage, Judging: s.Judging, User: s.User, Elapsed: s.Elapsed, Untimed: s.Untimed, Next: s.Next, Simulated: s.Simulated,
	}
	c := coder{words: w, writing: true, out: w.out[:0], room: &w.room}
	for i := range s.Iterations {
		w.room.free()
		c.iteration(new(iterationOf(&w.room, s, &s.Iterations[i])))
	}
	w.out = c.out
	return Recorded{Run: run, packed: string(c.out), made: int32(len(s.Iterations)), words: w.all}
}

// Word is a word that is kept once.
func (w *Words) Word(text string) string { return w.all[w.place(text)] }

func (w *Words) place(text string) int {
	at, known := w.at[text]
	if !known {
		if w.at == nil {
			w.at = map[string]int{}
		}
		at = len(w.all)
		w.all, w.at[text] = append(w.all, text), at
	}
	return at
}

// Room is where packed runs are unpacked, and runs are walked, one after the other.
type Room struct {
	walk  walk
	made  []record.Iteration
	spent []spent

	run         record.Run
	iterations  shelf[record.Iteration]
	calls       shelf[record.Call]
	usages      shelf[record.Usage]
	evaluations shelf[record.Evaluation]
	checks      shelf[record.Check]
	toolCalls   shelf[record.ToolCall]
	steps       shelf[record.Step]
	outputs     shelf[byte]
}

// free takes back what runs and iterations consist of.
func (r *Room) free() {
	r.iterations.free()
	r.calls.free()
	r.usages.free()
	r.evaluations.free()
	r.checks.free()
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

// coder writes values to bytes, or reads them from there: what they consist of is
// told once for both. It knows what iterations have of which only signals are known.
type coder struct {
	words   *Words // of one that writes
	all     []string
	writing bool
	out     []byte
	in      string
	room    *Room
}

func (c *coder) iteration(it *record.Iteration) {
	integer(c, &it.N)
	integer(c, &it.Start)
	integer(c, &it.End)
	integer(c, &it.Working)
	c.word(&it.Phase)
	c.word(&it.Strategy)
	c.word(&it.Cut)
	c.text(&it.Request)
	n := len(it.Output)
	if integer(c, &n); c.writing {
		c.out = append(c.out, it.Output...)
	} else {
		it.Output = c.room.outputs.take(n)
		c.in = c.in[copy(it.Output, c.in):]
	}
	c.flag(&it.Skipped)
	c.flag(&it.Untimed)
	if given(c, &it.Evaluation, &c.room.evaluations) {
		c.evaluation(it.Evaluation)
	}
	if given(c, &it.Workspace, nil) {
		c.text(&it.Workspace.Tree)
	}
	if given(c, &it.Ended, nil) {
		c.word(&it.Ended.Reason)
		c.word(&it.Ended.Tool)
	}
	if given(c, &it.Error, nil) {
		it.Fail(it.Error)
		c.word((*string)(&it.Error.Class))
		c.text(&it.Error.Message)
	}
	if listed(c, &it.ToolCalls, &c.room.toolCalls); len(it.ToolCalls) > 0 {
		c.text(&it.ToolCalls[0].Tool) // it stands for the set of all
	}
	listed(c, &it.Steps, &c.room.steps)
	listed(c, &it.Calls, &c.room.calls)
	for i := range it.Calls {
		c.call(&it.Calls[i], it.Request)
	}
}

func (c *coder) evaluation(e *record.Evaluation) {
	c.float(&e.Confidence)
	c.flag(&e.Passed)
	listed(c, &e.Checks, &c.room.checks)
	for i := range e.Checks {
		c.word(&e.Checks[i].Name)
		c.float(&e.Checks[i].Weight)
		c.flag(&e.Checks[i].Passed)
	}
}

func (c *coder) call(call *record.Call, request string) {
	c.word((*string)(&call.Role))
	c.word(&call.Model)
	same := call.Request == request
	if c.flag(&same); same {
		call.Request = request
	} else {
		c.text(&call.Request)
	}
	integer(c, &call.Start)
	integer(c, &call.Duration)
	integer(c, &call.Waited)
	c.usage(&call.Usage)
	if given(c, &call.Reserved, &c.room.usages) {
		c.usage(call.Reserved)
	}
	if given(c, &call.Charged, &c.room.usages) {
		c.usage(call.Charged)
	}
	if given(c, &call.Error, nil) {
		c.word((*string)(&call.Error.Class))
	}
	program := call.Conversation != "" || call.Kind != "" || call.Step != 0 || call.Arrived != 0 || call.FirstByte != 0 || call.Ended != 0
	if c.flag(&program); program {
		c.word(&call.Conversation)
		c.word((*string)(&call.Kind))
		integer(c, &call.Step)
		integer(c, &call.Arrived)
		integer(c, &call.FirstByte)
		integer(c, &call.Ended)
	}
}

func (c *coder) usage(u *record.Usage) {
	integer(c, &u.Calls)
	integer(c, &u.InputTokens)
	integer(c, &u.CachedTokens)
	integer(c, &u.CacheWriteTokens)
	integer(c, &u.CacheWrite1hTokens)
	integer(c, &u.OutputTokens)
	integer(c, &u.ReasoningTokens)
	integer(c, &u.ToolCalls)
	integer(c, &u.Cost)
	integer(c, &u.Unpriced)
	integer(c, &u.Estimated)
	integer(c, &u.Uncounted)
	integer(c, &u.Unreported)
	integer(c, &u.Cut)
	integer(c, &u.OpenTokens)
	integer(c, &u.OpenCost)
}

// given reports whether there is a value, and makes one that is read: on the shelf, or
// where something may keep it.
func given[T any](c *coder, v **T, shelf *shelf[T]) bool {
	is := *v != nil
	if c.flag(&is); is && !c.writing {
		if shelf == nil {
			*v = new(T)
		} else {
			*v = &shelf.take(1)[0]
		}
	}
	return is
}

// listed makes a list that is read, of so many values.
func listed[T any](c *coder, list *[]T, shelf *shelf[T]) {
	n := len(*list)
	if integer(c, &n); !c.writing {
		*list = shelf.take(n)
	}
}

func integer[T ~int | ~int64](c *coder, v *T) {
	if c.writing {
		c.out = binary.AppendVarint(c.out, int64(*v))
		return
	}
	var bits uint64
	for shift := 0; ; shift += 7 {
		b := c.in[0]
		c.in = c.in[1:]
		if bits |= uint64(b&0x7f) << shift; b < 0x80 {
			break
		}
	}
	*v = T(bits>>1) ^ -T(bits&1)
}

func (c *coder) flag(v *bool) {
	if !c.writing {
		*v = c.in[0] == 1
		c.in = c.in[1:]
		return
	}
	n := byte(0)
	if *v {
		n = 1
	}
	c.out = append(c.out, n)
}

// float takes one byte for 0 and 1.
func (c *coder) float(v *float64) {
	number := math.Float64bits(*v)
	whole := number == 0 || *v == 1
	if c.flag(&whole); whole {
		one := *v == 1
		if c.flag(&one); !c.writing && one {
			*v = 1
		}
		return
	}
	if c.writing {
		c.out = binary.LittleEndian.AppendUint64(c.out, number)
		return
	}
	number = 0
	for i := range 8 {
		number |= uint64(c.in[i]) << (8 * i)
	}
	*v, c.in = math.Float64frombits(number), c.in[8:]
}

// text is one of which there are few that are equal: it is read without a copy.
func (c *coder) text(v *string) {
	n := len(*v)
	if integer(c, &n); c.writing {
		c.out = append(c.out, *v...)
	} else {
		*v, c.in = c.in[:n], c.in[n:]
	}
}

func (c *coder) word(v *string) {
	if c.writing {
		integer(c, new(c.words.place(*v)))
		return
	}
	at := 0
	integer(c, &at)
	*v = c.all[at]
}
