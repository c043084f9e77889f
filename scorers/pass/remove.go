package pass

import (
	"maps"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
)

// removeAtSteps takes the scores of states back that removed scorers made.
func (p *Pass) removeAtSteps(journal Journal) error {
	if len(p.Remove) == 0 {
		return nil
	}
	all := map[string][]record.Snapshot{}
	for s, err := range record.ReadSnapshots(p.Dir) {
		if err != nil {
			return err
		}
		all[s.Run] = append(all[s.Run], s)
	}
	for _, run := range slices.Sorted(maps.Keys(all)) {
		var changed []record.Snapshot
		for _, s := range record.StandingSnapshots(all[run]) {
			if left := p.withoutRemoved(s.Scores); len(left) < len(s.Scores) {
				s.Scores = left
				changed = append(changed, s)
			}
		}
		if len(changed) == 0 {
			continue
		}
		if err := journal.AppendSnapshots(run, changed, nil); err != nil {
			return err
		}
	}
	return nil
}

// withoutRemoved leaves out the scores of removed scorers, and counts them.
func (p *Pass) withoutRemoved(scores []record.Score) (left []record.Score) {
	for _, s := range scores {
		if !slices.Contains(p.Remove, s.Name) {
			left = append(left, s)
			continue
		}
		p.Counts[slices.IndexFunc(p.judges, func(j judge) bool { return j.Name == s.Name })].TakenBack++
	}
	return left
}
