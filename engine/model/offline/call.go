package offline

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Call is what calls of a model stand for. The zero Call takes no time, and its
// tokens are estimated from the texts.
type Call struct {
	Latency spec.Latency
	Tokens  spec.TokenCounts
	Sleep   bool          // really wait
	Timeout time.Duration // of one call; 0: none
}

// Of is what calls of a declared model stand for.
func CallOf(m *spec.Model) Call {
	return Call{Latency: m.Latency, Tokens: m.Tokens, Sleep: m.Sleep, Timeout: m.Timeout}
}

// Varies says that chance has a part in it; else Duration and Usage take a nil one.
func (c *Call) Varies() bool { return c.Latency.Sigma > 0 || c.Tokens.Spread > 0 }

// longest is what one call takes at most: sums of many calls stay far from where
// they would wrap.
const longest = 24 * time.Hour

// Duration draws how long a call takes, a day at most: lognormal around the median.
func (c *Call) Duration(chance *rand.Rand) time.Duration {
	if c.Latency.Sigma <= 0 || c.Latency.Median <= 0 {
		return min(c.Latency.Median, longest)
	}
	drawn := float64(c.Latency.Median) * math.Exp(c.Latency.Sigma*chance.NormFloat64())
	return time.Duration(min(drawn, float64(longest)))
}

// Usage draws what a call uses. Counts that are not declared are estimated from
// what is sent and written, and the usage says so. As at a server, no reply is
// longer than the request allows.
func (c *Call) Usage(request *model.Request, reply *model.Reply, chance *rand.Rand) record.Usage {
	used := record.Usage{Calls: 1}
	if used.InputTokens = c.around(c.Tokens.Input, chance); used.InputTokens == 0 {
		used.InputTokens, used.Estimated = request.InputTokens(), 1
	}
	if used.OutputTokens = c.around(c.Tokens.Output, chance); used.OutputTokens == 0 {
		used.OutputTokens, used.Estimated = model.EstimateTokens(reply.Bytes()), 1
	}
	if most := int64(request.MaxOutputTokens); most > 0 {
		used.OutputTokens = min(used.OutputTokens, most)
	}
	return used
}

// around draws a count of at least 1 around a mean, 0 where there is no mean.
func (c *Call) around(mean int, chance *rand.Rand) int64 {
	switch {
	case mean <= 0:
		return 0
	case c.Tokens.Spread <= 0:
		return int64(c.Tokens.Most(mean))
	}
	drawn := math.Round(float64(mean) * (1 + c.Tokens.Spread*chance.NormFloat64()))
	return int64(min(max(1, drawn), float64(c.Tokens.Most(mean))))
}

// Pass lets the time of a call pass, really or as-if. Its errors are the call's
// timeout and the context's cause.
func (c *Call) Pass(ctx context.Context, d time.Duration) error {
	late := c.Timeout > 0 && d > c.Timeout
	if late {
		d = c.Timeout
	}
	if err := c.wait(ctx, d); err != nil {
		return err
	}
	if late {
		return model.Fail(record.CallTimeout, fmt.Sprintf("the call took longer than %v", c.Timeout), d)
	}
	return nil
}

func (c *Call) wait(ctx context.Context, d time.Duration) error {
	if !c.Sleep || d <= 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
