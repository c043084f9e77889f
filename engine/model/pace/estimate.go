package pace

import (
	"cmp"
	"math"
	"sync"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// DefaultMaxOutput is reserved for the reply of a call that names no
// MaxOutputTokens, as long as no longer one was seen. A longer one may overshoot
// the budget by its excess.
const DefaultMaxOutput = 4096

// LimitOptions say how calls are priced and reserved.
type LimitOptions struct {
	Price Price
	// Input is what every prompt is reserved at; 0: at an estimate by its text.
	Input int64
	// Guessed means that Input is an estimate.
	Guessed bool
	// MaxOutput is reserved for the reply of a call that names no
	// MaxOutputTokens; 0 means DefaultMaxOutput.
	MaxOutput int64
	// Simulated means that calls use exactly what is estimated: no server is asked.
	Simulated bool
}

// OptionsOf says what calls of a declared model cost and may use. Where tokens are
// declared, as for simulated models, the texts do not matter.
func OptionsOf(m *spec.Model) LimitOptions {
	return LimitOptions{
		Price:     PriceOfModel(m),
		Input:     int64(m.Tokens.Most(m.Tokens.Input)),
		MaxOutput: cmp.Or(m.ReserveOutput, int64(m.Tokens.Most(m.Tokens.Output))),
		Guessed:   m.Tokens.Input == 0 || m.Tokens.Spread > 0,
	}
}

// Reserved is what the run's own budget reserves for a request.
func (o LimitOptions) Reserved(request *model.Request) record.Usage {
	return newEstimate(o).of(request).Expected
}

// messageTokens is what the chat formats add to a message and to the beginning
// of the reply at most: 3 or 4 at OpenAI, 5 in the templates of open models.
const messageTokens = 5

// What servers add where there are tools: once, the words that explain to a model
// how it calls them, of which Anthropic's are the longest with about 350 tokens;
// and the framing of each tool and of each call that was made.
const (
	toolsTokens = 400
	toolTokens  = 16
	callTokens  = 16
)

// estimate says what calls of a model may use. It learns from what calls used.
type estimate struct {
	options LimitOptions

	mu sync.Mutex
	// density is the most tokens of input that were reported for each that was
	// estimated, at least 1; longest is the longest reply seen.
	density float64
	longest int64
}

func newEstimate(o LimitOptions) *estimate {
	if o.MaxOutput <= 0 {
		o.MaxOutput = DefaultMaxOutput
	}
	return &estimate{options: o, density: 1, longest: o.MaxOutput}
}

// of is what a call may use. A token has at least one byte, so that the
// text's length bounds its tokens.
func (e *estimate) of(request *model.Request) Worst {
	e.mu.Lock()
	density, output := e.density, e.longest
	e.mu.Unlock()
	switch {
	case request.Raw != nil && output > e.options.MaxOutput: // a longer reply was seen
		output = max(output, request.Raw.Reserve)
	case request.Raw != nil:
		output = request.Raw.Reserve
	case request.MaxOutputTokens > 0:
		output = int64(request.MaxOutputTokens)
	}
	expected, bound := e.options.Input, e.options.Input
	if expected == 0 {
		framing := framingTokens(request)
		expected = int64(math.Ceil(density * float64(request.InputTokens()+framing)))
		bound = max(expected, request.Bytes()+framing)
	}
	return Worst{Expected: e.priced(expected, output), Bound: e.priced(bound, output), Simulated: e.options.Simulated}
}

func framingTokens(request *model.Request) int64 {
	tokens := messageTokens * (len(request.Messages) + 1)
	if len(request.Tools) > 0 {
		tokens += toolsTokens + toolTokens*len(request.Tools)
	}
	for i := range request.Messages {
		tokens += callTokens * len(request.Messages[i].ToolCalls)
	}
	return int64(tokens)
}

func (e *estimate) priced(input, output int64) record.Usage {
	return e.options.Price.most(record.Usage{Calls: 1, InputTokens: input, OutputTokens: output})
}

// learn compares what a call was expected to use with what it used.
func (e *estimate) learn(request *model.Request, used record.Usage) {
	expected := request.InputTokens() + framingTokens(request)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.longest = max(e.longest, used.OutputTokens)
	e.density = max(e.density, float64(used.InputTokens)/float64(expected))
}
