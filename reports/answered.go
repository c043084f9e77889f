package reports

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
)

// answered is what answered in the place of a model of the suite.
type answered struct {
	calls, others int64    // all calls, and those that another one answered
	names         []string // of the others, in order: the first mostAnswered
	more          bool
}

// mostAnswered are named: a server could find a new name for every call.
const mostAnswered = 4

func (u *sums) addAnswered(iterations []record.IterationSignals) {
	for i := range iterations {
		for _, call := range iterations[i].Calls {
			if call.Model == "" {
				continue
			}
			if u.answered[call.Model] == nil {
				u.answered[call.Model] = &answered{}
			}
			u.answered[call.Model].add(call.Answered)
		}
	}
}

func (a *answered) add(other string) {
	a.calls++
	if other == "" {
		return
	}
	a.others++
	at, known := slices.BinarySearch(a.names, other)
	if !known {
		a.names = slices.Insert(a.names, at, other)
	}
	if len(a.names) > mostAnswered {
		a.names, a.more = a.names[:mostAnswered], true
	}
}

// answeredWarnings tell whose answers the numbers are about where that is not what the
// suite says.
func (u *sums) answeredWarnings() (warnings []Warning) {
	for _, model := range slices.Sorted(maps.Keys(u.answered)) {
		if a := u.answered[model]; a.others > 0 {
			names := strings.Join(a.names, ", ")
			if a.more {
				names += " and others"
			}
			warnings = append(warnings, Warning{Kind: OtherModel, Name: model, Count: int(a.others), Of: int(a.calls), More: names})
		}
	}
	return warnings
}
