package mockserver

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
)

// Schedule is what the first requests meet, in the order of arrival.
type Schedule struct {
	Steps  []Fault
	Repeat bool // start over after the last
}

// ParseSchedule reads faults that are parted by commas: "ok*2,429:retry-after=2,cut".
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
func (f *faults) next(request *chatRequest) Fault {
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

// due says whether the n-th request, from 1, meets the fault.
func (r *Rated) due(n int, seed uint64, place int, request *chatRequest) bool {
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
