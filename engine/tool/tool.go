// Package tool is what a tool is to the rest of agentbench: a Tool has a name
// and a schema, and its Use answers with one result. Programs, endpoints, expressions
// and built-in tools are here (kinds.go, builtin.go), those of MCP servers beneath it.
//
// It is no stable API.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// Tool is something that an agent may use. Use is safe for concurrent use; it is nil where
// the tool is only described, as in a replay.
//
// The error of Use is a *record.Error, which the agent gets, or the context's cause,
// which ends the run. The Result may hold what there was before the error.
type Tool struct {
	Definition
	Use func(ctx context.Context, use *Use) (Result, error)
}

// Definition is what an agent knows of a tool, and how the tool is used.
type Definition struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments, an object; nil: any object
	Server      string          // of MCP; "" is a tool of the suite's own
	// Identity is what is run or asked: pure tools of one identity answer from one
	// memory.
	Identity string
	Timeout  time.Duration // of one try; 0: the tool sees to it itself
	Retries  int           // how often a use that failed is tried again
	// Pure reports that the same arguments give the same result, which may
	// come from memory.
	Pure bool
	// Breaks is the reason for which the run ends with the result; "": it continues.
	Breaks record.Reason
	// Serial reports that uses of it in one step follow one another; others run in
	// parallel.
	Serial   bool
	Delegate bool // it is another agent, to which the argument `task` is handed
	// Converses reports that the result is what the agent says to its user: the user's
	// turn follows, and without a user it is the output.
	Converses bool
}

// Use is one use of a tool.
type Use struct {
	Arguments json.RawMessage // an object that is valid against Parameters
	Task      *spec.Task      // of the run; its target is not for tools
	Trial     int
	Number    int // how many tool calls the run made before, from 0
	// Calls counts the calls of each model so far in the run, which a delegate's go
	// on from; it is the tool's own to change, and counts on where the result's
	// Calls are of models.
	Calls map[string]int
}

// Callable is a name in the letters that APIs allow in the names of functions.
func Callable(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

// Result is what a use gave.
type Result struct {
	Content  json.RawMessage // JSON: a string for a text
	Bytes    []byte          // what was written, where it is not UTF-8; Content has U+FFFD then
	Duration time.Duration   // as-if
	Waited   time.Duration   // part of Duration: for rate limits and the like
	Attempts int             // 0 means 1
	Cached   bool
	Ended    *record.Ended // set where it ends the run
	// Calls are those of a delegate, timed from the start of the use; Run is its
	// record, where it is a loop.
	Calls []record.Call
	Run   *record.Run
}

// Use uses a tool once, with arguments that were checked. A try that takes too
// long is ended, one that failed is made again as often as the tool allows, a
// pure tool is only asked what it was not asked before, a long result is cut,
// and the result of a tool that breaks the loop ends the run.
func (s *Set) Use(ctx context.Context, name string, use *Use) (Result, error) {
	m := s.find(name)
	if m == nil {
		return Result{}, badCall("%s", s.unknown(name))
	}
	if !m.Pure || s.memory == nil {
		return m.use(ctx, use)
	}
	return s.memory.recall(ctx, name, keyOf(&m.Definition, use.Arguments), func() (Result, error) { return m.use(ctx, use) })
}

// use asks the tool, and again where another try may do better: not where the call itself
// is wrong, and not where the run is over.
func (m *member) use(ctx context.Context, use *Use) (result Result, err error) {
	const firstPause, longestPause = 100 * time.Millisecond, 5 * time.Second
	var before Result
	for attempt := 1; ; attempt++ {
		result, err = m.try(ctx, use)
		result.Attempts, result.Duration, result.Waited = attempt, before.Duration+result.Duration, before.Waited+result.Waited
		failed, ok := errors.AsType[*record.Error](err)
		if attempt > m.Retries || !ok || failed.Class != record.Tool {
			break
		}
		pause := min(longestPause, firstPause<<min(attempt-1, 10))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return result, context.Cause(ctx)
		}
		before = Result{Duration: result.Duration + pause, Waited: result.Waited + pause}
	}
	result.Content, result.Bytes, err = bounded(result.Content), boundedBytes(result.Bytes), boundedFault(err)
	if m.Breaks != "" && err == nil && result.Ended == nil {
		result.Ended = &record.Ended{Reason: string(m.Breaks), Output: result.Content}
	}
	return result, err
}

// try asks the tool once, for as long as it may take. One that took too long
// took that long, however late it was noticed.
func (m *member) try(ctx context.Context, use *Use) (Result, error) {
	if m.Timeout <= 0 {
		return m.Tool.Use(ctx, use)
	}
	trying, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	result, err := m.Tool.Use(trying, use)
	switch {
	case err == nil || trying.Err() == nil:
		return result, err
	case ctx.Err() != nil:
		return result, context.Cause(ctx)
	}
	result.Duration = m.Timeout
	return result, record.Errorf(record.Tool, "timed out after %v", m.Timeout)
}

// Source has tools that are only known when a run has begun: those of a server.
type Source interface {
	// Name is how records call the source.
	Name() string
	// Server is all that the server tells of itself to the run in the context. It
	// is asked at every iteration; what it said first holds for the run.
	Server(ctx context.Context) (record.ToolServer, error)
	// Tools are those that are used of a server that told this of itself, be it now
	// or in a record. Nothing is asked. An error is a *record.Error: the server has
	// not got what is asked for.
	Tools(told record.ToolServer) ([]Tool, error)
}

