package mockserver

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/time/rate"

	"github.com/agentbench/agentbench/engine/model"
)

// Limit is what is taken in a minute: so many requests, or so many tokens. All of it may come at once. The zero Limit takes everything.
type Limit struct {
	Requests int
	Tokens   int // of the request and those that it allows its reply; only where Requests is 0
}

// limiter holds requests to a limit; nil takes everything.
type limiter struct {
	of        string
	perMinute int
	bucket    *rate.Limiter
}

func newLimiter(l Limit) *limiter {
	of, perMinute := "requests", l.Requests
	if perMinute == 0 {
		of, perMinute = "tokens", l.Tokens
	}
	if perMinute == 0 {
		return nil
	}
	return &limiter{of, perMinute, rate.NewLimiter(rate.Limit(float64(perMinute)/60), perMinute)}
}

// take takes a request, or gives the refusal. The header tells in either case what is left, in the words of the vendor.
func (l *limiter) take(p model.Protocol, t *turn, header http.Header, now time.Time) error {
	if l == nil {
		return nil
	}
	amount := 1
	if l.of == "tokens" {
		amount = min(int(t.inputTokens())+max(0, t.MaxOutputTokens), l.perMinute)
	}
	taken := l.bucket.AllowN(now, amount)
	left := l.bucket.TokensAt(now)
	until := func(level int) time.Duration {
		return time.Duration(math.Ceil((float64(level)-left)/float64(l.bucket.Limit()))) * time.Second
	}
	form, full := "X-Ratelimit-%s-"+l.of, until(l.perMinute)
	reset := full.String()
	if p == model.Messages {
		form, reset = "Anthropic-Ratelimit-"+l.of+"-%s", now.Add(full).UTC().Format(time.RFC3339)
	}
	header.Set(fmt.Sprintf(form, "Limit"), strconv.Itoa(l.perMinute))
	header.Set(fmt.Sprintf(form, "Remaining"), strconv.Itoa(int(max(0, left))))
	header.Set(fmt.Sprintf(form, "Reset"), reset)
	if taken {
		return nil
	}
	wait := until(amount)
	header.Set("Retry-After", strconv.Itoa(int(wait.Seconds())))
	return &problem{
		status:  http.StatusTooManyRequests,
		message: fmt.Sprintf("rate limit reached: %d %s per minute; try again in %v", l.perMinute, l.of, wait),
	}
}
