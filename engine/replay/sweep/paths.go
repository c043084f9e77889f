package sweep

import (
	"context"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// endless replays the path of a family, on which hard budgets have room for everything.
func (s *Sweep) endless(f *family, on int) *replay.Replay {
	if f.endless == nil || f.endlessOn != on {
		f.endless = s.options.replay(s.recordings[on].Loop, replay.Endless(s.candidates[f.members[0]].Declared())).Remember()
		f.endlessOn = on
	}
	return f.endless
}

// hardLimits are those of a loop whose budget is hard; none: it is not.
func hardLimits(l *spec.Loop) (limits stop.Limits) {
	if b := l.Guards.Budget; b != nil && b.Hard {
		limits = stop.LimitsOf(b)
	}
	return limits
}

// paths are those that members of a family take through one run: the same one up to the first call that a hard budget refuses.
// They are valid until the next run begins.
type paths struct {
	ctx    context.Context
	replay *replay.Replay
	run    *record.Run
	task   *spec.Task
	whole  pathRoom
	cut    []*pathRoom // by hard budgets
	known  int         // of them are of this run
}

// pathRoom is a path beside others.
type pathRoom struct {
	replay.Path
	room replay.Room
	by   replay.Refusal
}

func (p *paths) begin(r *replay.Replay, run *record.Run, task *spec.Task) {
	p.replay, p.run, p.task, p.known = r, run, task, 0
	p.whole.Path = r.Path(p.ctx, &p.whole.room, run, task)
}

// under is the path under the limits of a hard budget.
func (p *paths) under(hard *stop.Limits) *replay.Path {
	by := replay.Refused(p.whole.Reserved, hard)
	if by.Limit == "" {
		return &p.whole.Path
	}
	for _, cut := range p.cut[:p.known] {
		if cut.by == by {
			return &cut.Path
		}
	}
	if p.known == len(p.cut) {
		p.cut = append(p.cut, &pathRoom{})
	}
	cut := p.cut[p.known]
	p.known++
	cut.by, cut.Path = by, p.replay.PathTo(p.ctx, &cut.room, p.run, p.task, by)
	return &cut.Path
}
