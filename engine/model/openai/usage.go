package openai

import (
	"encoding/json"
	"math"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
)

// mostTokens is more than any call can use; a server that reports more is not believed.
const mostTokens = 1 << 30

// counted learns from what a server reports how far the estimates of tokens by
// characters are off for its model. The zero value corrects nothing yet.
type counted struct {
	mu            sync.Mutex
	input, output ratio
}

// ratio compares reported tokens with estimated ones.
type ratio struct{ reported, estimated float64 }

func (r *ratio) correct(estimate int64) int64 {
	if r.estimated == 0 {
		return estimate
	}
	return int64(math.Ceil(float64(estimate) * r.reported / r.estimated))
}

func (r *ratio) learn(reported, estimate int64) {
	if estimate == 0 {
		return
	}
	r.reported += float64(reported)
	r.estimated += float64(estimate)
}

// count is a number of tokens, or of anything that is counted: a whole number in
// whatever way it is written, 12, 12.0, 1.2e1 or "12". Anything else is not known.
type count struct {
	n     int64
	known bool
}

// UnmarshalJSON takes anything.
func (c *count) UnmarshalJSON(raw []byte) error {
	var number json.Number // also of a text
	if json.Unmarshal(raw, &number) != nil || number == "" {
		return nil
	}
	if n, err := number.Int64(); err == nil {
		*c = count{n, true}
	} else if f, err := number.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) <= mostTokens {
		*c = count{int64(f), true}
	}
	return nil
}

// reported is what a server says of the usage of a call.
type reported struct {
	Prompt     count `json:"prompt_tokens"`
	Completion count `json:"completion_tokens"`
	CacheHits  count `json:"prompt_cache_hit_tokens"`
	OfPrompt   struct {
		Cached count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	OfCompletion struct {
		Reasoning count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// usage believes the server where what it says can be; else it takes the
// estimates, corrected by what the server has reported before.
func (c *counted) usage(raw json.RawMessage, input, output int64) record.Usage {
	var said reported
	_ = json.Unmarshal(raw, &said) // what has another type is not known
	used := record.Usage{
		Calls: 1, InputTokens: said.Prompt.n, OutputTokens: said.Completion.n,
		CachedTokens: max(said.CacheHits.n, said.OfPrompt.Cached.n),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !said.Prompt.known || !said.Completion.known || !plausible(&used, &said, output) {
		return record.Usage{Calls: 1, InputTokens: c.input.correct(input), OutputTokens: c.output.correct(output), Estimated: 1}
	}
	used.ReasoningTokens = max(0, min(said.OfCompletion.Reasoning.n, used.OutputTokens)) // some servers count them apart
	c.input.learn(used.InputTokens, input)
	c.output.learn(used.OutputTokens, output) // hidden reasoning included
	return used
}

func plausible(used *record.Usage, said *reported, output int64) bool {
	return used.InputTokens > 0 && used.InputTokens <= mostTokens &&
		min(said.CacheHits.n, said.OfPrompt.Cached.n) >= 0 && used.CachedTokens <= used.InputTokens &&
		used.OutputTokens >= 0 && used.OutputTokens <= mostTokens &&
		(used.OutputTokens > 0 || output == 0)
}