// Run keeps what tools need for as long as one run takes, such as a server of its
// own. The zero Run has begun; it is safe for concurrent use.
type Run struct {
	mu   sync.Mutex
	kept map[any]*kept
	last []func() // in the order opened
}

type kept struct {
	once  sync.Once
	value any
	err   error
}

type runKey struct{}

// WithRun begins a run within a context. Who begins it closes it. A run within a
// run, as that of a delegate is, keeps what it needs for itself.
func WithRun(ctx context.Context) (context.Context, *Run) {
	r := &Run{}
	return context.WithValue(ctx, runKey{}, r), r
}

// RunOf is the run of a context, nil where there is none.
func RunOf(ctx context.Context) *Run {
	r, _ := ctx.Value(runKey{}).(*Run)
	return r
}

// Keep gives what open opened when the key was asked for first. Release, where it
// is not nil, is called when the run is closed. The nil Run opens anew every time, and
// releases nothing.
func (r *Run) Keep(key any, open func() (value any, release func(), err error)) (any, error) {
	if r == nil {
		value, _, err := open()
		return value, err
	}
	r.mu.Lock()
	k, known := r.kept[key]
	if !known {
		if r.kept == nil {
			r.kept = map[any]*kept{}
		}
		k = &kept{}
		r.kept[key] = k
	}
	r.mu.Unlock()
	k.once.Do(func() {
		var release func()
		if k.value, release, k.err = open(); release != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.last = append(r.last, release)
		}
	})
	return k.value, k.err
}

// Close releases what was kept, the newest first.
func (r *Run) Close() {
	r.mu.Lock()
	last := r.last
	r.last = nil
	r.mu.Unlock()
	for _, release := range slices.Backward(last) {
		release()
	}
}

// Answer reads what a tool wrote. An object or a list is the content itself, and
// so is any other text. Two objects say more:
//
//	{"error": "why"}                     the tool failed; beside it may stand output
//	{"end": "capability", "output": …}   the run ends with the output
//
// The words for ends are those of programs. An object with other keys beside
// these is content: many tools tell of a beginning and an end.
func Answer(written []byte) (Result, error) {
	trimmed := bytes.TrimSpace(written)
	if !utf8.Valid(trimmed) {
		return Result{Content: Text(string(trimmed)), Bytes: written}, nil
	}
	if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
		return Result{Content: Text(string(trimmed))}, nil
	}
	value, err := expr.ParseJSON(trimmed)
	if err != nil {
		return Result{Content: Text(string(trimmed))}, nil
	}
	result := Result{Content: json.RawMessage(trimmed)}
	object, _ := value.(*expr.Object)
	known := 0
	for _, key := range []string{"error", "end", "output"} {
		if _, ok := object.Get(key); ok {
			known++
		}
	}
	if known == 0 || known < object.Len() {
		return result, nil
	}
	var said struct {
		Error, End any
		Output     json.RawMessage
	}
	if json.Unmarshal(trimmed, &said) != nil { // nested deeper than is read
		return result, nil
	}
	if why, _ := said.Error.(string); why != "" {
		return Result{Content: said.Output}, record.Errorf(record.Tool, "%s", why)
	}
	if end, _ := said.End.(string); slices.Contains(ends, record.Reason(end)) {
		return Result{Content: said.Output, Ended: &record.Ended{Reason: end, Output: said.Output}}, nil
	}
	return result, nil
}

// ends are the reasons for which a tool may end its run. Only an agent can report that it
// has nothing more to give.
var ends = []record.Reason{record.ReasonFinalResponse, record.ReasonToolEnded, record.ReasonQuestionAsked, record.ReasonCapability}

// everything is the key of an answer to all questions that no other fits.
const everything = "*"

// answerOf is a task's answer to the n-th question of a run, from 0. Its vars' or else its metadata's
// `answers` are a list in the order of the questions, or a mapping of questions to answers. Of a mapping it is that
// of the question itself, else of the longest key whose words are in it one
// after the other, whatever their case and what is between them.
func answerOf(task *spec.Task, question string, n int) (answer any, ok bool) {
	var found any
	if task != nil {
		for _, place := range []any{task.Vars, task.Metadata} {
			object, _ := place.(*expr.Object)
			if found, ok = object.Get("answers"); ok {
				break
			}
		}
	}
	if list, _ := found.([]any); n < len(list) {
		return list[n], true
	}
	mapping, _ := found.(*expr.Object)
	asked, best := words(question), -1
	ok = false
	for i := range mapping.Len() {
		key, value := mapping.At(i)
		if key == question {
			return value, true
		}
		meant := words(key)
		if len(meant) > best && (key == everything || meant != "" && strings.Contains(asked, meant)) {
			answer, ok, best = value, true, len(meant)
		}
	}
	return answer, ok
}

// words are the letters and digits of a text, in words with a blank around each.
func words(text string) string {
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(all) == 0 {
		return ""
	}
	return " " + strings.Join(all, " ") + " "
}

type countKey struct{}

// asked is how many questions the run in the context asked before this one.
func asked(ctx context.Context) int {
	counter, _ := RunOf(ctx).Keep(countKey{}, func() (any, func(), error) { return new(atomic.Int64), nil, nil })
	return int(counter.(*atomic.Int64).Add(1)) - 1
}
