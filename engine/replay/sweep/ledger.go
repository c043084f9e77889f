package sweep

import (
	"math"
	"slices"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
)

// ledger has what each way in which a run may end adds to the sums: a row for every
// iteration after which it may stop, behind one for a run whose end is not known. Rows
// hold whole numbers, so that one can be taken away again.
type ledger struct {
	recording *Recording
	from      []int // by run: its first row
	rows      []int64
	// believed is, by row, the highest threshold at which the loop believes in a run
	// that ends so; NaN: at none.
	believed []float64
	// columns are those, of allColumns, in which any row has a number; the last so many
	// are of what a run is worth, which is not known where an expression failed.
	columns []int
	worths  int
	// empty are the outcomes of runs without an iteration, the same for all members.
	empty map[int]*Outcome
	// whole says that nothing is too large, or too odd, to be added up: what only whole
	// runs tell is no sum over iterations.
	whole bool

	// While the runs are walked: what they use and take in all, and which of all columns
	// have a number.
	walking sync.Mutex
	spent   [len(fields)]float64
	took    float64
	seen    []bool
}

// The columns, in their order: what is made, then what a run is worth, for each score
// as often as ofScore says.
const (
	ofStops = iota
	ofBranches
	ofMade
	ofUsed                           // at most
	ofFlown   = ofUsed + len(fields) // of it at most, by calls that were cancelled in flight
	ofElapsed = ofFlown + len(fields)
	ofFaults  = ofElapsed + 1 // the first that is not known where an expression failed
	ofScores  = ofFaults + 1
)

// Of a score.
const (
	ofKnown = iota
	ofValue
	ofHits
	ofLost
	ofGained
	ofScore
)

// fields are the numbers of a usage.
var fields = [...]func(*record.Usage) *int64{
	func(u *record.Usage) *int64 { return &u.Calls },
	func(u *record.Usage) *int64 { return &u.InputTokens },
	func(u *record.Usage) *int64 { return &u.CachedTokens },
	func(u *record.Usage) *int64 { return &u.CacheWriteTokens },
	func(u *record.Usage) *int64 { return &u.CacheWrite1hTokens },
	func(u *record.Usage) *int64 { return &u.OutputTokens },
	func(u *record.Usage) *int64 { return &u.ReasoningTokens },
	func(u *record.Usage) *int64 { return &u.ToolCalls },
	func(u *record.Usage) *int64 { return (*int64)(&u.Cost) },
	func(u *record.Usage) *int64 { return &u.Unpriced },
	func(u *record.Usage) *int64 { return &u.Estimated },
	func(u *record.Usage) *int64 { return &u.Uncounted },
	func(u *record.Usage) *int64 { return &u.Unreported },
	func(u *record.Usage) *int64 { return &u.Cut },
	func(u *record.Usage) *int64 { return &u.OpenTokens },
	func(u *record.Usage) *int64 { return (*int64)(&u.OpenCost) },
}

// newLedger has no rows yet. That why a run stops decides on a score no sum tells.
func newLedger(r *Recording) *ledger {
	l := &ledger{
		recording: r, empty: map[int]*Outcome{}, seen: make([]bool, ofScores+ofScore*len(r.Scores)),
		whole: !slices.Contains(r.Reads, ReadsStop) && (r.Judge == nil || !slices.Contains(r.Reads, ReadsAround)),
	}
	for s := range r.Scores {
		l.whole = l.whole && r.addsUp(s)
	}
	return l
}

// look finds out whether the outcomes of a run can be added up by rows, and what
// columns they need. Nor does a sum tell of a run that is judged again.
func (l *ledger) look(run int, p *replay.Path, trace *replay.Trace) {
	whole := !p.Lumped() && (l.recording.Judge == nil || p.End.Changed == 0)
	if l.recording.Runs[run].Run.Outcome.Status == record.Faulted {
		whole = whole && l.recording.Judge == nil && !trace.Fails()
	}
	var spent [len(fields)]float64
	var took float64
	add := func(usage record.Usage) {
		for f, field := range fields {
			v := *field(&usage)
			whole, spent[f] = whole && v >= 0, spent[f]+float64(v)
		}
	}
	before := int64(0)
	for _, it := range p.Made {
		used := it.Total()
		add(used)
		whole, took = whole && used.Cut == 0 && int64(it.End) >= before, took+float64(int64(it.End)-before)
		before = int64(it.End)
	}
	add(inFlight(p))
	seen := make([]bool, len(l.seen))
	l.eachRow(run, p, trace, func(_ int, row []int64) {
		for column, v := range row {
			seen[column] = seen[column] || v != 0
		}
	})
	l.walking.Lock()
	defer l.walking.Unlock()
	l.whole, l.took = l.whole && whole, l.took+took
	for f := range spent {
		l.spent[f] += spent[f]
	}
	for column, is := range seen {
		l.seen[column] = l.seen[column] || is
	}
}

