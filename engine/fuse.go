package engine

import (
	"fmt"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
)

// faultsInARow end a plan: so many runs one after the other that failed for the
// infrastructure's fault, each after its own retries, are no coincidence.
const faultsInARow = 20

// fuse decides whether a plan is worth going on with. It blows where the runs to
// come would fail like those that did: at once without a valid key or money, and
// where the first runs of a configuration are not even understood; after a row of
// other faults of the infrastructure. It is safe for concurrent use.
type fuse struct {
	mu      sync.Mutex
	row     int
	counted map[string]bool // configurations of which a run counts
}

// Blown is why a plan was given up, and the cause that ends its runs in flight.
type Blown struct {
	Configuration string
	Row           int // so many runs in a row failed
	Fault         *record.Error
}

func (b *Blown) Error() string {
	if b.Row > 1 {
		return fmt.Sprintf("%d runs in a row failed, the last one with %v", b.Row, b.Fault)
	}
	return fmt.Sprintf("a run of %s failed as all others would: %v", b.Configuration, b.Fault)
}

// after takes the outcome of a run, and says why the plan is to be given up; nil:
// it is not.
func (f *fuse) after(r *record.Run) *Blown {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault := r.Outcome.Error
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
	case record.Auth, record.Quota:
		return &Blown{r.Configuration, 1, fault}
	case record.InvalidRequest:
		if !f.counted[r.Configuration] {
			return &Blown{r.Configuration, 1, fault}
		}
	case record.RateLimit, record.Server, record.Network, record.CallTimeout, record.Incomplete, record.BadResponse:
		if f.row++; f.row >= faultsInARow {
			return &Blown{r.Configuration, f.row, fault}
		}
	}
	return nil
}
