package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/model"
)

// What a server says of the rate of calls: when to try again, and what is left of its limits.

// limitHeaders are where servers say what is left of a limit, and when all of it is there again.
var limitHeaders = []struct {
	of          model.Quantity
	left, reset string // as net/http writes them
}{
	{model.Requests, "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	{model.Tokens, "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	{model.Requests, "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	{model.Tokens, "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
	{model.InputTokens, "Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
	{model.OutputTokens, "Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset"},
}

// limits are what an answer that begins now says is left. A limit without a whole number of at least 0 and a time
// to come says nothing.
func (l *Line) limits(header http.Header) (told []model.Limit) {
	var now time.Time
	for i := range limitHeaders {
		h := &limitHeaders[i]
		left, reset := header[h.left], header[h.reset]
		if len(left) == 0 || len(reset) == 0 {
			continue
		}
		if now.IsZero() {
			now = l.Now()
		}
		n, err := strconv.ParseInt(strings.TrimSpace(left[0]), 10, 64)
		if wait := untilReset(reset[0], now); err == nil && n >= 0 && wait > 0 {
			told = append(told, model.Limit{Of: h.of, Left: n, Until: now.Add(wait)})
		}
	}
	return told
}

// mostRetryAfter bounds what a header may ask for, so that no number overflows.
const mostRetryAfter = 365 * 24 * time.Hour

// retryAfter reads how long a server asks to wait: retry-after-ms, or
// Retry-After in seconds or as a date, or else, of a refusal for its rate, when
// the last of its limits is reset. What cannot be is ignored.
func retryAfter(status int, header http.Header, now time.Time) time.Duration {
	if wait, ok := number(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return wait
	}
	value := header.Get("Retry-After")
	if wait, ok := number(value, time.Second); ok {
		return wait
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, at.Sub(now)), mostRetryAfter)
	}
	if status == http.StatusTooManyRequests {
		return lastReset(header, now)
	}
	return 0
}

// lastReset is the longest of x-ratelimit-reset-* and anthropic-ratelimit-*-reset.
func lastReset(header http.Header, now time.Time) (longest time.Duration) {
	for name, values := range header {
		name = strings.ToLower(name)
		if strings.HasPrefix(name, "x-ratelimit-reset") || strings.HasPrefix(name, "anthropic-ratelimit-") && strings.HasSuffix(name, "-reset") {
			longest = max(longest, untilReset(values[0], now))
		}
	}
	return longest
}

// untilReset reads the forms that servers use: 6m0s, 59.7 (seconds), a time, and a
// Unix time in seconds or milliseconds.
func untilReset(text string, now time.Time) time.Duration {
	text = strings.TrimSpace(text)
	if wait, err := time.ParseDuration(text); err == nil {
		return min(max(0, wait), mostRetryAfter)
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return min(max(0, at.Sub(now)), mostRetryAfter)
	}
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || !(n >= 0):
		return 0
	case n >= 1e12 && n < 1e15:
		return min(max(0, time.UnixMilli(int64(n)).Sub(now)), mostRetryAfter)
	case n >= 1e9 && n < 1e12:
		return min(max(0, time.Unix(int64(n), 0).Sub(now)), mostRetryAfter)
	}
	return time.Duration(min(n*float64(time.Second), float64(mostRetryAfter)))
}

func number(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n >= 0) {
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(mostRetryAfter))), true
}

// shouldRetry reads x-should-retry.
func shouldRetry(header http.Header) *bool {
	retry, err := strconv.ParseBool(header.Get("X-Should-Retry"))
	if err != nil {
		return nil
	}
	return &retry
}
