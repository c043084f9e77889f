package record

import (
	"encoding/json"
	"fmt"
	"time"
)

// Effort is what runs really took, all attempts at them together: unlike their
// usage, which is as if nothing came from a cache and nothing was done twice.
type Effort struct {
	Paid     Usage         `json:"paid,omitzero"`       // what was really spent
	Cached   int64         `json:"cached,omitempty"`    // calls that the cache answered
	Made     int64         `json:"made,omitempty"`      // calls that it did not
	Attempts int64         `json:"attempts,omitempty"`  // requests sent, retries included
	Waited   time.Duration `json:"waited_ns,omitempty"` // rate limits and back-off
}

// Add counts a run.
func (e *Effort) Add(r *Run) { e.add(&r.Volatile, r.Total().Calls) }

// add counts what is volatile of a run that asked for so many calls.
func (e *Effort) add(v *Volatile, calls int64) {
	e.Paid = e.Paid.Plus(v.Paid)
	e.Cached += int64(v.Cached)
	e.Made += calls - int64(v.Cached)
	e.Attempts += int64(v.Attempts)
	e.Waited += v.Waited
}

// Plus is the sum of both.
func (e Effort) Plus(f Effort) Effort {
	e.Paid = e.Paid.Plus(f.Paid)
	e.Cached += f.Cached
	e.Made += f.Made
	e.Attempts += f.Attempts
	e.Waited += f.Waited
	return e
}

// EffortOf is what the records of a folder say that their runs really took. It
// reads the records; the manifest of a folder that was closed knows it already.
func EffortOf(dir string) (Effort, error) {
	var sum Effort
	err := visit(dir, recordsFile, func(o *object, err error) error {
		var run struct {
			Usage, Judging, User struct{ Calls int64 }
			Volatile             Volatile
		}
		if err != nil || json.Unmarshal(o.json, &run) != nil {
			return nil // damage is told by those who need the runs
		}
		sum.add(&run.Volatile, run.Usage.Calls+run.Judging.Calls+run.User.Calls)
		return nil
	})
	if err != nil {
		return sum, fmt.Errorf("adding up what was paid: %w", err)
	}
	return sum, nil
}
