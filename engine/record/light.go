package record

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Digest is what a record has of an iteration for those who read it light: hashes and numbers of what they leave out.
type Digest struct {
	Output    string `json:"output,omitempty"` // its OutputHash
	Tools     string `json:"tools,omitempty"`  // the toolSet of the tool calls
	ToolCalls int    `json:"tool_calls,omitempty"`
	Steps     int    `json:"steps,omitempty"`
}

func (it *Iteration) digest() *Digest {
	return &Digest{it.OutputHash(), toolSet(it.ToolCalls), len(it.ToolCalls), len(it.Steps)}
}

// withDigests is the run as records have it.
func (r *Run) withDigests() *Run {
	with := *r
	with.Iterations = append([]Iteration{}, r.Iterations...) // a list also where it is empty
	for i := range with.Iterations {
		it := &with.Iterations[i]
		it.Digest = it.digest()
	}
	return &with
}

var errDigest = errors.New("the digest of an iteration does not fit")

// checkDigests removes the digests of a record that was read, once they fit.
func (r *Run) checkDigests() error {
	for i := range r.Iterations {
		it := &r.Iterations[i]
		if it.Digest != nil && *it.Digest != *it.digest() {
			return errDigest
		}
		it.Digest = nil
	}
	return nil
}

// Light is the run without its texts, which reports, replays and tune go by: equal texts stay equal, and different ones different.
// An iteration has the hash of its output as a JSON string, and hashes as messages of errors and faults. Its tool calls and steps are
// as many as they were, and blank: its Digest tells sets of calls apart. The light run shares no texts with the run.
func (r *Run) Light() *Run {
	light := r.withDigests()
	for i := range light.Iterations {
		it := &light.Iterations[i]
		it.Calls = slices.Clone(it.Calls)
	}
	light.dropTexts()
	return light
}

// dropTexts leaves what a light run has, of a run with digests and calls of its own.
func (r *Run) dropTexts() {
	r.Images, r.Servers, r.Extra, r.Outcome.Error = nil, nil, nil, r.Outcome.Error.withoutMessage()
	for i := range r.Iterations {
		r.Iterations[i] = r.Iterations[i].light()
	}
	if len(r.Iterations) == 0 {
		r.Iterations = nil
	}
}

func (it *Iteration) light() Iteration {
	light := Iteration{
		N: it.N, Phase: it.Phase, Strategy: it.Strategy, Request: it.Request, Digest: it.Digest, Calls: it.Calls,
		ToolCalls: blank(blankToolCalls[:], it.Digest.ToolCalls), Steps: blank(blankSteps[:], it.Digest.Steps),
		Skipped: it.Skipped, Cut: it.Cut, Start: it.Start, End: it.End, Untimed: it.Untimed, Working: it.Working,
	}
	if it.Digest.Output != "" {
		light.Output = strconv.AppendQuote(nil, it.Digest.Output)
	}
	for i := range light.Calls {
		c := &light.Calls[i]
		c.Reported, c.Stderr, c.Stdout, c.Error = nil, "", "", c.Error.withoutMessage()
	}
	if e := it.Evaluation; e != nil {
		light.Evaluation = &Evaluation{Confidence: e.Confidence, Passed: e.Passed, Fault: textHash(e.Fault)}
		for _, c := range e.Checks {
			light.Evaluation.Checks = append(light.Evaluation.Checks, Check{Name: c.Name, Weight: c.Weight, Passed: c.Passed})
		}
	}
	if it.Ended != nil {
		light.Ended = &Ended{Reason: it.Ended.Reason, Tool: it.Ended.Tool}
	}
	if it.Error != nil {
		light.Fail(&Error{Class: it.Error.Class, Message: textHash(it.Error.Error())})
	}
	if it.Workspace != nil {
		light.Workspace = &Workspace{Tree: it.Workspace.Tree}
	}
	return light
}

func (e *Error) withoutMessage() *Error {
	if e == nil {
		return nil
	}
	return &Error{Class: e.Class}
}

// What light runs share, and nobody writes to.
var (
	blankToolCalls [1 << 10]ToolCall
	blankSteps     [1 << 10]Step
)

// blank are so many zero values.
func blank[T any](shared []T, n int) []T {
	switch {
	case n <= 0:
		return nil
	case n > len(shared):
		return make([]T, n)
	}
	return shared[:n:n]
}

// lightRun is a record whose texts are passed over.
type lightRun struct {
	Run
	Iterations []lightIteration `json:"iterations"`
	Images     skipped          `json:"images"`
	Servers    skipped          `json:"servers"`
	Extra      skipped          `json:"extra"`
}

type lightIteration struct {
	Iteration
	Output     skipped `json:"output"`
	OutputB64  skipped `json:"output_b64"`
	Thinking   skipped `json:"thinking"`
	ToolCalls  skipped `json:"tool_calls"`
	Prompt     skipped `json:"prompt"`
	Steps      skipped `json:"steps"`
	Adaptation skipped `json:"adaptation"`
	Extra      skipped `json:"extra"`
}

// skipped is a value that is not decoded.
type skipped struct{}

// UnmarshalJSONFrom passes over a value as a whole: SkipValue would go token by token.
func (*skipped) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	_, err := d.ReadValue()
	return err
}

var lightRuns = sync.Pool{New: func() any { return &lightRun{} }}

// lightOf reads a record without its texts. One without digests, which an earlier version wrote or a baseline has, is read whole, as is
// one with texts that are not UTF-8.
func lightOf(object []byte) (*Run, error) {
	if !bytes.Contains(object, []byte(badByte)) {
		line := lightRuns.Get().(*lightRun)
		defer lightRuns.Put(line)
		clear(line.Iterations)
		*line = lightRun{Iterations: line.Iterations[:0]}
		if err := decode(object, line); err != nil {
			return nil, err
		}
		if run := line.run(); run != nil {
			return run, cmp.Or(knownVersion(run.Version), run.impossible())
		}
	}
	run, err := runOf(object)
	if err != nil {
		return nil, err
	}
	return run.Light(), nil
}

// run is the light run, which shares no memory with the line; nil where a digest is missing.
func (l *lightRun) run() *Run {
	run := l.Run
	run.Iterations = make([]Iteration, len(l.Iterations))
	for i := range l.Iterations {
		run.Iterations[i] = l.Iterations[i].Iteration
		if run.Iterations[i].Digest == nil {
			return nil
		}
	}
	run.dropTexts()
	return &run
}
