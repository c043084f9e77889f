package sweep

import (
	"context"
	"sync"

	"github.com/agentbench/agentbench/engine/replay"
)

// most runs that are counted at a time.
const tileful = 4096

// count adds up what the members of a family make of the runs of each cell, by
// bits; the sums are by member and cell.
func (s *Sweep) count(ctx context.Context, f *family, into *cells) ([][]cell, error) {
	traces, err := s.trace(ctx, f)
	if err != nil {
		return nil, err
	}
	sums := make([][]cell, len(f.members))
	for i := range sums {
		sums[i] = make([]cell, len(into.trials))
	}
	units := into.units(f.paths)
	var adding sync.Mutex
	err = each(ctx, len(units), 1, func(i int) {
		u := &units[i]
		counted := f.points.Table(u.pick(traces)).Count(f.configurations, replay.Counting{Quantities: f.ledger.quantities(u.runs), Successes: true})
		adding.Lock()
		defer adding.Unlock()
		for k := range counted.Counts {
			sums[k][u.cell].plus(f.ledger.cell(&counted.Counts[k], len(u.runs)))
		}
	})
	s.addEmpty(f, into, sums)
	return sums, err
}

// unit is runs of a cell that are counted together.
type unit struct {
	cell int
	runs []int
}

// units are all runs of which any iteration is known.
func (c *cells) units(paths []replay.Path) []unit {
	all := make([]unit, len(c.trials))
	for run, cell := range c.of {
		if cell >= 0 && len(paths[run].Made) > 0 {
			all[cell].runs = append(all[cell].runs, run)
		}
	}
	var units []unit
	for cell := range all {
		for runs := all[cell].runs; len(runs) > 0; {
			n := min(len(runs), tileful)
			units = append(units, unit{cell, runs[:n]})
			runs = runs[n:]
		}
	}
	return units
}

func (u *unit) pick(traces []*replay.Trace) []*replay.Trace {
	some := make([]*replay.Trace, len(u.runs))
	for i, run := range u.runs {
		some[i] = traces[run]
	}
	return some
}

// addEmpty adds the runs without an iteration: they are the same for all members.
func (s *Sweep) addEmpty(f *family, into *cells, sums [][]cell) {
	r := &s.recordings[f.recording]
	stops := replay.NewStops(s.candidates[f.members[0]].Loop)
	for run, at := range into.of {
		if at < 0 || len(f.paths[run].Made) > 0 {
			continue
		}
		o := Outcome{Result: stops.Along(&f.paths[run])}
		o.Scores = r.worth(run, &o.Result, nil)
		for i := range sums {
			sums[i][at].add(&o, &r.Runs[run])
		}
	}
}

// trace walks the runs and evaluates the conditions of all members on them.
func (s *Sweep) trace(ctx context.Context, f *family) ([]*replay.Trace, error) {
	if f.traces != nil {
		return f.traces, nil
	}
	tracer := f.points.Tracer()
	traces := make([]*replay.Trace, len(f.paths))
	err := each(ctx, len(traces), chunk, func(i int) {
		trace := tracer.Trace(&f.paths[i])
		traces[i] = &trace
	})
	if err == nil {
		f.traces = traces
	}
	return traces, err
}

// countable walks the runs of a family and says whether its members can be counted.
func (s *Sweep) countable(ctx context.Context, f *family) (bool, error) {
	if f.points == nil {
		return false, nil
	}
	if _, err := s.fit(ctx, f.members[0]); err != nil {
		return false, err
	}
	if err := s.walk(ctx, f); err != nil {
		return false, err
	}
	if f.ledger == nil {
		f.ledger = newLedger(&s.recordings[f.recording], f.paths)
	}
	return f.ledger.whole, nil
}
