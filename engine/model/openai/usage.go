package openai

import (
	"math"
	"sync"

	"github.com/sashabaranov/go-openai"

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

// usage believes the server where what it says can be; else it takes the
// estimates, corrected by what the server has reported before.
func (c *counted) usage(said *openai.Usage, cacheHits, input, output int64) record.Usage {
	used := record.Usage{
		Calls:        1,
		InputTokens:  int64(said.PromptTokens),
		OutputTokens: int64(said.CompletionTokens),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !plausible(&used, output) {
		used.InputTokens, used.OutputTokens = c.input.correct(input), c.output.correct(output)
		used.Estimated = 1
		return used
	}
	details(&used, said, cacheHits)
	c.input.learn(used.InputTokens, input)
	c.output.learn(used.OutputTokens, output) // hidden reasoning included
	return used
}

func plausible(used *record.Usage, output int64) bool {
	return used.InputTokens > 0 && used.InputTokens <= mostTokens &&
		used.OutputTokens >= 0 && used.OutputTokens <= mostTokens &&
		(used.OutputTokens > 0 || output == 0)
}

// details are parts of the whole, which no server can exceed.
func details(used *record.Usage, said *openai.Usage, cacheHits int64) {
	if d := said.PromptTokensDetails; d != nil {
		cacheHits = max(cacheHits, int64(d.CachedTokens))
	}
	used.CachedTokens = max(0, min(cacheHits, used.InputTokens))
	if d := said.CompletionTokensDetails; d != nil {
		used.ReasoningTokens = max(0, min(int64(d.ReasoningTokens), used.OutputTokens))
	}
}
