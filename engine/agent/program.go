package agent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// Program is a program that executes iterations.
type Program struct {
	Program external.Program
	Spec    *spec.Agent // of the stage, overrides applied
	Served  Served      // the models that it may call; nil: none
}

// Served lets programs call models of the suite.
type Served interface {
	// Calls are those of the run to which the context belongs.
	Calls(ctx context.Context, turn *Turn, program *Program) (Calls, error)
}

// Calls is how the programs of one run call models.
type Calls interface {
	Access() Access
	// Start starts a program. Where a limit ends it, or its calls, Stopped says so.
	Start(ctx context.Context, turn *Turn, program external.Program, stdin []byte) (*external.Running, error)
	// Stopped is called when the program has ended. Failed is how it ended itself.
	Stopped(turn *Turn, failed error) Made
}

// Made is what a program made of its access to models, from the start of its iteration on.
type Made struct {
	Calls []record.Call
	// Steps are those of its calls that are steps and were answered; the place of each among the calls begins at 1.
	Steps []record.Step
	Tools []record.ToolCall // that the answers ask for
	// Agent is what the program named itself in its first call, "" where it made none.
	Agent string
	// Refused is the call that a limit refused, End why the program came to an end for another reason than its own.
	Refused *record.Next
	End     error
}

// answered reports whether a call of it has an answer.
func (m *Made) answered() bool {
	return slices.ContainsFunc(m.Calls, func(c record.Call) bool { return c.Error == nil })
}

// Access is how a program reaches the model proxy: by an address of this machine, or, in a
// sandbox without a network, by a socket.
type Access struct {
	URL, Socket string
	Env         func(url string) []string // its variables
}

var programWriter = writer{name: "the program", class: record.Program, empty: "wrote nothing to its standard output"}

// Execute runs the program once.
func (a *Program) Execute(ctx context.Context, turn *Turn) (Result, error) {
	given, err := a.given(ctx, turn)
	if err != nil {
		return Result{}, err
	}
	program, writer := a.Program, programWriter
	program.Argv = given.argv
	if turn.Workspace != nil {
		program.Cuts, writer.silent = true, true
	}
	found := turn.Workspace.state()
	done, made, ended := a.run(ctx, turn, program, given.stdin)
	var state *record.Workspace
	if turn.Workspace != nil {
		var wrong error
		if state, wrong = turn.Workspace.Snapshot(context.WithoutCancel(ctx)); wrong != nil {
			ended = wrong
		} else if done.Exit != 0 && made.End == nil && ctx.Err() == nil && (state.Tree != found || made.answered()) {
			ended = nil // what it left counts, as where it stops at a limit of its own
		}
	}
	call := ProgramCall(record.RoleProgram, given.argv, given.hash, done, ended)
	call.Exit = done.Exit
	result, err := writer.result(ctx, a.Spec, turn, done.Stdout, call, ended)
	result.Workspace, result.Unanswered = state, made.Refused
	if len(result.Calls) == 0 { // the program ended the run before the iteration
		return result, err
	}
	if a.Served != nil {
		result.Calls[0].Usage, result.Calls[0].Version = record.Usage{}, made.Agent // its calls tell what it used
		for i := range made.Steps {
			made.Steps[i].Call += len(result.Calls)
		}
		result.Steps, result.ToolCalls = made.Steps, made.Tools
		result.Calls, result.Took = append(result.Calls, made.Calls...), max(1, done.Duration)
	}
	printed := printed{task: turn.Task, text: strings.ToValidUTF8(string(done.Stdout), "\uFFFD"), workspace: state}
	if a.Spec.Usage != nil && a.Served == nil {
		result.Calls[0].Usage = printed.usage(context.WithoutCancel(ctx), a.Spec.Usage)
	}
	switch {
	case err == nil && a.Spec.Output != nil:
		err = printed.output(ctx, a.Spec, &result)
	case state != nil && interrupted(ctx, err) && a.Spec.OnLimit == "refuse" && ctx.Err() == nil: // it has come to its own end
		if result.SetReply(printed.text, spec.ReplyText); a.Spec.Output != nil && printed.output(ctx, a.Spec, &result) != nil {
			result.Output, result.Value = nil, nil
		}
	case state != nil && interrupted(ctx, err): // what it left counts
		result.Output, result.Value = Left(context.WithoutCancel(ctx), a.Spec, turn.Task, state)
	}
	return result, err
}

