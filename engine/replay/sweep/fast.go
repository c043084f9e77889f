package sweep

import (
	"cmp"
	"context"
	"runtime"
	"slices"

	"github.com/agentbench/agentbench/engine/replay"
)

// count adds up what the members of a family make of the runs of each cell: by what
// changes from one member to the next.
func (s *Sweep) count(ctx context.Context, f *family, into *cells, visit func(candidate int, totals []Totals)) error {
	if err := s.trace(ctx, f); err != nil {
		return err
	}
	table, order := f.tracer.Table(f.traces, into.of), inOrder(f.configurations)
	stretch := max(64, len(order)/(4*runtime.GOMAXPROCS(0)))
	stretches := slices.Collect(slices.Chunk(order, stretch))
	return each(ctx, len(stretches), 1, func(i int) {
		cursor, a := table.Cursor(), s.adding(f, into)
		for run, at := range into.of {
			if at >= 0 && len(f.paths[run].Made) > 0 {
				a.add(run, 0, 1)
			}
		}
		for _, k := range stretches[i] {
			for _, c := range cursor.Move(&f.configurations[k]) {
				a.add(c.Run, c.Before, -1)
				a.add(c.Run, c.After, 1)
			}
			cursor.Believed(&f.configurations[k], a.believed)
			visit(f.members[k], into.totals(a.cells()))
		}
	})
}

// inOrder are the places of configurations in an order in which one differs little
// from the one before: what has the most values changes fastest.
func inOrder(configurations []replay.Configuration) []int {
	nodes, values := make([][]replay.Node, len(configurations)), []map[replay.Node]bool{}
	for i := range configurations {
		c := &configurations[i]
		nodes[i] = slices.Concat(c.Tree, c.Maxima, c.Guards)
		for slot, node := range nodes[i] {
			if slot == len(values) {
				values = append(values, map[replay.Node]bool{})
			}
			values[slot][node] = true
		}
	}
	slots, order := make([]int, len(values)), make([]int, len(configurations))
	for slot := range slots {
		slots[slot] = slot
	}
	slices.SortStableFunc(slots, func(a, b int) int { return len(values[a]) - len(values[b]) })
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if c := cmp.Compare(len(nodes[a]), len(nodes[b])); c != 0 {
			return c
		}
		for _, slot := range slots {
			if slot < len(nodes[a]) && nodes[a][slot] != nodes[b][slot] {
				return cmp.Compare(nodes[a][slot], nodes[b][slot])
			}
		}
		return 0
	})
	return order
}

// Sums are what the outcomes of a candidate add up to, by part, as [Parts.Sum] has
// them. The error is that of the context.
func (s *Sweep) Sums(ctx context.Context, candidate int, p *Parts) ([]Totals, error) {
	f := s.of[candidate]
	quick, err := s.countable(ctx, f)
	if err == nil && quick {
		err = s.trace(ctx, f)
	}
	if err != nil {
		return nil, err
	}
	// what runs of another recording lose is counted against those of the parts
	if !quick || f.recording != 0 || s.told(candidate, f.recording) {
		outcomes, err := s.Outcomes(ctx, candidate)
		return p.Sum(outcomes), err
	}
	if f.cursor == nil {
		f.cursor = f.tracer.Table(f.traces, make([]int, len(f.traces))).Cursor()
	}
	member, _ := slices.BinarySearch(f.members, candidate)
	c := &f.configurations[member]
	f.cursor.Move(c)
	a := s.adding(f, p.cells)
	for run, end := range f.cursor.Ends() {
		if at := p.cells.of[run]; at >= 0 && len(f.paths[run].Made) > 0 {
			a.add(run, end, 1)
			a.believed[at] += count(end > 0 && f.ledger.believed[f.ledger.from[run]+int(end)] >= c.Threshold)
		}
	}
	return p.cells.totals(a.cells()), nil
}

// adding begins to add up the runs of a family that have an iteration; the others are
// the same for all members.
func (s *Sweep) adding(f *family, into *cells) *adding {
	a := f.ledger.adding(into)
	r := &s.recordings[f.recording]
	for run, at := range into.of {
		if at < 0 || len(f.paths[run].Made) > 0 {
			continue
		}
		if a.empty == nil {
			a.empty = make([]cell, len(into.trials))
		}
		a.runs[at]--
		o := Outcome{Result: replay.NewStops(s.candidates[f.members[0]].Declared()).Along(&f.paths[run])}
		o.Scores = r.worth(run, &o.Result, nil)
		a.empty[at].add(&o, &r.Runs[run])
	}
	return a
}

// trace walks the runs and evaluates the conditions of all members on them.
func (s *Sweep) trace(ctx context.Context, f *family) error {
	if f.traces != nil {
		return nil
	}
	tracer := f.points.Tracer()
	traces := make([]*replay.Trace, len(f.paths))
	err := each(ctx, len(traces), chunk, func(i int) {
		trace := tracer.Trace(&f.paths[i])
		traces[i] = &trace
	})
	if err == nil {
		err = f.ledger.fill(ctx, traces)
	}
	if err == nil {
		f.tracer, f.traces = tracer, traces
	}
	return err
}

// countable walks the runs of a family and reports whether its members can be counted.
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
