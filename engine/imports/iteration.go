package imports

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// begun is where an iteration begins and ends in the entries of a run.
type begun struct {
	entry any
	after []any
}

// parts divides the entries of a run into iterations.
func parts(m *spec.ImportedIterations, s *scope) []begun {
	entries := list(m.Of, s)
	found := make([]begun, 0, len(entries))
	if m.ID != nil {
		return sameID(m.ID, entries, found, s)
	}
	if m.Begin == nil {
		for _, entry := range entries {
			found = append(found, begun{entry: entry})
		}
		return found
	}
	at := -1 // where the newest begins
	end := func(at, until int) {
		if at >= 0 {
			found[len(found)-1].after = entries[at+1 : until]
		}
	}
	for i, entry := range entries {
		s.entry, s.i, s.after = entry, i, entries[i+1:]
		if begins, _ := truth(m.Begin, s); begins {
			end(at, i)
			at = i
			found = append(found, begun{entry: entry})
		}
	}
	end(at, len(entries))
	return found
}

// sameID makes an iteration of the entries of each id. Those without one belong to the
// iteration of the entry before them.
func sameID(id *spec.Expr, entries []any, found []begun, s *scope) []begun {
	places, last := map[string]int{}, -1
	for i, entry := range entries {
		s.entry, s.i, s.after = entry, i, entries[i+1:]
		key := string(encoded(value(id, s), s))
		at, known := places[key]
		switch {
		case key == "":
			at = last
		case !known:
			at = len(found)
			places[key], last, found = at, at, append(found, begun{entry: entry})
			continue
		}
		if last = at; at >= 0 {
			found[at].after = append(found[at].after, entry)
		}
	}
	return found
}

// iteration makes an iteration of the entry that the scope is at.
func (b *builder) iteration(s *scope, before time.Duration) record.Iteration {
	m := &b.mapping.Iterations
	it := record.Iteration{N: s.i + 1, Start: before, Output: encoded(value(m.Output, s), s), Thinking: text(m.Thinking, s)}
	it.End, it.Untimed = b.ending(s, before)
	it.Working = it.End - it.Start
	it.Evaluation = evaluation(m, s)
	failed := failure(m.Error, s)
	if it.Fail(failed); failed != nil {
		it.Evaluation = nil
	}
	it.ToolCalls = b.toolCalls(m, s)
	it.Extra = extra(m.Extra, s)
	for i := range it.ToolCalls {
		it.ToolCalls[i].Start = it.End
	}
	used := b.inside.read(m.Usage, m.CostUSD, s)
	b.price(m.Model, &used, s)
	if used.calls.known && used.calls.n == 0 && used.input.n == 0 && used.output.n == 0 && used.cost.n == 0 {
		return it
	}
	it.Calls = []record.Call{{
		Role: record.RoleAgent, Model: b.configuration, Usage: used.usage(used.callsOr(1)), Start: it.Start, Duration: it.Working,
	}}
	return it
}

// price puts into what calls used what they cost by the prices, where the log has tokens and no cost.
func (b *builder) price(model *spec.Expr, used *spent, s *scope) {
	calls := used.callsOr(1)
	if b.Prices == nil || used.cost.known || calls == 0 || s.err != nil {
		return
	}
	u := used.usage(calls)
	if !u.TokensTold() {
		return
	}
	name := cmp.Or(text(model, s), b.under.named(b.configuration))
	if known := b.Prices(name, &u); !known && !slices.Contains(b.notes.Unpriced, name) {
		b.notes.Unpriced = append(b.notes.Unpriced, name)
	}
	used.cost = amount{int64(u.Cost), u.Priced()}
}

// ending is the time at which an iteration ended; where that is unknown, it is that
// of the iteration before. Of durations an unknown one makes all later ends unknown.
// Elapsed time that falls was measured anew, after a restart.
func (b *builder) ending(s *scope, before time.Duration) (end time.Duration, untimed bool) {
	m := &b.mapping.Iterations
	if m.At != nil {
		at := moment(m.At, s)
		if at.IsZero() || b.started.IsZero() || at.Sub(b.started) < before {
			return before, true
		}
		return at.Sub(b.started), false
	}
	if m.Elapsed == nil {
		took, known := span(m.Duration, s)
		b.lost = b.lost || !known
		return before + took, b.lost
	}
	elapsed, known := span(m.Elapsed, s)
	if !known {
		return before, true
	}
	if elapsed < b.elapsed {
		b.restarts++
		b.elapsedBase = before
	}
	b.elapsed = elapsed
	return b.elapsedBase + elapsed, false
}

