package tune

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/page"
)

// LabelFault is the label of runs that would have a fault.
const LabelFault = "fault"

// Unknowns gathers why runs are not exact, or would have a fault: the worst first,
// then what holds for most of them.
func Unknowns(outcomes []sweep.Outcome) []Unknown {
	type reason struct {
		label replay.Label
		why   string
	}
	at, all, labels := map[reason]int{}, []Unknown{}, []replay.Label{}
	for i := range outcomes {
		o := &outcomes[i]
		if o.Verdict == replay.Exact && !o.Excluded() {
			continue
		}
		one := unknownOf(o)
		key := reason{o.Label(), one.Why}
		place, known := at[key]
		if !known {
			place = len(all)
			at[key] = place
			all = append(all, one)
			labels = append(labels, key.label)
		}
		u := &all[place]
		u.Runs, u.First, u.Last = u.Runs+1, min(u.First, one.First), max(u.Last, one.Last)
	}
	rank := map[string]replay.Label{}
	for i := range all {
		rank[all[i].Label] = labels[i] // a fault comes last
	}
	slices.SortFunc(all, func(a, b Unknown) int {
		return cmp.Or(cmp.Compare(rank[b.Label], rank[a.Label]), cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.First, b.First), cmp.Compare(a.Why, b.Why))
	})
	return all
}

// unknownOf is why a run is not exact, or would have a fault.
func unknownOf(o *sweep.Outcome) Unknown {
	if !o.Excluded() {
		return Unknown{Label: o.Label().String(), Why: o.Why, First: o.At, Last: o.At}
	}
	why := o.Outcome.Fired
	if o.Outcome.Error != nil {
		why = o.Outcome.Error.Error()
	}
	return Unknown{Label: LabelFault, Why: "a live run would have a fault: " + why, First: o.Iterations, Last: o.Iterations}
}

// Stops counts the ways in which exact runs stopped.
func StopCounts(outcomes []sweep.Outcome) []StopCount {
	type way struct {
		reason record.Reason
		fired  string
	}
	at, all, exact := map[way]int{}, []StopCount{}, 0
	for i := range outcomes {
		o := &outcomes[i]
		if o.Verdict != replay.Exact || o.Excluded() {
			continue
		}
		exact++
		key := way{o.Outcome.Reason, o.Outcome.Fired}
		place, known := at[key]
		if !known {
			place = len(all)
			at[key] = place
			all = append(all, StopCount{Name: stopName(key.reason, key.fired), Reason: key.reason, Fired: key.fired})
		}
		all[place].Runs++
	}
	for i := range all {
		all[i].Share = page.Ratio(int64(all[i].Runs), int64(exact))
	}
	slices.SortFunc(all, func(a, b StopCount) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Fired, b.Fired))
	})
	return all
}

// stopName is the reason, with the name of what fired where that says more.
func stopName(reason record.Reason, fired string) string {
	text := string(reason)
	if fired == "" || fired == text || strings.HasSuffix(text, ":"+fired) {
		return text
	}
	return text + " (" + fired + ")"
}