// Left is the output of a program that a limit ended: agent.output of the workspace that it left, or null. What it had printed is
// ignored.
func Left(ctx context.Context, a *spec.Agent, task *spec.Task, state *record.Workspace) (output json.RawMessage, value any) {
	var result Result
	if a.Output == nil || (&printed{task: task, workspace: state}).output(ctx, a, &result) != nil {
		return nil, nil
	}
	return result.Output, result.Value
}

// run runs the program to its end, and gives what it made meanwhile of its access to models.
func (a *Program) run(ctx context.Context, turn *Turn, program external.Program, stdin []byte) (done external.Finished, made Made, err error) {
	if a.Served == nil {
		if program, err = turn.Workspace.placed(program, nil, a.fitting(turn)); err != nil {
			return done, made, err
		}
		done, err = program.Run(ctx, stdin)
		return done, made, err
	}
	served, err := a.Served.Calls(ctx, turn, a)
	if err != nil {
		return done, made, err
	}
	access := served.Access()
	if program, err = turn.Workspace.placed(program, &access, a.fitting(turn)); err != nil {
		return done, made, err
	}
	running, err := served.Start(ctx, turn, program, stdin)
	if err == nil {
		done, err = running.Wait()
	}
	made = served.Stopped(turn, err)
	if ctx.Err() == nil {
		err = cmp.Or(made.End, err)
	}
	return done, made, err
}

// interrupted reports whether an error came from outside of the program: its time was over,
// or a limit of the run ended it.
func interrupted(ctx context.Context, err error) bool {
	var outside interface{ StopReason() record.Reason }
	return ctx.Err() != nil || errors.As(err, &outside)
}

// Sends is the hash of what the program would be given.
func (a *Program) Sends(turn *Turn) (hash string, err error) {
	given, err := a.given(context.Background(), turn)
	return given.hash, err
}

// given is what a program is started with.
type given struct {
	argv  []string
	stdin []byte
	hash  string
}

// given is the command with its arguments rendered, or, where none of them holds an
// expression, the command as it is and JSON to read.
func (a *Program) given(ctx context.Context, turn *Turn) (given, error) {
	argv, declared := slices.Clone(a.Program.Argv), slices.Clone(a.Program.Argv)
	if len(a.Spec.Command) == len(argv) {
		copy(declared, a.Spec.Command) // wherever the files are that it names
	}
	if a.Spec.Arguments == nil {
		stdin, identity, err := input(turn)
		return given{argv, stdin, Hash(declared, append(identity, a.fitting(turn).named()...))}, err
	}
	for i, argument := range a.Spec.Arguments {
		if argument == nil {
			continue
		}
		text, err := argument.Render(ctx, withPrompt{turn.Scope, turn})
		switch {
		case err != nil:
			return given{}, record.Errorf(record.Expression, "rendering argument %d of the program: %v", i, err)
		case strings.ContainsRune(text, 0):
			return given{}, record.Errorf(record.Expression, "argument %d of the program holds a NUL character, which no argument can", i)
		}
		argv[i], declared[i] = text, text
	}
	return given{argv, nil, Hash(declared, []byte(a.fitting(turn).named()))}, nil
}

// withPrompt is a scope that knows what the iteration is asked.
type withPrompt struct {
	expr.Scope
	turn *Turn
}

func (s withPrompt) Lookup(name string) (any, bool) {
	switch name {
	case "prompt":
		return s.turn.Prompt, true
	case "trial":
		return int64(s.turn.Trial), true
	}
	return s.Scope.Lookup(name)
}