func (l *ledger) leave(run int, o *Outcome) {
	l.walking.Lock()
	defer l.walking.Unlock()
	l.empty[run] = o
}

// inFlight is what calls may have used that were in flight when the run was cut.
func inFlight(p *replay.Path) (u record.Usage) {
	span := p.End.Total()
	for _, field := range fields {
		*field(&u) = *field(&span.Most) - *field(&span.Least)
	}
	return u
}

// most is what a sum may reach.
const most = 1 << 62

// addsUp reports whether the known values of a score can be added up in steps.
func (r *Recording) addsUp(s int) bool {
	largest := 0.0
	for i := range r.Runs {
		for _, v := range r.Runs[i].Scores[s] {
			if !math.IsNaN(v) {
				largest = max(largest, math.Abs(v))
			}
		}
	}
	return largest*step*float64(len(r.Runs)) < most
}

// inSteps is a number in steps, as fixed adds it.
func inSteps(v float64) int64 {
	var f fixed
	f.add(v, 1)
	return f.whole*step + f.steps
}

// begin makes room for the rows, once all runs were looked at.
func (l *ledger) begin(traces []*replay.Trace) {
	n := 0
	for _, trace := range traces {
		l.from = append(l.from, n)
		n += 1 + trace.Iterations()
	}
	if l.whole = l.whole && max(l.took, slices.Max(l.spent[:])) < most; !l.whole {
		return
	}
	for column, is := range l.seen {
		if is {
			l.columns = append(l.columns, column)
			l.worths += count(column >= ofFaults)
		}
	}
	l.rows, l.believed = make([]int64, n*len(l.columns)), make([]float64, n)
}

func (l *ledger) fill(run int, p *replay.Path, trace *replay.Trace) {
	l.eachRow(run, p, trace, func(n int, row []int64) {
		at := l.from[run] + n
		for k, column := range l.columns {
			l.rows[at*len(l.columns)+k] = row[column]
		}
		if l.believed[at] = math.NaN(); n > 0 {
			_, l.believed[at] = trace.After(n)
		}
	})
}

// row is what a run adds that ends so.
func (l *ledger) row(run int, end replay.End) []int64 {
	width := len(l.columns)
	return l.rows[(l.from[run]+int(max(end, -end)))*width:][:width]
}

// columnsOf are the places of a score's columns in a row; -1: it has none.
func (l *ledger) columnsOf(score int) (at [ofScore]int) {
	for k := range at {
		at[k] = slices.Index(l.columns, ofScores+ofScore*score+k)
	}
	return at
}

// eachRow visits the rows of a run with all columns.
func (l *ledger) eachRow(run int, p *replay.Path, trace *replay.Trace, visit func(n int, row []int64)) {
	row := make([]int64, len(l.seen))
	for n := 1; n <= len(p.Made); n++ {
		it := p.Made[n-1]
		usage := it.Total()
		for f, field := range fields {
			row[ofUsed+f] += *field(&usage)
		}
		if row[ofMade], row[ofElapsed] = int64(n), int64(it.End); n == len(p.Made) {
			flying := inFlight(p)
			for f, field := range fields {
				row[ofFlown+f] = *field(&flying)
			}
		}
		if n <= trace.Iterations() {
			returned, _ := trace.After(n)
			row[ofStops], row[ofFaults] = 1, int64(count(n == len(p.Made) && p.Faults()))
			if l.worth(run, p, n, returned, row); l.leavesOut(run, p, n, row) {
				row[ofStops] = 0
				clear(row[ofFaults:])
				trace.Disbelieve(n)
			}
			visit(n, row)
		}
	}
	row[ofStops], row[ofBranches] = 0, int64(count(p.End.Verdict == replay.Branches))
	clear(row[ofFaults:])
	visit(0, row)
}

