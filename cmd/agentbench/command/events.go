package command

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/openai"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
)

// eventWriter writes the events of all runs, one JSON object a line, as they
// happen. The events of a run stand in their order; those of others between them.
type eventWriter struct {
	mu    sync.Mutex
	out   *bufio.Writer
	close func() error
	err   error // the first one; nothing is written after it
}

// openEvents opens a file for events, "-" for stdout.
func (p *program) openEvents(path string) (*eventWriter, error) {
	if path == "-" {
		return newEventWriter(p.out, func() error { return nil }), nil
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		return nil, exit.Usage("remove it, or name another file", "--events %s: there is such a file, and it is not empty", path)
	}
	// Only for writing and without waiting, so that a named pipe without a reader
	// is noticed.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK, 0o644)
	switch {
	case errors.Is(err, syscall.ENXIO):
		return nil, exit.With(exit.NotMeasured, "start its reader first", "--events %s: nobody reads this pipe", path)
	case err != nil:
		return nil, exit.With(exit.NotMeasured, "name a file that can be written to", "opening the file for events: %w", err)
	}
	hiding := p.secrets.Writer(f)
	return newEventWriter(hiding, func() error { return errors.Join(hiding.Flush(), f.Close()) }), nil
}

func newEventWriter(w io.Writer, closing func() error) *eventWriter {
	return &eventWriter{out: bufio.NewWriter(w), close: closing}
}

// write takes an event from any goroutine. Those who follow a run see at once
// how it starts, how each step and iteration ends, and how the run does.
func (e *eventWriter) write(event record.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return
	}
	line, err := jsonLine(event)
	if err == nil {
		_, err = e.out.Write(line)
	}
	e.err = err
	switch event.Type {
	case record.RunStarted, record.UserMessage, record.AgentResponse, record.ToolReturned, record.DelegationReturned,
		record.IterationCompleted, record.AgentEnded:
		e.flush()
	}
}

func (e *eventWriter) flush() {
	if err := e.out.Flush(); e.err == nil {
		e.err = err
	}
}

// end gives the first error of all writes.
func (e *eventWriter) end() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.flush()
	if err := e.close(); e.err == nil {
		e.err = err
	}
	return e.err
}

// trace lets the runs of a suite be traced, where the environment asks for it.
// That traces cannot be sent fails nothing: it is only told.
func (p *program) trace(ctx context.Context, s *spec.Suite) (context.Context, func()) {
	wanted, err := trace.Wanted(p.env)
	if err != nil {
		p.warnOfTrace(fmt.Errorf("nothing is traced: %w", err))
	}
	if !wanted {
		return ctx, func() {}
	}
	p.learnTrace()
	exporter, err := trace.Open(ctx, trace.Options{Version: version(), Redact: p.secrets.String, Warn: p.warnOfTrace})
	if err != nil {
		p.warnOfTrace(err)
		return ctx, func() {}
	}
	traced := trace.With(ctx, &trace.Tracing{Tracer: exporter, Models: tracedModels(s), Contents: trace.Contents(p.env)})
	return traced, func() {
		if err := exporter.Close(); err != nil {
			p.warnOfTrace(err)
		}
	}
}

func (p *program) warnOfTrace(err error) {
	line := fmt.Sprintf("agentbench: warning: traces: %v", err)
	if p.isTerminal(p.err) {
		line = clearLine + line
	}
	fmt.Fprintln(p.err, line)
}

// learnTrace makes the secrets known that a collector is called with.
func (p *program) learnTrace() {
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"} {
		headers := map[string]string{}
		for pair := range strings.SplitSeq(p.env(prefix+"HEADERS"), ",") {
			name, value, _ := strings.Cut(pair, "=")
			if decoded, err := url.PathUnescape(value); err == nil {
				value = decoded
			}
			headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
		p.secrets.Learn(secret.OfServer(p.env(prefix+"ENDPOINT"), "", headers)...)
	}
}

// tracedModels is what traces say of a suite's models.
func tracedModels(s *spec.Suite) map[string]trace.Model {
	all := map[string]trace.Model{}
	for i := range s.Models {
		name, declared := s.Models[i].Key, &s.Models[i].Value
		m := trace.Model{Provider: declared.Provider, Name: cmp.Or(declared.Name, name)}
		if server, calls := declared.Server(); calls {
			m.Address, m.Port = serverOf(cmp.Or(server.BaseURL, openai.DefaultURL))
		}
		all[name] = m
	}
	return all
}

// serverOf is the host and the port of an address.
func serverOf(address string) (host string, port int) {
	base, err := url.Parse(address)
	if err != nil {
		return "", 0
	}
	if port, err = strconv.Atoi(base.Port()); err != nil {
		port = map[string]int{"http": 80, "https": 443}[base.Scheme]
	}
	return base.Hostname(), port
}

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
		parts = append(parts, fmt.Sprintf("%s %.2f", page.Visible(name), p.sum/float64(p.scored)))
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
		return fmt.Sprintf("%s of %s", page.USD(p.usage.Cost.Dollars()), page.USD(b.CostUSD))
	case b.Calls > 0:
		return fmt.Sprintf("%d of %d calls", p.usage.Calls, b.Calls)
	case b.Tokens > 0:
		return fmt.Sprintf("%d of %d tokens", p.usage.Tokens(), b.Tokens)
	case p.usage.Cost > 0:
		return page.USD(p.usage.Cost.Dollars())
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