// evaluation is nil where nothing was evaluated.
func evaluation(m *spec.ImportedIterations, s *scope) *record.Evaluation {
	confidence, evaluated := number(m.Confidence, s)
	passed, known := truth(m.Passed, s)
	if !evaluated && (m.Confidence != nil || !known) {
		return nil
	}
	if m.Confidence == nil && passed {
		confidence = 1
	}
	return &record.Evaluation{Confidence: confidence, Passed: passed, Feedback: text(m.Feedback, s)}
}

// failure is an error class, or an object with a class and a message. A text that
// is not a class is the message of a program's error.
func failure(e *spec.Expr, s *scope) *record.Error {
	v := value(e, s)
	if v == nil {
		return nil
	}
	class, message := v, any("")
	if object, ok := v.(*expr.Object); ok {
		class, _ = object.Get("class")
		message, _ = object.Get("message")
	}
	name, _ := class.(string)
	said, _ := message.(string)
	switch {
	case name == "":
		s.fail(e, "want an error class, or {class, message}, got %s", describe(v))
		return nil
	case slices.Contains(record.ErrorClasses, record.ErrorClass(name)):
		return &record.Error{Class: record.ErrorClass(name), Message: said}
	}
	return &record.Error{Class: record.Program, Message: cmp.Or(said, name)}
}

// toolCalls are the tool calls with their results. There may be fewer results than
// calls; of those beyond the calls, or that name a call that is not there, there is a note.
func (b *builder) toolCalls(m *spec.ImportedIterations, s *scope) []record.ToolCall {
	called, results := list(m.ToolCalls, s), list(m.Observations, s)
	if len(called) == 0 && len(results) == 0 {
		return nil
	}
	calls := make([]record.ToolCall, len(called))
	for i, one := range called {
		object, ok := one.(*expr.Object)
		if !ok {
			s.fail(m.ToolCalls, "want {name, arguments}, got %s", describe(one))
			return nil
		}
		name, _ := object.Get("name")
		if calls[i].Tool, _ = name.(string); calls[i].Tool == "" {
			s.fail(m.ToolCalls, "a tool call without a name")
		}
		id, _ := object.Get("id")
		calls[i].ID, _ = id.(string)
		given, _ := object.Get("arguments")
		if text, ok := given.(string); ok { // many logs hold them as text
			if parsed, err := expr.ParseJSON([]byte(text)); err == nil {
				if object, ok := parsed.(*expr.Object); ok {
					given = object
				}
			}
		}
		calls[i].Arguments = encoded(given, s)
	}
	answered := make([]bool, len(calls))
	for i, result := range results {
		at := i
		id, value, byID := byCall(result)
		if byID {
			at = slices.IndexFunc(calls, func(c record.ToolCall) bool { return id == nil || c.ID == id })
			for at >= 0 && at < len(calls) && (answered[at] || id != nil && calls[at].ID != id) {
				at++
			}
			result = value
		}
		named, _ := id.(string)
		switch earlier := b.open[named]; {
		case at >= 0 && at < len(calls):
			calls[at].Result, answered[at] = encoded(result, s), true
		case earlier != nil: // a subagent worked in between
			earlier.Result = encoded(result, s)
			delete(b.open, named)
		case id != nil:
			b.orphans++
		}
	}
	if len(calls) == 0 {
		return nil
	}
	for i := range calls {
		if calls[i].ID != "" && !answered[i] {
			b.open[calls[i].ID] = &calls[i]
		}
	}
	return calls
}

// byCall is a result with the id of its call, {call_id, result}; null: that of the next call.
func byCall(v any) (id, result any, ok bool) {
	object, _ := v.(*expr.Object)
	if object.Len() != 2 {
		return nil, nil, false
	}
	id, named := object.Get("call_id")
	result, told := object.Get("result")
	return id, result, named && told
}

// identities distinguish runs. Of each task and of each run 16 bytes are kept.
type identities struct {
	inputs map[digest]digest // of a task's input, by its id
	runs   map[digest]bool
	trials map[digest]int    // the highest, by configuration and task
	names  map[digest]string // of the clusters and the groups of tasks, by kind and task
	notes  *Notes
}

type digest [16]byte

func digestOf(parts ...string) digest {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return digest(h.Sum(nil)[:16])
}

// task gives a task its id: the one that the mapping gives, unless a task with another
// input has it; then the name of the file comes before it, and
// where that is not enough, its line. New reports whether it is the task's first run.
func (ids *identities) task(id string, input []byte, file string, line int) (own string, isNew bool) {
	sum := digestOf(string(input))
	base := strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), path.Ext(file))
	for n, own := range []string{id, base + ":" + id, fmt.Sprintf("%s:%d:%s", file, line, id)} {
		known, taken := ids.inputs[digestOf(own)]
		if taken && known != sum && n < 2 {
			continue
		}
		if n > 0 {
			ids.notes.Renamed++
		}
		ids.inputs[digestOf(own)] = sum
		return own, !taken
	}
	return id, false
}

