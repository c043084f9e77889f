package tune

import (
	"slices"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/reports"
)

// fewTasks is the number of tasks, or clusters of them, below which only large
// differences show.
const fewTasks = 20

// note says what a reader of the configuration's numbers must know.
func (c *Configuration) note() {
	for _, n := range []ReplayNote{
		{Kind: ToldLimits, Count: c.Told, Of: c.Runs}, {Kind: Branching, Count: c.Branches - c.Told, Of: c.Runs}, {Kind: Bounds, Count: c.Censored, Of: c.Runs},
		{Kind: WouldFault, Count: c.Faults, Of: c.Runs},
	} {
		if n.Count > 0 {
			c.Warnings = append(c.Warnings, n)
		}
	}
	for i := range c.Scores {
		s := &c.Scores[i]
		for i, n := range s.whys {
			if n > 0 {
				c.Warnings = append(c.Warnings, ReplayNote{Kind: ReturnUnscored, Name: s.Name, Count: n, Of: s.Unscored + s.Scored, More: string(whys[i])})
			}
		}
		if s.Mean.Known() && !s.Interval.Known() {
			c.Warnings = append(c.Warnings, ReplayNote{Kind: reports.NoInterval, Name: s.Name})
		}
	}
}

// Notes say what a reader of all numbers of these runs must know; simulated are the
// models that are, if any are.
func (b *Held) Notes(simulated []string) []ReplayNote {
	of := &Replay{Tasks: len(b.Tasks), Runs: len(b.Runs), Clusters: b.Clusters, Scorers: b.Scores}
	if b.Simulated {
		of.Simulated = simulated
	}
	return slices.DeleteFunc(of.wholeNotes([]*Held{b}), func(n ReplayNote) bool { return n.Kind == Against })
}

// wholeNotes say what a reader of all the numbers must know.
func (r *Replay) wholeNotes(held []*Held) []ReplayNote {
	notes := []ReplayNote{}
	add := func(is bool, n ReplayNote) {
		if is {
			notes = append(notes, n)
		}
	}
	var unreported, untold, unpriced, whole int
	times := true
	for _, b := range held {
		for i := range b.Recorded {
			used := b.Recorded[i].Total().Least
			unreported += count(used.Unreported > 0)
			untold += count(used.Unreported == 0 && !used.TokensTold())
			unpriced += count(used.Unreported == 0 && used.Unpriced > 0)
			whole += count(replay.OnlyWholeCost(b.Runs[i].Run))
		}
		times = times && b.Timed()
	}
	add(r.Simulated != nil, ReplayNote{Kind: reports.SimulatedModel, Name: namesOf(r.Simulated)})
	add(unreported > 0, ReplayNote{Kind: NoUsage, Count: unreported})
	add(untold > 0, ReplayNote{Kind: NoTokens, Count: untold})
	add(unpriced > 0, ReplayNote{Kind: NoPrices, Count: unpriced})
	add(whole > 0, ReplayNote{Kind: WholeCosts, Count: whole, Of: r.Runs})
	add(r.Runs > 0 && !times, ReplayNote{Kind: NoTimes})
	few := r.Tasks > 0 && r.Tasks < fewTasks
	add(few, ReplayNote{Kind: reports.FewTasks, Count: r.Tasks})
	add(!few && r.Clusters > 0 && r.Clusters < fewTasks, ReplayNote{Kind: reports.FewClusters, Count: r.Clusters})
	add(r.Runs > 0, ReplayNote{Kind: Against, Name: r.primary()})
	return notes
}
