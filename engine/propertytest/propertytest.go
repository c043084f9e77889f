// Package propertytest runs property tests. Check tries the same cases
// every time, so that a test that passed passes again. New cases
// are explored where AGENTBENCH_EXPLORE says for how long, and the seeds of those
// that fail become fixed cases of their test.
//
// It is no stable API.
package propertytest

import (
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Explore is the variable that says how long the tests of one package look for new
// cases, such as 10m. They share it evenly.
const Explore = "AGENTBENCH_EXPLORE"

// Check tries a property on as many cases as -rapid.checks says, or on 20, which are
// drawn from the name of the test, or from -rapid.seed where that is set. Before these
// it tries the cases of the seeds: those that an exploration found.
func Check(t *testing.T, property func(*rapid.T), seeds ...uint64) {
	t.Helper()
	CheckCases(t, 100, property, seeds...)
}

// CheckCases tries a property on so many cases where -rapid.checks is 100, and by
// default on a fifth of them.
func CheckCases(t *testing.T, cases int, property func(*rapid.T), seeds ...uint64) {
	t.Helper()
	settings.Lock()
	defer settings.Unlock()
	cases = max(cases*percent()/100, 1)
	defer set(t, noFailFile, "true")()
	if given := flag.Lookup(seed).Value.String(); given != "0" {
		try(t, t, given, cases, property)
		return
	}
	for _, known := range seeds {
		try(t, t, text(known), 1, property)
	}
	try(t, t, text(ofName(t.Name())), cases, property)
	explore(t, property)
}

// percent is what -rapid.checks says where the command line has it, or 20. It is found before the first property sets the flag.
var percent = sync.OnceValue(func() int {
	share := 20
	flag.Visit(func(f *flag.Flag) {
		if f.Name == checks {
			share, _ = strconv.Atoi(f.Value.String())
		}
	})
	return share
})

// Settings of rapid, which are flags of the test's process.
const (
	seed       = "rapid.seed"
	checks     = "rapid.checks"
	noFailFile = "rapid.nofailfile"
)

// settings guards the flags: one property is tried at a time.
var settings sync.Mutex

// set gives a flag a value until the result is called.
func set(t *testing.T, name, value string) (back func()) {
	before := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	return func() { flag.Set(name, before) }
}

// try tries so many cases from a seed on, and reports to a T, which may be that of
// the test.
func try(t *testing.T, report rapid.TB, from string, cases int, property func(*rapid.T)) {
	t.Helper()
	if testing.Short() {
		cases *= 5 // of which rapid tries every fifth
	}
	defer set(t, seed, from)()
	defer set(t, checks, strconv.Itoa(cases))()
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(400)) // a case leaves nothing but garbage
	}
	rapid.Check(report, property)
}

func text(seed uint64) string { return strconv.FormatUint(seed, 10) }

// ofName is the seed of a test that has none.
func ofName(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64() | 1 // 0 is none
}

// explored is how long the tests of this process have looked for new cases.
var explored time.Duration

// explore tries new cases for the test's share of the time, and for no more than
// half of the time that the process has left.
func explore(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	value := os.Getenv(Explore)
	if value == "" {
		return
	}
	whole, err := time.ParseDuration(value)
	if err != nil {
		t.Fatalf("%s: %v", Explore, err)
	}
	share := min(whole/time.Duration(properties(t)), whole-explored)
	if deadline, ok := t.Deadline(); ok {
		share = min(share, time.Until(deadline)/2)
	}
	cases, began := 0, time.Now()
	defer func() {
		explored += time.Since(began)
		if t.Failed() {
			t.Log("give the seed to the property as one of its cases once it holds")
		}
	}()
	for time.Since(began) < share {
		try(t, quiet{t}, text(rand.Uint64()), 20, property)
		cases += 20
	}
	t.Logf("explored %d new cases in %v", cases, share)
}

// quiet is a T whose log has nothing of what holds.
type quiet struct{ *testing.T }

// Logf drops what rapid says of cases that hold.
func (q quiet) Logf(format string, args ...any) {
	q.Helper()
	if !strings.HasPrefix(format, "[rapid] OK") {
		q.T.Logf(format, args...)
	}
}
