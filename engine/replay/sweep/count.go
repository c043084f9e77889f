package sweep

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/stop"
)

// counter counts what configurations of one family make of the runs of a recording. It knows each way in which a run may
// end, and what that adds to the sums; which way the run takes under a configuration follows from masks, and from what its hard
// budget refuses.
type counter struct {
	runs    []course
	columns columns
	watcher *replay.Watcher
}

// course is a recorded run under all configurations of its family.
type course struct {
	masks *stop.Masks
	// believed is, by iterations made, the highest threshold at which the loop believes in the run; the first is that of a
	// run that comes to its own end.
	believed []float64
	// rows are what the run adds to the sums, in the same order; behind them, where expressions may fail, what it adds if
	// one did; behind these those of cuts.
	rows     sums
	width    int // columns of a row
	reserved []replay.Reservation
	cuts     []cut
}

// cut is what a run adds that a hard budget ends at a call that it refuses.
type cut struct {
	by       replay.Refusal
	believed float64
}

// columns are those in which any row has a number, in the order in which they were found. The first are successes.
type columns struct {
	finding sync.Mutex
	found   []int
	known   []bool
}

// pack leaves out of rows the columns in which none has a number so far.
func (c *columns) pack(rows []sums) (packed sums, width int) {
	c.finding.Lock()
	defer c.finding.Unlock()
	for _, row := range rows {
		for column, v := range row {
			if v != 0 && !c.known[column] {
				c.known[column], c.found = true, append(c.found, column)
			}
		}
	}
	width = len(c.found)
	packed = make(sums, 0, width*len(rows))
	for _, row := range rows {
		for _, column := range c.found {
			packed = append(packed, row[column])
		}
	}
	return packed, width
}

// unpack are sums with all columns.
func (c *columns) unpack(packed sums) sums {
	all := make(sums, len(c.known))
	for k, column := range c.found {
		all[column] = packed[k]
	}
	return all
}

// of is what the run adds under a configuration and the limits of its hard budget, and whether the loop believes in it.
func (c *course) of(f *stop.Configuration, hard *stop.Limits) (added sums, success bool) {
	n, failed := c.masks.Stop(f)
	row, believed := n, c.believed[n]
	if by := replay.Refused(c.reserved, hard); by.Limit != "" && (n == 0 || n > by.After) {
		at := slices.IndexFunc(c.cuts, func(one cut) bool { return one.by == by })
		row, believed, failed = len(c.rows)/c.width-len(c.cuts)+at, c.cuts[at].believed, false
	} else if failed {
		row += len(c.believed) - 1
	}
	return c.row(row), !failed && believed >= f.Threshold
}

func (c *course) row(n int) sums { return c.rows[n*c.width : (n+1)*c.width] }

// addsUp reports whether sums tell all of the scores: not of one that goes by why a run stops.
func (r *Recording) addsUp() bool {
	return !slices.Contains(r.Reads, ReadsStop) && (r.Judge == nil || !slices.Contains(r.Reads, ReadsAround))
}

// counter walks the runs of a family; nil: its members cannot be counted.
func (s *Sweep) counter(ctx context.Context, f *family) (*counter, error) {
	if f.limits == nil {
		return nil, nil
	}
	on, err := s.Recording(ctx, f.members[0])
	if err != nil || f.counter != nil || !s.recordings[on].addsUp() {
		return f.counter, err
	}
	r, endless, watcher, width := &s.recordings[on], s.endless(f, on), f.limits.Watcher(), columnsOf(len(s.scores))
	budgets := map[stop.Limits]bool{}
	for _, hard := range f.hard {
		budgets[hard] = true
	}
	c := &counter{runs: make([]course, len(r.Runs)), watcher: watcher, columns: columns{found: []int{ofSuccesses}, known: make([]bool, width)}}
	c.columns.known[ofSuccesses] = true
	err = eachOn(ctx, len(r.Runs), chunk, func() func(int) {
		paths := &paths{ctx: ctx}
		rows := &rowMaker{ctx: ctx, recording: r, judged: r.judges(s.candidates[f.members[0]].Declared()), scores: make([]Range, len(s.scores)), width: width}
		return func(run int) {
			whole, one := r.Runs[run].Run, &c.runs[run]
			paths.begin(endless, whole, r.Runs[run].Task)
			follow := watcher.Course(&paths.whole.Path)
			rows.begin(run, whole, &follow)
			one.masks, one.believed, one.reserved = follow.Masks, follow.Believed, slices.Clone(paths.whole.Reserved)
			for hard := range budgets {
				paths.under(&hard)
			}
			for _, path := range paths.cut[:paths.known] {
				own := watcher.Course(&path.Path)
				one.cuts = append(one.cuts, cut{path.by, rows.add(&own, 0, false)})
			}
			one.rows, one.width = c.columns.pack(rows.rows)
		}
	})
	if err == nil {
		f.counter = c
		s.warm(f)
	}
	return f.counter, err
}

