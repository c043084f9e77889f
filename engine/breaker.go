package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// faultsInARow end a plan: so many runs one after the other that failed for the
// infrastructure's fault, each after its own retries, are no coincidence.
const faultsInARow = 20

// breaker decides whether a plan is worth going on with. It opens where the runs to
// come would fail like those that did: at once without a valid key, money or file
// descriptors, and where the first runs of a configuration are not even understood; after a row of
// other faults of the infrastructure. A run that the suite's budget ended when its
// call was to be tried again is such a fault, too. It is safe for concurrent use.
type breaker struct {
	mu      sync.Mutex
	row     int
	last    *record.Error   // of the row
	counted map[string]bool // configurations of which a run counts
}

// Aborted is why a plan was given up, and the cause that ends its runs in flight where
// they would fail like the others.
type Aborted struct {
	Configuration string
	Row           int // so many runs in a row failed
	Fault         *record.Error
	// Starved says that the row is shorter than it had to be: what the calls of those
	// runs may have cost fills the suite's budget.
	Starved bool
	// Early means that a server of tools that all runs share did not start, before the first run.
	Early bool
	// Unreachable is the model whose server was never there; nil: it is another cause.
	Unreachable *Unreachable
}

// Remedy says what to do before the suite runs again.
func (b *Aborted) Remedy(s *spec.Suite) string {
	switch b.Fault.Class {
	case record.Auth:
		var keys []string
		for i := range s.Models {
			if server, calls := s.Models[i].Value.Server(); calls && !server.Keyless && !slices.Contains(keys, server.KeyEnv) {
				keys = append(keys, server.KeyEnv)
			}
		}
		if len(keys) == 0 {
			return "check the key that api_key_env names"
		}
		return "check the key in " + strings.Join(keys, ", ")
	case record.Quota:
		return "the account or its budget is used up"
	case record.InvalidRequest:
		for i := range s.Models {
			if url := s.Models[i].Value.BaseURL; url != "" && strings.Contains(b.Fault.Message, "404") && !versioned.MatchString(url) {
				return fmt.Sprintf("does the base_url of model %s end in /v1? It is %s", s.Models[i].Key, url)
			}
		}
		return "check the model's name, base_url and settings"
	case record.Unstarted:
		return "start the server by hand to see what it says"
	case record.Resources:
		return "raise the number of open files (ulimit -n), or run with a smaller --concurrency"
	case record.RateLimit:
		return "declare rpm, tpm or max_parallel of the model, or run with a smaller --concurrency"
	}
	return "the server or the network fails: see that it is up"
}

// versioned is the end of an address that names a version of an API.
var versioned = regexp.MustCompile(`/v\d+\w*/?$`)

// Unreachable is a model at whose server nothing listens.
type Unreachable struct {
	Model   string
	Address string // scheme and host
}

func (b *Aborted) Error() string {
	if b.Unreachable != nil {
		return fmt.Sprintf("no server listens at %s, the address of model %s: %v", b.Unreachable.Address, b.Unreachable.Model, b.Fault)
	}
	if b.Starved {
		return fmt.Sprintf("%s: the last calls failed, and what they may have cost leaves no room in the suite's budget", b.cause())
	}
	if b.Early {
		return b.cause()
	}
	if b.Row > 1 {
		return fmt.Sprintf("%s: the last of %d runs in a row that failed", b.cause(), b.Row)
	}
	return fmt.Sprintf("%s: a run of %s failed as all others would", b.cause(), b.Configuration)
}

// cause is the fault without the request that net/http puts before it, so that it comes
// first where a line is cut.
func (b *Aborted) cause() string {
	text, _, _ := strings.Cut(b.Fault.Message, "\n")
	return string(b.Fault.Class) + ": " + posted.ReplaceAllString(text, "")
}

var posted = regexp.MustCompile(`^Post "[^"]*": `)

// after takes the outcome of a run, and says why the plan is to be given up; nil:
// it is not.
func (f *breaker) after(r *record.Run) *Aborted {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault := r.Outcome.Error
	if r.Outcome.Reason == record.ReasonSuiteBudget {
		if fault = lastFailure(r); infrastructure(fault) {
			f.row, f.last = f.row+1, fault
		}
		return nil
	}
	switch {
	case r.Outcome.Counts():
		f.row = 0
		if f.counted == nil {
			f.counted = map[string]bool{}
		}
		f.counted[r.Configuration] = true
		return nil
	case r.Outcome.Status != record.Faulted || fault == nil:
		return nil
	}
	switch fault.Class {
	case record.Auth, record.Quota, record.Resources:
		return &Aborted{Configuration: r.Configuration, Row: 1, Fault: fault}
	case record.InvalidRequest, record.Unstarted:
		if !f.counted[r.Configuration] {
			return &Aborted{Configuration: r.Configuration, Row: 1, Fault: fault}
		}
	}
	if infrastructure(fault) {
		f.last = fault
		if f.row++; f.row >= faultsInARow {
			return &Aborted{Configuration: r.Configuration, Row: f.row, Fault: fault}
		}
	}
	return nil
}

// starved is why a plan that the suite's budget ended has really ended, where the
// last runs failed for the infrastructure and what their calls may have cost fills
// the budget; nil: no run has failed since the last one that counts.
func (f *breaker) starved() *Aborted {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.row == 0 {
		return nil
	}
	return &Aborted{Row: f.row, Fault: f.last, Starved: true}
}

func infrastructure(fault *record.Error) bool {
	if fault == nil {
		return false
	}
	switch fault.Class {
	case record.RateLimit, record.Server, record.Network, record.CallTimeout, record.Incomplete, record.BadResponse:
		return true
	}
	return false
}

// lastFailure is what the last call of a run failed with; nil: it did not.
func lastFailure(r *record.Run) *record.Error {
	if len(r.Iterations) == 0 {
		return nil
	}
	calls := r.Iterations[len(r.Iterations)-1].Calls
	if len(calls) == 0 {
		return nil
	}
	return calls[len(calls)-1].Error
}
