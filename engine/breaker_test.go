package engine

import (
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

func ended(configuration string, status record.Status, class record.ErrorClass) *record.Run {
	r := &record.Run{Configuration: configuration, Outcome: record.Outcome{Status: status}}
	if class != "" {
		r.Outcome.Error = &record.Error{Class: class, Message: "no"}
	}
	return r
}

// F12, F14: what all runs to come would share ends the plan.
func TestF12_F14_Fuse(t *testing.T) {
	good := ended("a", record.Completed, "")
	fault := func(class record.ErrorClass) *record.Run { return ended("a", record.Faulted, class) }
	for name, c := range map[string]struct {
		runs  []*record.Run
		blows int // after so many runs; 0: never
	}{
		"a wrong key":                        {[]*record.Run{fault(record.Auth)}, 1},
		"a key that is revoked":              {[]*record.Run{good, good, fault(record.Auth)}, 3},
		"no money":                           {[]*record.Run{good, fault(record.Quota)}, 2},
		"no file descriptors":                {[]*record.Run{good, fault(record.Resources)}, 2},
		"not understood":                     {[]*record.Run{fault(record.InvalidRequest)}, 1},
		"no server of tools":                 {[]*record.Run{fault(record.Unstarted)}, 1},
		"one task that is not understood":    {[]*record.Run{good, fault(record.InvalidRequest)}, 0},
		"a configuration that is not":        {[]*record.Run{ended("b", record.Completed, ""), fault(record.InvalidRequest)}, 2},
		"an agent that failed counts":        {[]*record.Run{ended("a", record.Failed, record.Program), fault(record.InvalidRequest)}, 0},
		"faults in a row":                    {times(25, fault(record.Server)), faultsInARow},
		"of several kinds":                   {append(times(10, fault(record.Network)), times(15, fault(record.RateLimit))...), faultsInARow},
		"cancelled runs between say nothing": {append(append(times(10, fault(record.Network)), ended("a", record.Cancelled, "")), times(15, fault(record.Network))...), faultsInARow + 1},
		"a good one between":                 {append(append(times(19, fault(record.Network)), good), times(19, fault(record.Network))...), 0},
		"faults of the spec and of ours":     {append(times(30, fault(record.Expression)), times(30, fault(record.Internal))...), 0},
	} {
		var f breaker
		blew := 0
		for i, r := range c.runs {
			if f.after(r) != nil {
				blew = i + 1
				break
			}
		}
		if blew != c.blows {
			t.Errorf("%s: blew after %d runs, want %d", name, blew, c.blows)
		}
	}
}

func times(n int, r *record.Run) []*record.Run {
	return slices.Repeat([]*record.Run{r}, n)
}

// A run that the suite's budget ended when its call was to be tried again is a
// fault of the infrastructure, too; a run that it ended otherwise is none.
func TestTheFuseComesBeforeTheBudget(t *testing.T) {
	good := ended("a", record.Completed, "")
	fault := ended("a", record.Faulted, record.CallTimeout)
	noRoom := func(class record.ErrorClass) *record.Run {
		r := ended("a", record.Cancelled, "")
		r.Outcome.Reason = record.ReasonSuiteBudget
		call := record.Call{}
		if class != "" {
			call.Error = &record.Error{Class: class, Message: "no"}
		}
		r.Iterations = []record.Iteration{{}, {Calls: []record.Call{{}, call}}}
		return r
	}
	never := ended("a", record.Cancelled, "")
	never.Outcome.Reason = record.ReasonSuiteBudget
	for name, c := range map[string]struct {
		runs []*record.Run
		row  int // when the budget ends the plan; 0: it is the budget
	}{
		"all is well":                {[]*record.Run{good, never}, 0},
		"the last ones failed":       {[]*record.Run{good, fault, fault, never}, 2},
		"one has no room any more":   {[]*record.Run{good, noRoom(record.Network), never}, 1},
		"it had, and did not fail":   {[]*record.Run{good, noRoom(""), never}, 0},
		"it failed by itself":        {[]*record.Run{good, noRoom(record.ContextLength)}, 0},
		"a good one came after them": {[]*record.Run{fault, noRoom(record.Network), good, never}, 0},
	} {
		var f breaker
		for _, r := range c.runs {
			if aborted := f.after(r); aborted != nil {
				t.Errorf("%s: %v", name, aborted)
			}
		}
		row, aborted := 0, f.starved()
		if aborted != nil {
			row = aborted.Row
		}
		if row != c.row || aborted != nil && (!aborted.Starved || aborted.Fault == nil) {
			t.Errorf("%s: %+v, want a row of %d", name, aborted, c.row)
		}
	}
}