// output replaces what was printed by the output that the loop declares.
func (p *printed) output(ctx context.Context, a *spec.Agent, result *Result) error {
	value, err := a.Output.Value(ctx, p)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return record.Errorf(record.NoAnswer, "output: %v", err)
	}
	if text, ok := value.(string); ok {
		result.SetReply(text, a.Reply)
		return nil
	}
	result.Value, result.Fault = value, ""
	if result.Output, err = expr.AppendJSON(nil, value); err != nil {
		return record.Errorf(record.NoAnswer, "output: %v", err)
	}
	return nil
}

// printed is what expressions see of a program that has ended.
type printed struct {
	task      *spec.Task
	text      string
	workspace *record.Workspace

	parsed bool
	reply  any // the text as JSON, or a list of its lines; null where it is neither
}

// Lookup implements [expr.Scope].
func (p *printed) Lookup(name string) (any, bool) {
	switch name {
	case "task":
		return spec.TaskFields{Task: p.task}, true
	case "stdout":
		return p.text, true
	case "reply":
		return p.json(), true
	case "workspace":
		return p.workspace, true
	}
	return nil, false
}

func (p *printed) json() any {
	if p.parsed {
		return p.reply
	}
	p.parsed = true
	value, err := expr.ParseJSON([]byte(p.text))
	if err == nil {
		p.reply = value
		return value
	}
	var list []any
	for line := range strings.Lines(strings.TrimSpace(p.text)) {
		if value, err = expr.ParseJSON([]byte(line)); err != nil {
			return nil
		}
		list = append(list, value)
	}
	p.reply = list
	return list
}

