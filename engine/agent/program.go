package agent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// writer is how errors tell of programs.
var programWriter = Writer{Name: "the program", Class: record.Program, Empty: "wrote nothing to its standard output"}

// Program is a program that executes iterations.
type Program struct {
	Program external.Program
	Spec    *spec.Agent // of the stage, overrides applied
}

// Execute runs the program once.
func (a *Program) Execute(ctx context.Context, turn *Turn) (Result, error) {
	stdin, err := Input(turn)
	if err != nil {
		return Result{}, &record.Error{Class: record.Internal, Message: err.Error()}
	}
	result := Result{Request: Hash(a.Program.Argv, stdin)}
	done, err := a.Program.Run(ctx, stdin)
	call := ProgramCall(record.RoleProgram, a.Program.Argv, result.Request, done, err)
	call.Usage = Unreported
	if err == nil {
		if err = programWriter.Read(done.Stdout, a.Spec.Reply, &result, &call); err != nil {
			call.Stdout = string(done.Stdout)
		}
		errors.As(err, &call.Error)
	}
	if err == nil && NothingMore(&result) {
		return Result{Request: result.Request}, model.ErrEnded
	}
	result.Calls = []record.Call{call}
	if err != nil {
		return result, err
	}
	result.Ended, err = FinalResponse(ctx, a.Spec, turn.Scope, &result)
	return result, err
}

// Sends is the hash of what the program would be given.
func (a *Program) Sends(turn *Turn) (hash string, err error) {
	stdin, err := Input(turn)
	if err != nil {
		return "", &record.Error{Class: record.Internal, Message: err.Error()}
	}
	return Hash(a.Program.Argv, stdin), nil
}

// ProgramCall is the record of a program that ran.
func ProgramCall(role record.Role, argv []string, hash string, done external.Finished, err error) record.Call {
	call := record.Call{
		Role: role, Model: filepath.Base(argv[0]), Request: hash,
		Duration: done.Duration, Stderr: done.Stderr,
	}
	if err != nil || !utf8.Valid(done.Stdout) {
		call.Stdout = string(done.Stdout)
	}
	errors.As(err, &call.Error)
	return call
}

// DefaultTimeout is how long an answer may take where the agent says nothing of it.
const DefaultEndpointTimeout = 10 * time.Minute

// Endpoint is an endpoint that executes iterations.
type Endpoint struct {
	Endpoint external.Endpoint
	Spec     *spec.Agent // of the stage, overrides applied
}

// writer is how errors tell of endpoints.
var endpointWriter = Writer{Name: "the endpoint", Class: record.BadResponse, Empty: "answered nothing"}

// Execute posts once.
func (a *Endpoint) Execute(ctx context.Context, turn *Turn) (Result, error) {
	given, err := input(turn)
	if err != nil {
		return Result{}, err
	}
	result := Result{Request: a.hash(given)}
	answer, err := a.Endpoint.PostWithin(ctx, cmp.Or(a.Spec.Timeout, DefaultEndpointTimeout), given)
	call := record.Call{
		Role: record.RoleHTTP, Model: host(a.Endpoint.URL), Request: result.Request,
		Usage: Unreported, Duration: answer.Duration,
	}
	if err == nil {
		err = endpointWriter.Read(answer.Body, a.Spec.Reply, &result, &call)
	}
	if err == nil && NothingMore(&result) {
		return Result{Request: result.Request}, model.ErrEnded
	}
	errors.As(err, &call.Error)
	result.Calls = []record.Call{call}
	if err != nil {
		return result, err
	}
	result.Ended, err = FinalResponse(ctx, a.Spec, turn.Scope, &result)
	return result, err
}

// Sends is the hash of what would be posted.
func (a *Endpoint) Sends(turn *Turn) (hash string, err error) {
	given, err := input(turn)
	if err != nil {
		return "", err
	}
	return a.hash(given), nil
}

func (a *Endpoint) hash(given []byte) string {
	return Hash([]string{"POST", a.Endpoint.URL}, given)
}

func input(turn *Turn) ([]byte, error) {
	given, err := Input(turn)
	if err != nil {
		return nil, &record.Error{Class: record.Internal, Message: err.Error()}
	}
	return given, nil
}

