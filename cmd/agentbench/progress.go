package main

import (
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// How often the progress is told: rewritten on a terminal, a plain line elsewhere.
const (
	liveInterval  = 200 * time.Millisecond
	plainInterval = 5 * time.Second
)

// progress tells how far a suite has come. It is the engine's watcher.
type progress struct {
	out    io.Writer
	live   bool // a terminal, where one line is rewritten
	width  int  // of the terminal, in cells
	now    func() time.Time
	total  int // runs planned
	before int // of them done by earlier sessions
	budget spec.SuiteBudget
	// score is the name of the scorer that is followed, "" for what the loops believe.
	score string
	// pace is how many calls wait for a rate limit, and for how long none will be
	// made because the server refused some; nil: nothing is known.
	pace func() (waiting int, backingOff time.Duration)

	mu       sync.Mutex
	began    time.Time
	started  int
	executed int // of those started
	done     int // of those executed: they are safe
	faults   int
	sum      float64 // of the scores
	scored   int
	usage    record.Usage
	stop     chan struct{}
	ended    sync.WaitGroup
	broken   error // the panic of who tells it
}

// start tells the progress from time to time until finish is called.
func (p *progress) start() {
	p.began, p.stop = p.now(), make(chan struct{})
	every := plainInterval
	if p.live {
		every = liveInterval
	}
	p.ended.Go(func() {
		defer func() {
			if cause := recover(); cause != nil {
				p.broken = fmt.Errorf("%v\n%s", cause, debug.Stack())
			}
		}()
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.show()
			case <-p.stop:
				return
			}
		}
	})
}

// finish tells nothing more and leaves the terminal's line empty. A panic comes
// up again here, where it is said without its secrets.
func (p *progress) finish() {
	close(p.stop)
	p.ended.Wait()
	if p.live {
		fmt.Fprint(p.out, clearLine)
	}
	if p.broken != nil {
		panic(p.broken)
	}
}

// Started implements engine.Watcher.
func (p *progress) Started(plan.Item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started++
}

// Executed counts a run that is still to be put down.
func (p *progress) Executed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.executed++
}

// Finished implements engine.Watcher.
func (p *progress) Finished(run *record.Run, scores []record.Score) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.executed = max(p.executed, p.done)
	p.usage = p.usage.Plus(run.Volatile.Paid)
	if !run.Outcome.Counts() {
		p.faults++
		return
	}
	value, ok := p.judged(run, scores)
	if ok {
		p.sum += value
		p.scored++
	}
}

// judged is the number that is followed. A loop that evaluates nothing believes
// nothing.
func (p *progress) judged(run *record.Run, scores []record.Score) (float64, bool) {
	if p.score == "" {
		evaluated := func(it record.Iteration) bool { return it.Evaluation != nil }
		return asNumber(run.Outcome.Success), slices.ContainsFunc(run.Iterations, evaluated)
	}
	for _, s := range scores {
		if s.Name == p.score && s.Iteration == 0 {
			return s.Value, s.Unscored == ""
		}
	}
	return 0, false
}

func asNumber(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// clearLine goes to the start of the terminal's line and empties it.
const clearLine = "\r\x1b[K"

func (p *progress) show() {
	line := p.line()
	if p.live {
		fmt.Fprint(p.out, clearLine+displaywidth.TruncateString(line, max(20, p.width-1), "…"))
		return
	}
	fmt.Fprintln(p.out, line)
}

func (p *progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	parts := []string{fmt.Sprintf("%d of %d runs", p.before+p.done, p.total), fmt.Sprintf("%d in flight", max(0, p.started-p.executed))}
	if saving := p.executed - p.done; saving > 0 {
		parts = append(parts, fmt.Sprintf("%d being saved", saving))
	}
	parts = append(parts, p.held()...)
	if p.faults > 0 {
		parts = append(parts, fmt.Sprintf("%d faults", p.faults))
	}
	if p.scored > 0 {
		name := p.score
		if name == "" {
			name = "success"
		}
		parts = append(parts, fmt.Sprintf("%s %.2f", printable(name), p.sum/float64(p.scored)))
	}
	parts = append(parts, p.spent(), p.left())
	return strings.Join(parts, " · ")
}

// held tells what keeps calls from being made.
func (p *progress) held() (parts []string) {
	if p.pace == nil {
		return nil
	}
	waiting, backingOff := p.pace()
	if waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting for rate limit", waiting))
	}
	if backingOff > 0 {
		parts = append(parts, fmt.Sprintf("backing off %v", backingOff.Round(100*time.Millisecond)))
	}
	return parts
}

// spent names what was spent of the budget; without one, the cost or the calls.
func (p *progress) spent() string {
	switch b := p.budget; {
	case b.CostUSD > 0:
		return fmt.Sprintf("%s of %s", dollars(p.usage.Cost.Dollars()), dollars(b.CostUSD))
	case b.Calls > 0:
		return fmt.Sprintf("%d of %d calls", p.usage.Calls, b.Calls)
	case b.Tokens > 0:
		return fmt.Sprintf("%d of %d tokens", p.usage.Tokens(), b.Tokens)
	case p.usage.Cost > 0:
		return dollars(p.usage.Cost.Dollars())
	}
	return fmt.Sprintf("%d calls", p.usage.Calls)
}

// left is the time that the other runs need if they take as long as those before.
func (p *progress) left() string {
	if p.done == 0 {
		return "time left unknown"
	}
	elapsed := p.now().Sub(p.began)
	left := elapsed / time.Duration(p.done) * time.Duration(max(0, p.total-p.before-p.done))
	return left.Round(time.Second).String() + " left"
}

func dollars(usd float64) string {
	if usd >= record.Countless.Dollars() {
		return "over $9.2M"
	}
	if usd != 0 && usd < 0.01 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}
