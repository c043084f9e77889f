package mockserver

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Limits refuse what comes too fast, with status 429.
type Limits struct {
	Requests   int     // a minute; 0: no limit
	Tokens     int     // a minute, input and allowed output; 0: no limit
	Burst      float64 // minutes' worth that may come at once; default 1, as at OpenAI
	RetryAfter Form    // how a refusal says when to come back
}

// Form is how a server says how long to wait.
type Form string

// The forms of Retry-After.
const (
	Seconds Form = "seconds" // the default; rounded up
	Millis  Form = "ms"      // retry-after-ms
	Date    Form = "date"    // rounded up
	Silent  Form = "none"
)

// set writes the header.
func (f Form) set(header http.Header, wait time.Duration, now time.Time) {
	switch f {
	case Millis:
		header.Set("Retry-After-Ms", strconv.FormatInt(int64(math.Ceil(wait.Seconds()*1000)), 10))
	case Date:
		header.Set("Retry-After", now.Add(wait+time.Second-1).UTC().Format(http.TimeFormat))
	case Silent:
	default:
		header.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(wait.Seconds())), 10))
	}
}

// limiter holds requests to the limits.
type limiter struct {
	lock             sync.Mutex
	requests, tokens bucket
	form             Form
}

func (l *limiter) reset(limits Limits, now time.Time) {
	l.lock.Lock()
	defer l.lock.Unlock()
	burst := limits.Burst
	if burst <= 0 {
		burst = 1
	}
	l.requests = newBucket("requests", limits.Requests, burst, now)
	l.tokens = newBucket("tokens", limits.Tokens, burst, now)
	l.form = limits.RetryAfter
}

// admit takes the request from the limits or gives the error of a refusal. The
// header tells in either case what is left.
func (l *limiter) admit(tokens int64, header http.Header, now time.Time) *apiError {
	l.lock.Lock()
	defer l.lock.Unlock()
	refused, wait := l.requests.lack(1, now)
	if more, longer := l.tokens.lack(float64(tokens), now); longer > wait {
		refused, wait = more, longer
	}
	if wait == 0 {
		l.requests.level--
		l.tokens.level -= float64(tokens)
	} else {
		l.form.set(header, wait, now)
	}
	l.requests.tell(header)
	l.tokens.tell(header)
	return refused
}

// bucket is filled steadily and emptied by requests.
type bucket struct {
	what      string
	limit     int // a minute; 0: none
	capacity  float64
	level     float64
	updatedAt time.Time
}

func newBucket(what string, limit int, burst float64, now time.Time) bucket {
	capacity := max(1, float64(limit)*burst)
	return bucket{what, limit, capacity, capacity, now}
}

func (b *bucket) perSecond() float64 { return float64(b.limit) / 60 }

// lack is the error, and how long until the bucket has room for so much; nil
// and 0 where it has. What is more than the bucket holds never finds room.
func (b *bucket) lack(amount float64, now time.Time) (*apiError, time.Duration) {
	if b.limit == 0 {
		return nil, 0
	}
	b.level = min(b.capacity, b.level+now.Sub(b.updatedAt).Seconds()*b.perSecond())
	b.updatedAt = now
	if amount <= b.level+1e-9 {
		return nil, 0
	}
	wait := time.Duration(math.Ceil((min(amount, b.capacity) - b.level) / b.perSecond() * 1e9))
	code := "rate_limit_exceeded"
	return &apiError{
		Message: fmt.Sprintf("Rate limit reached for %s per min: Limit %d, Requested %.0f. Please try again in %v.", b.what, b.limit, amount, wait),
		Type:    b.what, Code: &code,
	}, max(wait, 1)
}

// tell writes the x-ratelimit headers: the reset is when the bucket is full.
func (b *bucket) tell(header http.Header) {
	if b.limit == 0 {
		return
	}
	full := time.Duration((b.capacity - b.level) / b.perSecond() * 1e9)
	header.Set("X-Ratelimit-Limit-"+b.what, strconv.Itoa(b.limit))
	header.Set("X-Ratelimit-Remaining-"+b.what, strconv.FormatInt(int64(max(0, b.level)), 10))
	header.Set("X-Ratelimit-Reset-"+b.what, full.Round(time.Millisecond).String())
}