// rowMaker makes the rows of one run after the other.
type rowMaker struct {
	ctx       context.Context
	recording *Recording
	judged    bool // see [Recording.judges]
	scores    []Range
	width     int
	rows      []sums

	run   int
	whole *record.Run
}

// begin makes the rows of a wide path. Where one is not known, nothing is believed.
func (m *rowMaker) begin(run int, whole *record.Run, follow *replay.Course) {
	m.run, m.whole, m.rows = run, whole, m.rows[:0]
	for i := range follow.Believed {
		follow.Believed[i] = m.add(follow, i, false)
	}
	for i := range follow.Iterations() {
		if follow.Fails() {
			m.add(follow, i+1, true)
		}
	}
}

// add adds the row of a run that makes so many iterations, and gives the threshold up to which the loop believes in it.
func (m *rowMaker) add(follow *replay.Course, iterations int, failed bool) (believed float64) {
	o := Outcome{Result: follow.Result(iterations, failed)}
	var asIf func() *record.Run
	if m.judged {
		asIf = func() *record.Run { return follow.AsIf(m.whole, &o.Result) }
	}
	o.Scores, o.Unscored = m.recording.value(m.ctx, m.scores, m.run, &o.Result, asIf)
	m.recording.leaveOut(m.run, &o)
	believed = follow.Believed[iterations]
	if o.Outcome.Success = false; o.Verdict != replay.Exact { // success is for a threshold to say
		believed = math.NaN()
	}
	m.rows = slices.Grow(m.rows, 1)[:len(m.rows)+1] // a row of earlier runs serves again
	row := &m.rows[len(m.rows)-1]
	if *row == nil {
		*row = make(sums, m.width)
	}
	clear(*row)
	row.add(&o, &m.recording.Runs[m.run])
	return believed
}

// mostSums are made at a time.
const mostSums = 80_000