// trial gives a run its trial: the one that the mapping gives; 0 or one that exists
// already becomes the next.
func (ids *identities) trial(configuration, task string, declared int) int {
	of := digestOf(configuration, task)
	key := func(trial int) digest { return digestOf(configuration, task, fmt.Sprint(trial)) }
	trial := declared
	if declared > 0 && ids.runs[key(declared)] {
		ids.notes.Retried++
		trial = 0
	}
	if trial == 0 {
		trial = ids.trials[of] + 1
	}
	ids.runs[key(trial)] = true
	ids.trials[of] = max(ids.trials[of], trial)
	return trial
}

// named is the cluster or the group of a task, as the kind says: what its first
// run gives.
func (ids *identities) named(kind, task string, isNew bool, given string) string {
	known := ids.names[digestOf(kind, task)]
	switch {
	case isNew && given != "":
		ids.names[digestOf(kind, task)] = given
		return given
	case !isNew && given != known:
		ids.notes.Regrouped++
	}
	return known
}

// amount is a number that may be unknown.
type amount struct {
	n     int64
	known bool
}

// spent is what a mapping knows of usage.
type spent struct {
	calls, input, output, cached, written, written1h, reasoning, total amount

	lacks bool   // tokens are declared, and unknown
	cost  amount // in 1e-12 USD
}

// meter reads usage, and turns cumulative counters into what was added.
type meter struct {
	mapping  *spec.Import
	last     map[string]int64 // of the cumulative counters
	restarts *int             // how often a counter fell
}

// begin forgets the counters that begin anew with a run, or with a file.
func (m *meter) begin(with spec.Counting) {
	for _, counter := range m.mapping.Cumulative {
		if counter.Value == with {
			delete(m.last, counter.Key)
		}
	}
}

// added is what a cumulative counter was raised by. One that fell was
// restarted: all of it was added since.
func (m *meter) added(counter string, a amount) amount {
	if _, cumulative := m.mapping.Cumulative.Get(counter); !cumulative || !a.known {
		return a
	}
	before := m.last[counter]
	m.last[counter] = a.n
	if a.n < before {
		*m.restarts++
		return a
	}
	return amount{a.n - before, true}
}

func (m *meter) read(u *spec.ImportedUsage, cost *spec.Expr, s *scope) spent {
	used := spent{cost: m.dollars(cost, s)}
	if u == nil {
		return used
	}
	for _, part := range []struct {
		counter string
		e       *spec.Expr
		into    *amount
	}{
		{"calls", u.Calls, &used.calls}, {"input_tokens", u.InputTokens, &used.input}, {"output_tokens", u.OutputTokens, &used.output},
		{"cached_tokens", u.CachedTokens, &used.cached}, {"cache_write_tokens", u.CacheWriteTokens, &used.written},
		{"cache_write_1h_tokens", u.CacheWrite1hTokens, &used.written1h}, {"reasoning_tokens", u.ReasoningTokens, &used.reasoning},
		{"total_tokens", u.TotalTokens, &used.total},
	} {
		n, known := whole(part.e, s)
		*part.into = m.added(part.counter, amount{n, known})
	}
	used.lacks = u.InputTokens != nil && !used.input.known || u.OutputTokens != nil && !used.output.known
	return used
}

func (m *meter) dollars(e *spec.Expr, s *scope) amount {
	usd, known := number(e, s)
	switch {
	case !known:
		return amount{}
	case usd < 0 || usd >= float64(math.MaxInt64)/float64(record.USD):
		s.fail(e, "want a cost in USD from 0, got %v", usd)
		return amount{}
	case usd == 0 && m.mapping.UnknownCostZero:
		return amount{}
	}
	return m.added("cost_usd", amount{int64(math.Round(usd * float64(record.USD))), true})
}

// usage is what so many calls used. What is unknown is counted: the price, the
// tokens, or both.
func (u *spent) usage(calls int64) record.Usage {
	used := record.Usage{
		Calls: calls, InputTokens: u.input.n, OutputTokens: u.output.n, CachedTokens: u.cached.n, ReasoningTokens: u.reasoning.n,
		CacheWriteTokens: u.written.n, CacheWrite1hTokens: u.written1h.n, Cost: record.Money(u.cost.n),
	}
	if u.total.known {
		used = used.WithTotal(u.total.n)
	}
	tokens := (u.input.known || u.output.known) && !u.lacks
	switch {
	case !u.cost.known && !tokens:
		used.Unreported = calls
	case !u.cost.known:
		used.Unpriced = calls
	case !tokens:
		used.Uncounted = calls
	}
	return used
}

