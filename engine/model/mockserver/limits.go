package mockserver

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Schedule is what the first requests meet, in the order of arrival.
type Schedule struct {
	Steps  []Fault
	Repeat bool // start over after the last
}

// ParseSchedule reads faults, separated by commas: "ok*2,429:retry-after=2,cut".
// A last step "repeat" makes it start over.
func ParseSchedule(text string) (Schedule, error) {
	var schedule Schedule
	steps := strings.Split(text, ",")
	for i, step := range steps {
		step = strings.TrimSpace(step)
		if step == "repeat" && i > 0 && i == len(steps)-1 {
			schedule.Repeat = true
			break
		}
		fault, times, err := parseStep(step)
		if err != nil {
			return Schedule{}, err
		}
		for range times {
			schedule.Steps = append(schedule.Steps, fault)
		}
	}
	return schedule, nil
}

// mostSteps keeps a slip of the finger from filling the memory.
const mostSteps = 100_000

func parseStep(step string) (Fault, int, error) {
	step, count, counted := strings.Cut(step, "*")
	times := 1
	if counted {
		var err error
		if times, err = strconv.Atoi(count); err != nil || times < 1 || times > mostSteps {
			return Fault{}, 0, fmt.Errorf("%s*%s: how often is a number from 1 to %d", step, count, mostSteps)
		}
	}
	fault, err := ParseFault(step)
	return fault, times, err
}

// Rated is a fault with how often it shows.
type Rated struct {
	Every int     // each so manieth request
	First int     // the first requests
	At    int     // the one request, from 1
	Share float64 // of all requests, drawn for each
	Fault Fault   // of kind transient: each transient kind in turn
}

// ParseRated reads WHEN:FAULT, where WHEN is every=N, first=N, at=N or share=P.
// Without it every request meets the fault.
func ParseRated(text string) (Rated, error) {
	rated := Rated{Every: 1}
	if when, rest, found := strings.Cut(text, ":"); found && strings.Contains(when, "=") {
		var err error
		if rated, err = parseWhen(when); err != nil {
			return Rated{}, err
		}
		text = rest
	}
	fault, err := ParseFault(text)
	rated.Fault = fault
	return rated, err
}

func parseWhen(when string) (rated Rated, err error) {
	name, value, _ := strings.Cut(when, "=")
	counts := map[string]*int{"every": &rated.Every, "first": &rated.First, "at": &rated.At}
	switch count := counts[name]; {
	case count != nil:
		if *count, err = strconv.Atoi(value); err != nil || *count < 1 {
			err = fmt.Errorf("%s: want a number of at least 1", when)
		}
	case name == "share":
		if rated.Share, err = strconv.ParseFloat(value, 64); err != nil || !(rated.Share > 0 && rated.Share <= 1) {
			err = fmt.Errorf("%s: want a share above 0, at most 1", when)
		}
	default:
		err = fmt.Errorf("%q says not when: want every=N, first=N, at=N or share=P", when)
	}
	return rated, err
}

// faults decide which fault each request meets.
type faults struct {
	lock     sync.Mutex
	schedule Schedule
	rated    []Rated
	seed     uint64
	arrived  int // requests, refused ones left out
	shown    int // faults of the kind transient
}

func (f *faults) reset(o *Options) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.schedule, f.rated, f.seed = o.Schedule, o.Faults, o.Seed
	f.arrived, f.shown = 0, 0
}

// next is the fault that a request meets: the schedule's, else the first of
// those by count or share whose turn it is, else none.
func (f *faults) next(request *request) Fault {
	f.lock.Lock()
	defer f.lock.Unlock()
	n := f.arrived
	f.arrived++
	if steps := len(f.schedule.Steps); n < steps || f.schedule.Repeat && steps > 0 {
		return f.turn(f.schedule.Steps[n%steps])
	}
	for i := range f.rated {
		if f.rated[i].due(n+1, f.seed, i, request) {
			return f.turn(f.rated[i].Fault)
		}
	}
	return Fault{Kind: noFault, kind: &kind{}}
}

// turn resolves the kind transient.
func (f *faults) turn(fault Fault) Fault {
	if fault.Kind != transient {
		return fault
	}
	inTurn := transients()
	f.shown++
	next, _ := ParseFault(inTurn[(f.shown-1)%len(inTurn)]) // names of the table
	return next
}

// due reports whether the n-th request, from 1, meets the fault.
func (r *Rated) due(n int, seed uint64, place int, request *request) bool {
	switch {
	case r.Every > 0:
		return n%r.Every == 0
	case r.First > 0:
		return n <= r.First
	case r.At > 0:
		return n == r.At
	}
	drawn, _ := draw(seed, "fault "+strconv.Itoa(place), request)
	return float64(drawn) < r.Share*math.Exp2(64)
}

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
func (l *limiter) admit(v vendor, tokens int64, header http.Header, now time.Time) (refused *problem) {
	l.lock.Lock()
	defer l.lock.Unlock()
	lacking, amount, wait := &l.requests, 1.0, l.requests.lack(1, now)
	if longer := l.tokens.lack(float64(tokens), now); longer > wait {
		lacking, amount, wait = &l.tokens, float64(tokens), longer
	}
	if wait == 0 {
		l.requests.level--
		l.tokens.level -= float64(tokens)
	} else {
		l.form.set(header, wait, now)
		refused = v.tooFast(lacking.what, lacking.limit, amount, wait)
	}
	for _, b := range []*bucket{&l.requests, &l.tokens} {
		if b.limit > 0 {
			v.limits(header, limits{b.what, b.limit, int64(max(0, b.level)), time.Duration((b.capacity - b.level) / b.perSecond() * 1e9), now})
		}
	}
	return refused
}

// limits are what a server tells of one of its limits.
type limits struct {
	what      string // requests, tokens
	limit     int    // a minute
	remaining int64
	full      time.Duration // until nothing is used
	now       time.Time
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

// lack is how long until the bucket has room for so much; 0 where it has. What is
// more than the bucket holds never finds room.
func (b *bucket) lack(amount float64, now time.Time) time.Duration {
	if b.limit == 0 {
		return 0
	}
	b.level = min(b.capacity, b.level+now.Sub(b.updatedAt).Seconds()*b.perSecond())
	b.updatedAt = now
	if amount <= b.level+1e-9 {
		return 0
	}
	return max(1, time.Duration(math.Ceil((min(amount, b.capacity)-b.level)/b.perSecond()*1e9)))
}
