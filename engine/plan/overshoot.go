package plan

import (
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Overshoot is by how much a suite's budget may be exceeded. Its zero value
// means not at all: every reply has a limit, and that is reserved.
type Overshoot struct {
	// Calls may be in flight at once that have no limit of their replies.
	Calls int
	// Per1000 is what all of them cost beyond what is reserved for them, when
	// each reply is 1000 tokens longer than that.
	Per1000 record.Money
}

// OvershootOf is the possible overshoot of the budget of a suite, so many of
// whose runs are in flight at once. Each makes one call at a time.
func OvershootOf(p *Plan, models map[string]*spec.Model, concurrency int) Overshoot {
	var dearest record.Money
	runs, tasks := 0, p.Tasks
	if tasks < 0 { // not counted
		tasks = concurrency
	}
	for i := range p.Configurations {
		names := unlimited(p.Configurations[i].Loop, models)
		if len(names) > 0 {
			runs += tasks * p.Trials
		}
		for _, name := range names {
			if m := models[name]; m != nil && m.Price != nil && !m.Price.Free {
				dearest = max(dearest, dollarsPerMillion(m.Price.Output, 1000))
			}
		}
	}
	calls := min(runs, concurrency)
	return Overshoot{Calls: calls, Per1000: dearest.Times(int64(calls))}
}

// unlimited are the models whose replies the loop does not limit, and which
// declare nothing about them.
func unlimited(l *spec.Loop, models map[string]*spec.Model) (names []string) {
	add := func(name string, maxOutput int) {
		if m := models[name]; name != "" && maxOutput == 0 && (m == nil || m.Tokens.Output == 0) {
			names = append(names, name)
		}
	}
	for _, s := range l.Stages() {
		add(s.Agent.Model, s.Agent.MaxOutputTokens)
	}
	if l.Evaluate != nil && l.Evaluate.Judge != nil {
		add(l.Evaluate.Judge.Model, l.Evaluate.Judge.MaxOutputTokens)
	}
	return names
}