// worth fills in what a run is worth that stops after so many iterations.
func (l *ledger) worth(run int, p *replay.Path, made, returned int, row []int64) {
	of := &l.recording.Runs[run]
	by := ending{made: made, returned: returned, changed: p.End.Changed, usedUp: p.End.UsedUp && made == len(p.Made)}
	for s := range l.recording.Scores {
		row, v := row[ofScores+s*ofScore:][:ofScore], math.NaN()
		if clear(row); !(made == len(p.Made) && p.Faults()) {
			v, _ = l.recording.worthOf(of, s, &by)
		}
		if math.IsNaN(v) {
			continue
		}
		recorded, hit := of.recordedHit(s), v >= 1
		row[ofKnown], row[ofValue] = 1, inSteps(v)
		row[ofHits], row[ofLost], row[ofGained] = int64(count(hit)), int64(count(recorded && !hit)), int64(count(!recorded && hit))
	}
}

// leavesOut reports whether a run that had a fault later is left out where it stops: see [Recording.leaveOut].
func (l *ledger) leavesOut(run int, p *replay.Path, made int, row []int64) bool {
	if l.recording.Runs[run].Run.Outcome.Status != record.Faulted || made == len(p.Made) && p.Faults() {
		return false
	}
	for s := range l.recording.Scores {
		if row[ofScores+s*ofScore+ofKnown] == 0 {
			return true
		}
	}
	return false
}

// inexact reports whether the end of any run is unknown, or left out.
func (l *ledger) inexact(ends []replay.End) bool {
	stops := slices.Index(l.columns, ofStops)
	for run, end := range ends {
		if end == 0 || stops < 0 || l.row(run, end)[stops] == 0 {
			return true
		}
	}
	return false
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// adding is rows added up, by cell.
type adding struct {
	ledger   *ledger
	of       []int // by run: its cell; -1: none
	sums     []int64
	runs     []int
	failures []int  // runs that end with an expression that failed
	believed []int  // runs that the loop believes in
	empty    []cell // of the runs without an iteration; nil: there are none
}

// adding begins with the sums of no run.
func (l *ledger) adding(into *cells) *adding {
	n := len(into.trials)
	a := &adding{ledger: l, of: into.of, sums: make([]int64, n*len(l.columns)), runs: make([]int, n), failures: make([]int, n), believed: make([]int, n)}
	for _, at := range into.of {
		if at >= 0 {
			a.runs[at]++
		}
	}
	return a
}

// add adds a run so many times, which may be -1.
func (a *adding) add(run int, end replay.End, times int64) {
	cell, l := a.of[run], a.ledger
	width := len(l.columns)
	sums, row := a.sums[cell*width:][:width], l.row(run, end)
	if end < 0 {
		a.failures[cell] += int(times)
		row = row[:width-l.worths]
	}
	for k, v := range row {
		sums[k] += times * v
	}
}

func (a *adding) cells() []cell {
	all := make([]cell, len(a.runs))
	for at := range all {
		a.cell(at, &all[at])
		if a.empty != nil {
			all[at].plus(&a.empty[at])
		}
	}
	return all
}

// cell is what the outcomes of a cell add up to.
func (a *adding) cell(at int, c *cell) {
	l := a.ledger
	row := make([]int64, ofScores+ofScore*len(l.recording.Scores))
	for k, column := range l.columns {
		row[column] = a.sums[at*len(l.columns)+k]
	}
	c.Runs, c.Exact, c.Branches = a.runs[at], int(row[ofStops]), int(row[ofBranches])
	c.Censored = c.Runs - c.Exact - c.Branches
	c.Faults, c.Successes = a.failures[at]+int(row[ofFaults]), a.believed[at]
	c.Iterations, c.Elapsed = row[ofMade], row[ofElapsed]
	for f, field := range fields {
		*field(&c.Most), *field(&c.Least) = row[ofUsed+f], row[ofUsed+f]-row[ofFlown+f]
	}
	c.grow(len(l.recording.Scores))
	for s := range l.recording.Scores {
		of, t, ends, bounds := row[ofScores+s*ofScore:], &c.Scores[s], &c.scores[s], l.recording.Bounds[s]
		t.Known, t.Hits, t.Lost, t.Gained = int(of[ofKnown]), int(of[ofHits]), int(of[ofLost]), int(of[ofGained])
		ends.least.carry(of[ofValue])
		ends.most = ends.least
		if inexact := c.Censored + c.Branches; !math.IsNaN(bounds.Least) {
			t.Known += inexact
			ends.least.add(bounds.Least, int64(inexact))
			ends.most.add(bounds.Most, int64(inexact))
		}
	}
}
