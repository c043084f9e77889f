package overview

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
	"github.com/clipperhouse/displaywidth"
)

// How often the progress is written: over the last one on a terminal, as a plain line elsewhere,
// and kept for other programs.
const (
	liveInterval  = 200 * time.Millisecond
	plainInterval = 5 * time.Second
	keepInterval  = time.Second
)

// Progress tells how far a suite has come. It is the engine's watcher.
type Progress struct {
	Out    io.Writer // nil: nothing is written
	Live   bool      // a terminal, where one line is rewritten
	Width  int       // of the terminal, in cells
	Now    func() time.Time
	Total  int // runs planned
	Before int // of them done by earlier sessions
	Budget spec.SuiteBudget
	// Spent is what the ledger says.
	Spent func() record.Spent
	// Score is the name of the scorer that is followed, "" for what the loops believe.
	Score string
	// Pace is how many calls wait for a rate limit, and for how long none will be
	// made because the server refused some; nil: nothing is known.
	Pace func() (waiting int, backingOff time.Duration)
	// Keep gets what a line says, part by part, for those who follow the suite from elsewhere; nil: nobody does.
	Keep func(parts []string)

	mu       sync.Mutex
	began    time.Time
	started  int
	executed int // of those started
	done     int // of those executed: they are safe
	faults   int
	sum      float64 // of the scores
	scored   int
	stop     chan struct{}
	ended    sync.WaitGroup
	broken   error // the panic of who tells it
}

// Start tells the progress from time to time until Finish is called.
func (p *Progress) Start() {
	p.began, p.stop = p.Now(), make(chan struct{})
	every := plainInterval
	if p.Live {
		every = liveInterval
	}
	p.ended.Go(func() {
		defer func() {
			if cause := recover(); cause != nil {
				p.broken = fmt.Errorf("%v\n%s", cause, debug.Stack())
			}
		}()
		ticker, keeping := time.NewTicker(every), time.NewTicker(keepInterval)
		defer ticker.Stop()
		defer keeping.Stop()
		for {
			select {
			case <-ticker.C:
				p.show()
			case <-keeping.C:
				if p.Keep != nil {
					p.Keep(p.parts())
				}
			case <-p.stop:
				return
			}
		}
	})
}

// Finish tells nothing more and leaves the terminal's line empty. A panic comes
// up again here, where it is said without its secrets.
func (p *Progress) Finish() {
	close(p.stop)
	p.ended.Wait()
	if p.Live && p.Out != nil {
		fmt.Fprint(p.Out, ClearLine)
	}
	if p.broken != nil {
		panic(p.broken)
	}
}

// Started implements engine.Watcher.
func (p *Progress) Started(plan.Item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started++
}

// Executed counts a run that is not written yet.
func (p *Progress) Executed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.executed++
}

// Finished implements engine.Watcher.
func (p *Progress) Finished(run *record.Run, scores []record.Score) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.executed = max(p.executed, p.done)
	if !run.Outcome.Counts() {
		p.faults++
		return
	}
	if value, ok := p.judged(run, scores); ok {
		p.sum += value
		p.scored++
	}
}

// judged is the number that is followed: a score, else the verdict of a loop that evaluates.
func (p *Progress) judged(run *record.Run, scores []record.Score) (value float64, ok bool) {
	if p.Score == "" {
		if run.Outcome.Success {
			value = 1
		}
		return value, slices.ContainsFunc(run.Iterations, func(it record.Iteration) bool { return it.Evaluation != nil })
	}
	for _, s := range scores {
		if s.Name == p.Score && s.Iteration == 0 {
			return s.Value, s.Unscored == ""
		}
	}
	return 0, false
}

// ClearLine goes to the start of the terminal's line and empties it.
const ClearLine = "\r\x1b[K"

func (p *Progress) show() {
	if p.Out == nil {
		return
	}
	line := strings.Join(p.parts(), " · ")
	if p.Live {
		fmt.Fprint(p.Out, ClearLine+displaywidth.TruncateString(line, max(20, p.Width-1), "…"))
		return
	}
	fmt.Fprintln(p.Out, line)
}

func (p *Progress) parts() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	flying, saving := p.inFlight()
	parts := []string{fmt.Sprintf("%d of %d runs", p.Before+p.done, p.Total), fmt.Sprintf("%d in flight", flying)}
	if saving > 0 {
		parts = append(parts, fmt.Sprintf("%d being saved", saving))
	}
	parts = append(parts, p.held()...)
	if p.faults > 0 {
		parts = append(parts, fmt.Sprintf("%d faults", p.faults))
	}
	if p.scored > 0 {
		parts = append(parts, fmt.Sprintf("%s %.2f", page.Visible(cmp.Or(p.Score, "success")), p.sum/float64(p.scored)))
	}
	return append(parts, p.left(), Spent(p.Spent(), &p.Budget))
}

// InFlight is how many runs are being made, and how many are made and not safe yet.
func (p *Progress) InFlight() (flying, saving int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inFlight()
}

func (p *Progress) inFlight() (flying, saving int) {
	return max(0, p.started-p.executed), p.executed - p.done
}

// held tells what keeps calls from being made.
func (p *Progress) held() (parts []string) {
	if p.Pace == nil {
		return nil
	}
	waiting, backingOff := p.Pace()
	if waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting for rate limit", waiting))
	}
	if backingOff > 0 {
		parts = append(parts, fmt.Sprintf("backing off %v", backingOff.Round(100*time.Millisecond)))
	}
	return parts
}

// left is the time that the other runs need if they take as long as those before.
func (p *Progress) left() string {
	if p.done == 0 {
		return "time left unknown"
	}
	elapsed := p.Now().Sub(p.began)
	left := elapsed / time.Duration(p.done) * time.Duration(max(0, p.Total-p.Before-p.done))
	return left.Round(time.Second).String() + " left"
}

// Tally counts what becomes of the runs, and lets the progress be told.
type Tally struct {
	View *Progress   // nil: none
	Any  atomic.Bool // a run was executed

	mu     sync.Mutex
	Totals record.Totals
	Effort record.Effort
	Fault  *record.Error // of the run with a fault whose id comes first
	of     string        // that run
}

// Started implements engine.Watcher.
func (t *Tally) Started(item plan.Item) {
	if t.View != nil {
		t.View.Started(item)
	}
}

// Finished implements engine.Watcher.
func (t *Tally) Finished(run *record.Run, scores []record.Score) {
	t.mu.Lock()
	t.Totals.Add(run.Outcome.Status, run.Usage, run.Judging, run.User)
	t.Effort.Add(run)
	if run.Outcome.Status == record.Faulted && (t.Fault == nil || run.ID < t.of) {
		t.Fault, t.of = run.Outcome.Error, run.ID
	}
	t.mu.Unlock()
	if t.View != nil {
		t.View.Finished(run, scores)
	}
}

// Executed counts a run that is not written yet.
func (t *Tally) Executed() {
	t.Any.Store(true)
	if t.View != nil {
		t.View.Executed()
	}
}
