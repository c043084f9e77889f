package reports

import (
	"fmt"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

// Effort compares what the runs cost as if nothing were cached with what was
// really paid, all attempts at them together. Two results of the same runs may
// differ in it: it is in no table, and stands in JSON under "volatile", which is
// left out where reports are compared.
type Effort struct {
	Cached   int64      `json:"cached"`   // calls that the cache answered
	Made     int64      `json:"made"`     // calls that it did not
	Attempts int64      `json:"attempts"` // requests sent
	Waited   page.Value `json:"waited_s"` // for rate limits, and to try again
	AsIf     Spent      `json:"as_if"`
	Paid     Spent      `json:"paid"`
}

// Spent are the totals of usages.
type Spent struct {
	Calls  int64      `json:"calls"`
	Tokens int64      `json:"tokens"`
	Cost   page.Value `json:"cost_usd"`
}

// EffortOf is the effort of the manifest's runs; nil where nothing was cached,
// tried again or paid beyond what the runs show.
func EffortOf(m *record.Manifest) *Effort {
	asIf, e := m.Totals.Used(), &m.Volatile.Effort
	if e.Made == 0 && e.Cached == 0 || e.Cached == 0 && e.Attempts <= e.Made && spentOf(asIf) == spentOf(e.Paid) {
		return nil
	}
	return &Effort{
		Cached: e.Cached, Made: e.Made, Attempts: e.Attempts, Waited: page.Known(e.Waited.Seconds()),
		AsIf: spentOf(asIf), Paid: spentOf(e.Paid),
	}
}

func spentOf(u record.Usage) Spent {
	return Spent{Calls: u.Calls, Tokens: u.Tokens(), Cost: totalCost(u, 1)}
}

// Text is the effort for people, in a line.
func (e *Effort) Text() string {
	text := fmt.Sprintf("cache: %s, %s", page.Plural(int(e.Cached), "hit", "hits"), page.Plural(int(e.Made), "miss", "misses"))
	if e.Attempts > e.Made {
		text += fmt.Sprintf("; %s sent", page.Plural(int(e.Attempts), "request", "requests"))
	}
	if e.Waited.Number > 0 {
		text += ", " + page.Seconds(e.Waited) + " waited"
	}
	return text + fmt.Sprintf("; cost as if nothing were cached %s, paid %s", e.AsIf.cost(), e.Paid.cost())
}

func (s Spent) cost() string { return page.Dollars(s.Cost, 2) }
