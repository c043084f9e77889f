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
// whose runs are in flight at once. Each makes one call at a time, and one for
// each delegate of an agent's; its scorers ask all members of a panel at once.
func OvershootOf(p *Plan, scorers []Asking, models map[string]*spec.Model, concurrency int) Overshoot {
	var dearest record.Money
	calls, tasks := 0, p.Tasks
	if tasks < 0 { // not counted
		tasks = concurrency
	}
	widest := 1
	for i := range p.Configurations {
		of := unlimited{models: models, seen: map[*spec.Loop]bool{}}
		of.loop(p.Configurations[i].Loop)
		of.scorers(scorers)
		if len(of.names) > 0 {
			calls += tasks * p.Trials * of.wide
			widest = max(widest, of.wide)
		}
		for _, name := range of.names {
			if m := models[name]; m != nil && m.Price != nil && !m.Price.Free {
				dearest = max(dearest, dollarsPerMillion(m.Price.Output, 1000))
			}
		}
	}
	calls = min(calls, concurrency*widest)
	return Overshoot{Calls: calls, Per1000: dearest.Times(int64(calls))}
}

// unlimited are the models whose replies a loop does not limit, and which declare
// nothing about them; those of its delegates are among them.
type unlimited struct {
	models map[string]*spec.Model
	seen   map[*spec.Loop]bool
	names  []string
	wide   int // how many delegates an agent has at most, at least 1
}

func (u *unlimited) loop(l *spec.Loop) {
	if u.seen[l] {
		return
	}
	u.seen[l], u.wide = true, max(u.wide, 1)
	for _, s := range l.Stages() {
		u.model(s.Agent.Model, s.Agent.MaxOutputTokens)
		u.wide = max(u.wide, len(s.Agent.Delegates))
		for i := range s.Agent.Delegates {
			if d := s.Agent.Delegates[i].Resolved; d != nil {
				u.loop(d)
			}
		}
	}
	if l.Evaluate != nil && l.Evaluate.Judge != nil {
		u.model(l.Evaluate.Judge.Model, l.Evaluate.Judge.MaxOutputTokens)
	}
	if l.User != nil {
		u.model(l.User.Model, 0)
	}
}

func (u *unlimited) scorers(asking []Asking) {
	for i := range asking {
		for _, name := range asking[i].Models {
			u.model(name, asking[i].MaxOutputTokens)
		}
		u.wide = max(u.wide, len(asking[i].Models))
	}
}

func (u *unlimited) model(name string, maxOutput int) {
	if m := u.models[name]; name != "" && maxOutput == 0 && (m == nil || m.Tokens.Output == 0) {
		u.names = append(u.names, name)
	}
}