// Totals visits every candidate with the sums of its outcomes over each part of the
// runs, in no order and several candidates at a time: as Sum gives them, but that what a candidate loses is counted against
// the recording that it is replayed on. A part is a number from 0; runs of a part below 0 are left out. The error is that of
// the context.
func (s *Sweep) Totals(ctx context.Context, part []int, parts int, visit func(candidate int, totals []Totals)) error {
	into := newCells(s.tasks, part, parts)
	all := func(candidate int, sums *Sums) { visit(candidate, sums.Totals()) }
	few := into.few()
	var others []int // that are not counted
	for _, f := range s.families {
		c, err := s.counter(ctx, f)
		if err != nil {
			return err
		}
		var members []int // places in the family
		for k, candidate := range f.members {
			if c == nil || s.told(candidate, f.recording) {
				others = append(others, candidate)
			} else {
				members = append(members, k)
			}
		}
		some := slices.Collect(slices.Chunk(members, min(few, 1024)))
		if err := Each(ctx, len(some), 1, func(i int) { c.count(f, some[i], into, all) }); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(others, few) {
		if err := s.sum(ctx, some, into, all); err != nil {
			return err
		}
	}
	return nil
}

// few is of how many candidates sums are made at a time.
func (c *cells) few() int { return max(1, mostSums/max(1, len(c.trials))) }

// count visits members of a family with their sums over the runs of each part.
func (c *counter) count(f *family, members []int, into *cells, visit func(candidate int, sums *Sums)) {
	chains, alone := c.watcher.Chains(f.configurations, members)
	for i := range chains {
		c.chain(f, &chains[i], into, visit)
	}
	width := len(c.columns.found)
	all := c.sum(into, len(alone), func(one *course, sum sums) { // those of one member behind the other
		for i, member := range alone {
			added, success := one.of(&f.configurations[member], &f.hard[member])
			sum[i*width:].plus(added)
			sum[i*width] += count(success)
		}
	})
	c.visit(f, alone, all, into, visit)
}

// chain visits members that differ in one number alone. From one to the next few runs stop elsewhere, so that sums are of what
// changes: all that the first adds, and what each adds more than the one before.
func (c *counter) chain(f *family, chain *stop.Chain, into *cells, visit func(candidate int, sums *Sums)) {
	width, members := len(c.columns.found), chain.Members
	all := c.sum(into, len(members)+1, func(one *course, sum sums) {
		between := func(from, to int, added sums) {
			sum[from*width:].plus(added)
			sum[to*width:].minus(added)
		}
		if one.masks.Fails() || len(one.cuts) > 0 {
			for i, member := range members {
				added, success := one.of(&f.configurations[member], &f.hard[member])
				between(i, i+1, added)
				sum[i*width] += count(success)
				sum[(i+1)*width] -= count(success)
			}
			return
		}
		one.masks.Stops(chain, func(from, to, n int) {
			between(from, to, one.row(n))
			for i := from; i < to; i++ {
				success := count(one.believed[n] >= f.configurations[members[i]].Threshold)
				sum[i*width] += success
				sum[(i+1)*width] -= success
			}
		})
	})
	for _, sum := range all {
		for i := width; i < len(sum); i++ {
			sum[i] += sum[i-width]
		}
	}
	c.visit(f, members, all, into, visit)
}

// sum adds up runs in the sums of each cell, which have so many rows.
func (c *counter) sum(into *cells, rows int, add func(one *course, sum sums)) []sums {
	all := into.sums(rows * len(c.columns.found))
	for run := range c.runs {
		if at := into.of[run]; at >= 0 {
			add(&c.runs[run], all[at])
		}
	}
	return all
}

// visit visits members with their sums, those of one member behind the other.
func (c *counter) visit(f *family, members []int, all []sums, into *cells, visit func(candidate int, sums *Sums)) {
	width := len(c.columns.found)
	of := &Sums{into, make([]sums, len(all)), &c.columns}
	for i, member := range members {
		for at := range all {
			of.all[at] = all[at][i*width : (i+1)*width]
		}
		visit(f.members[member], of)
	}
}

// sum visits candidates that are replayed run by run.
func (s *Sweep) sum(ctx context.Context, candidates []int, into *cells, visit func(candidate int, sums *Sums)) error {
	var workers [][]sums // by cell: those of one candidate behind the other
	width := columnsOf(len(s.scores))
	err := s.Visit(ctx, candidates, func() func(int, int, *Outcome) {
		all := into.sums(len(candidates) * width)
		workers = append(workers, all)
		return func(k, run int, o *Outcome) {
			if at := into.of[run]; at >= 0 {
				all[at][k*width:(k+1)*width].add(o, &s.recordings[s.of[candidates[k]].recording].Runs[run])
			}
		}
	})
	if err != nil {
		return err
	}
	of := &Sums{cells: into, all: make([]sums, len(into.trials))}
	for _, other := range workers[1:] {
		for at := range of.all {
			workers[0][at].plus(other[at])
		}
	}
	for k, candidate := range candidates {
		for at := range of.all {
			of.all[at] = workers[0][at][k*width : (k+1)*width]
		}
		visit(candidate, of)
	}
	return nil
}

// Sums visits some candidates, one after the other and in no order, with what their outcomes add up to, by part, as
// [Parts.Sum] has it; it is valid until the next one. Of candidates that differ in one number it takes little longer than of
// one. The error is that of the context.
func (s *Sweep) Sums(ctx context.Context, p *Parts, candidates []int, visit func(candidate int, sums *Sums)) error {
	counted := map[*family][]int{} // places in the family
	for _, candidate := range candidates {
		f := s.of[candidate]
		c, err := s.counter(ctx, f)
		if err != nil {
			return err
		}
		// What runs of another recording lose is counted against those of the first.
		if c != nil && f.recording == 0 && !s.told(candidate, f.recording) {
			member, _ := slices.BinarySearch(f.members, candidate)
			counted[f] = append(counted[f], member)
			continue
		}
		outcomes, err := s.Outcomes(ctx, candidate)
		if err != nil {
			return err
		}
		visit(candidate, p.Sum(outcomes[0]))
	}
	for f, members := range counted {
		c, err := s.counter(ctx, f)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(members, p.cells.few()) {
			c.count(f, some, p.cells, visit)
		}
	}
	return nil
}