// host is how records call the endpoint.
func host(address string) string {
	if parsed, err := url.Parse(address); err == nil && parsed.Host != "" {
		return parsed.Host
	}
	return "http"
}

// ends are the reasons for which an agent may end its run.
var ends = []record.Reason{
	record.ReasonFinalResponse, record.ReasonToolEnded, record.ReasonQuestionAsked,
	record.ReasonCapability, record.ReasonAgentEnded,
}

// envelope is what an output may be wrapped in.
type envelope struct {
	Output     json.RawMessage `json:"output"`
	Confidence *float64        `json:"confidence"`
	End        record.Reason   `json:"end"`
	Thinking   string          `json:"thinking"`
	Usage      *usage          `json:"usage"`
}

// usage is what an agent says that it used itself.
type usage struct {
	Calls        int64    `json:"calls"`
	InputTokens  int64    `json:"input_tokens"`
	OutputTokens int64    `json:"output_tokens"`
	CostUSD      *float64 `json:"cost_usd"`
}

// Writer is who writes an answer.
type Writer struct {
	Name  string            // as errors call it: the program
	Class record.ErrorClass // of an answer that cannot be read
	Empty string            // what it did that answered nothing
}

// Read makes a result and the usage of its call of what was written: an object
// with output or end is an envelope; another object or list is the output itself,
// and so is any text.
func (w *Writer) Read(written []byte, reply spec.Reply, result *Result, call *record.Call) error {
	written = bytes.TrimSpace(written)
	wrapped, ok, err := w.open(written)
	switch {
	case err != nil:
		return err
	case !ok && len(written) == 0:
		return failure(record.NoAnswer, "%s %s", w.Name, w.Empty)
	case !ok:
		if json.Valid(written) && (written[0] == '{' || written[0] == '[') {
			reply = spec.ReplyJSON
		}
		result.SetReply(strings.ToValidUTF8(string(written), "\uFFFD"), reply)
		if result.Bytes = notUTF8(written); result.Bytes != nil {
			call.Stdout = "" // the iteration has it
		}
		return nil
	}
	if call.Usage, err = w.used(wrapped.Usage); err != nil {
		return err
	}
	if len(wrapped.Output) == 0 && wrapped.End == "" {
		return failure(record.NoAnswer, "%s's answer has neither output nor end", w.Name)
	}
	result.Thinking, result.Confidence = wrapped.Thinking, wrapped.Confidence
	if len(wrapped.Output) > 0 {
		result.SetReply(string(wrapped.Output), spec.ReplyJSON)
		result.Bytes = notUTF8(wrapped.Output)
	}
	if wrapped.End != "" {
		result.Ended = &record.Ended{Reason: string(wrapped.End), Output: result.Output}
	}
	return nil
}

// NothingMore says that the agent ended before the iteration: it gave nothing.
func NothingMore(result *Result) bool {
	return result.Ended != nil && result.Ended.Reason == string(record.ReasonAgentEnded) && result.Output == nil
}

func failure(class record.ErrorClass, format string, args ...any) error {
	return &record.Error{Class: class, Message: fmt.Sprintf(format, args...)}
}

// notUTF8 is a text that cannot be told as it is; nil where it can.
func notUTF8(text []byte) []byte {
	if utf8.Valid(text) {
		return nil
	}
	return bytes.Clone(text)
}

// open reads an envelope, if it is one.
func (w *Writer) open(written []byte) (wrapped envelope, ok bool, err error) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(written, &keys) != nil || keys["output"] == nil && keys["end"] == nil {
		return wrapped, false, nil
	}
	if err := json.Unmarshal(written, &wrapped); err != nil {
		return wrapped, false, failure(w.Class, "reading %s's answer: %v", w.Name, err)
	}
	if c := wrapped.Confidence; c != nil && !(*c >= 0 && *c <= 1) {
		return wrapped, false, failure(w.Class, "%s's confidence is %v; want a number from 0 to 1", w.Name, *c)
	}
	if wrapped.End != "" && !slices.Contains(ends, wrapped.End) {
		return wrapped, false, failure(w.Class, "%s ends the run with %q; want one of %v", w.Name, wrapped.End, ends)
	}
	return wrapped, true, nil
}

