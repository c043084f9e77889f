package openai

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// mostRetryAfter bounds what a header may ask for, so that no number overflows.
const mostRetryAfter = 365 * 24 * time.Hour

// retryAfter reads how long a server asks to wait: retry-after-ms, or
// Retry-After in seconds or as a date. What cannot be is ignored.
func retryAfter(header http.Header, now time.Time) time.Duration {
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
	return 0
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