// callsOr is how many calls there were, if that is known.
func (u *spent) callsOr(otherwise int64) int64 {
	if u.calls.known {
		return u.calls.n
	}
	return otherwise
}

// overall is the usage of a run: what is known of it as a whole, else the sum of its
// iterations.
func (u *spent) overall(sum record.Usage) record.Usage {
	if !u.cost.known && !u.input.known && !u.output.known && !u.calls.known {
		return sum
	}
	if !u.input.known && !u.output.known {
		u.lacks = false
		u.input, u.output = amount{sum.InputTokens, sum.TokensTold() && sum.Calls > 0}, amount{n: sum.OutputTokens}
		u.cached, u.reasoning, u.total = amount{n: sum.CachedTokens}, amount{n: sum.ReasoningTokens}, amount{}
		u.written, u.written1h = amount{n: sum.CacheWriteTokens}, amount{n: sum.CacheWrite1hTokens}
	}
	if !u.cost.known {
		u.cost = amount{int64(sum.Cost), sum.Priced() && sum.Calls > 0}
	}
	total := u.usage(u.callsOr(sum.Calls))
	total.ToolCalls = sum.ToolCalls
	return total
}

const noScore = "the log has no score"

// scores evaluates the scores of a run or of an iteration, in their order; null for an object of
// scores has none.
func scores(m *spec.ImportedScores, s *scope) (all []record.Score) {
	if m == nil {
		return nil
	}
	object, _ := typed[*expr.Object](m.Object, s, "an object of scores")
	for i := range object.Len() {
		name, v := object.At(i)
		all = append(all, scoreOf(m.Object, name, v, s))
	}
	for i := range m.Named {
		e := &m.Named[i].Value
		all = append(all, scoreOf(e, m.Named[i].Key, value(e, s), s))
	}
	return all
}

// scoreOf takes a number or a truth; null is unscored.
func scoreOf(e *spec.Expr, name string, v any, s *scope) record.Score {
	score := record.Score{Name: name}
	switch x := v.(type) {
	case nil:
		score.Unscored = noScore
	case bool:
		if x {
			score.Value = 1
		}
	default:
		n, ok := asNumber(v)
		if !ok {
			s.fail(e, "the score %q: want a number or a truth, got %s", name, describe(v))
		}
		score.Value = n
	}
	return score
}

// judged are the scores of a run together with those of its iterations.
type judged struct {
	run        []record.Score
	iterations [][]record.Score // by iteration
}

// all are the scores as they are written. The scores of its iterations are what a run is worth
// that is cut.
func (j *judged) all(run *record.Run, when *spec.WhenCut) []record.Score {
	whole := j.run
	for _, name := range j.names() {
		if !slices.ContainsFunc(whole, func(s record.Score) bool { return s.Name == name }) {
			whole = append(whole, j.returned(run, name))
		}
	}
	for i := range whole {
		whole[i].Run = run.ID
	}
	written := whole
	for i := range run.Iterations {
		for _, s := range j.cut(i, len(run.Iterations), whole, when) {
			s.Run, s.Iteration = run.ID, i+1
			written = append(written, s)
		}
	}
	return written
}

// cut are the scores of a run that stops at the iteration with that index, of so
// many.
func (j *judged) cut(i, n int, whole []record.Score, when *spec.WhenCut) []record.Score {
	switch {
	case when == nil || !when.Zero:
		if i < len(j.iterations) {
			return j.iterations[i]
		}
		return nil
	case i == n-1:
		return append([]record.Score(nil), whole...)
	}
	nothing := make([]record.Score, len(whole))
	for k := range whole {
		nothing[k] = record.Score{Name: whole[k].Name, Explanation: "cut before its end"}
	}
	return nothing
}

// names are those of the scores of iterations, in the order in which they occur.
func (j *judged) names() []string {
	var names []string
	for _, scores := range j.iterations {
		for i := range scores {
			if !slices.Contains(names, scores[i].Name) {
				names = append(names, scores[i].Name)
			}
		}
	}
	return names
}

// returned is the score of the iteration that the run returns.
func (j *judged) returned(run *record.Run, name string) record.Score {
	if at := run.Outcome.Returned; at > 0 && at <= len(j.iterations) {
		for _, s := range j.iterations[at-1] {
			if s.Name == name {
				return s
			}
		}
		return record.Score{Name: name, Unscored: noScore}
	}
	return record.Score{Name: name, Answer: "none"}
}