// Unreported is the usage of an agent that does not say what it used.
var Unreported = record.Usage{Unreported: 1}

// used checks what an agent says. One that used something and names no cost is
// unpriced.
func (w *Writer) used(u *usage) (record.Usage, error) {
	if u == nil {
		return Unreported, nil
	}
	used := record.Usage{Calls: u.Calls, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens}
	if u.Calls < 0 || u.InputTokens < 0 || u.OutputTokens < 0 || u.CostUSD != nil && !(*u.CostUSD >= 0 && *u.CostUSD < 1e6) {
		return Unreported, failure(w.Class, "%s's usage cannot be", w.Name)
	}
	switch {
	case u.CostUSD != nil:
		used.Cost = record.Money(math.Round(*u.CostUSD * float64(record.USD)))
	case used != record.Usage{}:
		used.Unpriced = max(1, u.Calls)
	}
	return used, nil
}

// Programs and endpoints are given and answer the same: JSON of an Input, and JSON or
// text of which a part is the output.

// Task is a task as agents see it: without the target.
func Task(task *spec.Task) *expr.Object {
	o := expr.NewObject(4)
	o.Set("id", task.ID)
	o.Set("input", task.Input)
	o.Set("vars", task.Vars)
	o.Set("metadata", task.Metadata)
	return o
}

// Judged is what whoever judges an output reads of it: task, trial, iteration,
// output.
func Judged(task *expr.Object, trial, iteration int, output any) *expr.Object {
	o := expr.NewObject(4)
	o.Set("task", task)
	o.Set("trial", int64(trial))
	o.Set("iteration", int64(iteration))
	o.Set("output", output)
	return o
}

// Input is what an agent reads: task, trial, iteration, phase,
// strategy, system, prompt, feedback, improvements, previous (the iteration
// before this one: output, confidence, passed, error) and best (output,
// confidence, iteration), the last two null where there is none. What differs
// from one execution to the next, such as times, is not in it.
func Input(turn *Turn) ([]byte, error) {
	o := expr.NewObject(12)
	o.Set("task", Task(turn.Task))
	o.Set("trial", int64(turn.Trial))
	o.Set("iteration", int64(turn.Iteration))
	o.Set("phase", turn.Phase)
	o.Set("strategy", turn.Strategy)
	o.Set("system", turn.System)
	o.Set("prompt", turn.Prompt)
	o.Set("feedback", text(lookup(turn.Scope, "feedback")))
	o.Set("improvements", list(lookup(turn.Scope, "improvements")))
	o.Set("previous", previous(turn))
	o.Set("best", fields(lookup(turn.Scope, "best"), "output", "confidence", "iteration"))
	encoded, err := expr.AppendJSON(make([]byte, 0, 512), o)
	if err != nil {
		return nil, fmt.Errorf("writing what the agent is given: %w", err)
	}
	return encoded, nil
}

func previous(turn *Turn) any {
	if turn.Iteration <= 1 {
		return nil
	}
	o := expr.NewObject(4)
	for _, name := range []string{"output", "confidence", "passed", "error"} {
		o.Set(name, lookup(turn.Scope, name))
	}
	return o
}

func lookup(scope expr.Scope, name string) any {
	if scope == nil {
		return nil
	}
	value, _ := scope.Lookup(name)
	return value
}

// fields reads the named fields of a record, nil where there is none.
func fields(value any, names ...string) any {
	record, ok := value.(expr.Fields)
	if !ok {
		return nil
	}
	o := expr.NewObject(len(names))
	for _, name := range names {
		o.Set(name, record.Field(name))
	}
	return o
}

func text(value any) string {
	s, _ := value.(string)
	return s
}

func list(value any) []any {
	items, _ := value.([]any)
	if items == nil {
		return []any{}
	}
	return items
}

// Hash identifies what is given to whom, as records name a request.
func Hash(to []string, given []byte) string {
	h := sha256.New()
	for _, part := range to {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(given)
	return hex.EncodeToString(h.Sum(nil)[:8])
}