// usage is what a program says that it used. Numbers that cannot be read are unknown.
func (p *printed) usage(ctx context.Context, declared *spec.Reported) record.Usage {
	number := func(e *spec.Expr) (n float64, known bool) {
		if e == nil {
			return 0, false
		}
		value, err := e.Value(ctx, p)
		switch x := value.(type) {
		case float64:
			n, known = x, err == nil && x >= 0 && x < 1e15
		case int64:
			n, known = float64(x), err == nil && x >= 0
		}
		return n, known
	}
	var used usage
	cost, priced := number(declared.CostUSD)
	if priced {
		used.CostUSD = &cost
	}
	for _, of := range []struct {
		e    *spec.Expr
		into *int64
	}{{declared.Calls, &used.Calls}, {declared.InputTokens, &used.InputTokens}, {declared.OutputTokens, &used.OutputTokens}} {
		n, known := number(of.e)
		if of.e != nil && !known {
			return unreported
		}
		*of.into = int64(n)
	}
	if declared.CostUSD != nil && !priced {
		return unreported
	}
	read, _ := programWriter.used(&used)
	return read
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

// Endpoint is an endpoint that executes iterations. An answer may take 10 minutes where
// the agent declares no timeout.
type Endpoint struct {
	Endpoint external.Endpoint
	Spec     *spec.Agent // of the stage, overrides applied
}

var endpointWriter = writer{name: "the endpoint", class: record.BadResponse, empty: "answered nothing"}

// Execute posts once.
func (a *Endpoint) Execute(ctx context.Context, turn *Turn) (Result, error) {
	given, identity, err := input(turn)
	if err != nil {
		return Result{}, err
	}
	answer, err := a.Endpoint.Post(ctx, cmp.Or(a.Spec.Timeout, spec.DefaultProgramTimeout), given)
	call := record.Call{Role: record.RoleHTTP, Model: "http", Request: a.hash(identity), Duration: answer.Duration}
	if at, wrong := url.Parse(a.Endpoint.URL); wrong == nil && at.Host != "" {
		call.Model = at.Host
	}
	return endpointWriter.result(ctx, a.Spec, turn, answer.Body, call, err)
}

// Sends is the hash of what would be posted.
func (a *Endpoint) Sends(turn *Turn) (hash string, err error) {
	_, identity, err := input(turn)
	return a.hash(identity), err
}

func (a *Endpoint) hash(given []byte) string {
	return Hash([]string{"POST", a.Endpoint.URL}, given)
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

// usage is what an agent reports that it used itself.
type usage struct {
	Calls        int64    `json:"calls"`
	InputTokens  int64    `json:"input_tokens"`
	OutputTokens int64    `json:"output_tokens"`
	CostUSD      *float64 `json:"cost_usd"`
}

// writer is a program or an endpoint, as errors describe it.
type writer struct {
	name  string
	class record.ErrorClass // of an answer that cannot be read
	empty string            // what it did that answered nothing
	// silent: it may answer nothing, for what it does is done elsewhere.
	silent bool
}

// result is that of a call which wrote this, or failed.
func (w *writer) result(ctx context.Context, a *spec.Agent, turn *Turn, written []byte, call record.Call, err error) (Result, error) {
	result := Result{Request: call.Request}
	call.Usage = unreported
	if err == nil {
		if err = w.read(written, a.Reply, &result, &call); err != nil && call.Role == record.RoleProgram {
			call.Stdout = string(written)
		}
	}
	if ended := result.Ended; err == nil && ended != nil && ended.Reason == string(record.ReasonAgentEnded) && result.Output == nil {
		return Result{Request: call.Request}, model.ErrEnded // before the iteration
	}
	errors.As(err, &call.Error)
	result.Calls = []record.Call{call}
	if err != nil {
		return result, err
	}
	result.Ended, err = FinalResponse(ctx, a, turn.Scope, &result)
	return result, err
}

// read makes a result and the usage of its call of what was written: an object
// with output or end is an envelope; another object or list is the output itself,
// and so is any text.
func (w *writer) read(written []byte, reply spec.Reply, result *Result, call *record.Call) error {
	written = bytes.TrimSpace(written)
	wrapped, ok, err := w.open(written)
	switch {
	case err != nil:
		return err
	case !ok && len(written) == 0 && w.silent:
		result.setText("")
		return nil
	case !ok && len(written) == 0:
		return record.Errorf(record.NoAnswer, "%s %s", w.name, w.empty)
	case !ok:
		if json.Valid(written) && (written[0] == '{' || written[0] == '[') {
			reply = spec.ReplyJSON
		}
		result.SetReply(strings.ToValidUTF8(string(written), "\uFFFD"), reply)
		if !utf8.Valid(written) {
			result.Bytes, call.Stdout = bytes.Clone(written), "" // the iteration has it
		}
		return nil
	}
	if call.Usage, err = w.used(wrapped.Usage); err != nil {
		return err
	}
	if len(wrapped.Output) == 0 && wrapped.End == "" {
		return record.Errorf(record.NoAnswer, "%s's answer has neither output nor end", w.name)
	}
	result.Thinking, result.Confidence = wrapped.Thinking, wrapped.Confidence
	if len(wrapped.Output) > 0 {
		result.SetReply(string(wrapped.Output), spec.ReplyJSON)
		if !utf8.Valid(wrapped.Output) {
			result.Bytes = bytes.Clone(wrapped.Output)
		}
	}
	if wrapped.End != "" {
		result.Ended = &record.Ended{Reason: string(wrapped.End), Output: result.Output}
	}
	return nil
}

func (w *writer) open(written []byte) (wrapped envelope, ok bool, err error) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(written, &keys) != nil || keys["output"] == nil && keys["end"] == nil {
		return wrapped, false, nil
	}
	if err := json.Unmarshal(written, &wrapped); err != nil {
		return wrapped, false, record.Errorf(w.class, "reading %s's answer: %v", w.name, err)
	}
	if c := wrapped.Confidence; c != nil && !(*c >= 0 && *c <= 1) {
		return wrapped, false, record.Errorf(w.class, "%s's confidence is %v; want a number from 0 to 1", w.name, *c)
	}
	if wrapped.End != "" && !slices.Contains(ends, wrapped.End) {
		return wrapped, false, record.Errorf(w.class, "%s ends the run with %q; want one of %v", w.name, wrapped.End, ends)
	}
	return wrapped, true, nil
}

// unreported is the usage of an agent that does not report what it used.
var unreported = record.Usage{Unreported: 1}

// used checks what an agent reports. One that used something and names no cost is
// unpriced.
func (w *writer) used(u *usage) (record.Usage, error) {
	if u == nil {
		return unreported, nil
	}
	used := record.Usage{Calls: u.Calls, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens}
	if u.Calls < 0 || u.InputTokens < 0 || u.OutputTokens < 0 || u.CostUSD != nil && !(*u.CostUSD >= 0 && *u.CostUSD < 1e6) {
		return unreported, record.Errorf(w.class, "%s's usage cannot be", w.name)
	}
	switch {
	case u.CostUSD != nil:
		used.Cost = record.Money(math.Round(*u.CostUSD * float64(record.USD)))
	case used != record.Usage{}:
		used.Unpriced = max(1, u.Calls)
	}
	return used, nil
}

// Task is a task as programs see it: without the target, and with the addresses of its images.
func Task(task *spec.Task) *expr.Object { return shown(task, (*spec.Image).Address) }

func shown(task *spec.Task, image func(*spec.Image) string) *expr.Object {
	o := expr.NewObject(5)
	o.Set("id", task.ID)
	o.Set("input", task.Input)
	o.Set("vars", task.Vars)
	o.Set("metadata", task.Metadata)
	if len(task.Images) > 0 {
		images := make([]any, len(task.Images))
		for i := range images {
			images[i] = image(task.Images[i])
		}
		o.Set("images", images)
	}
	return o
}

// Judged is what a program that judges an output reads of it: task, trial, iteration,
// output.
func Judged(task *expr.Object, trial, iteration int, output any) *expr.Object {
	o := expr.NewObject(4)
	o.Set("task", task)
	o.Set("trial", int64(trial))
	o.Set("iteration", int64(iteration))
	o.Set("output", output)
	return o
}

// input is what programs and endpoints read, as JSON: task, trial, iteration, phase,
// strategy, system, prompt, feedback, improvements, previous (the iteration
// before this one: output, confidence, passed, error) and best (output,
// confidence, iteration), the last two null where there is none. What differs
// from one execution to the next, such as times, is not in it. The identity is the same wherever the files of images
// are, and another one where they are other images.
func input(turn *Turn) (given, identity []byte, err error) {
	lookup := func(name string) any {
		if turn.Scope == nil {
			return nil
		}
		value, _ := turn.Scope.Lookup(name)
		return value
	}
	feedback, _ := lookup("feedback").(string)
	improvements, _ := lookup("improvements").([]any)
	if improvements == nil {
		improvements = []any{}
	}
	var previous, best any // null, not an object that is nil
	if turn.Iteration > 1 {
		o := expr.NewObject(4)
		for _, name := range []string{"output", "confidence", "passed", "error"} {
			o.Set(name, lookup(name))
		}
		previous = o
	}
	if fields, ok := lookup("best").(expr.Fields); ok {
		o := expr.NewObject(3)
		for _, name := range []string{"output", "confidence", "iteration"} {
			o.Set(name, fields.Field(name))
		}
		best = o
	}
	o := expr.NewObject(12)
	o.Set("task", Task(turn.Task))
	o.Set("trial", int64(turn.Trial))
	o.Set("iteration", int64(turn.Iteration))
	o.Set("phase", turn.Phase)
	o.Set("strategy", turn.Strategy)
	o.Set("system", turn.System)
	o.Set("prompt", turn.Prompt)
	o.Set("feedback", feedback)
	o.Set("improvements", improvements)
	o.Set("previous", previous)
	o.Set("best", best)
	given, err = expr.AppendJSON(make([]byte, 0, 512), o)
	if identity = given; len(turn.Task.Images) > 0 && err == nil {
		o.Set("task", shown(turn.Task, func(image *spec.Image) string {
			sum, _, _ := image.Sum()
			return sum
		}))
		identity, err = expr.AppendJSON(nil, o)
	}
	if err != nil {
		return nil, nil, record.Errorf(record.Internal, "writing the agent's input: %v", err)
	}
	return given, identity, nil
}

// Hash identifies a request to a program or an endpoint in records.
func Hash(to []string, given []byte) string {
	h := sha256.New()
	for _, part := range to {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(given)
	return hex.EncodeToString(h.Sum(nil)[:8])
}
