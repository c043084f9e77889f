package stop

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// State is a history of iterations and what follows from it. Expressions inside
// the loop see it: it is an expr.Scope. It is not safe for concurrent use.
type State struct {
	rules *Rules
	task  *spec.Task
	param any

	history  []entry
	trackers []tracker
	held     []bool
	steps    stepping
	watched  []error // of the leaves that are only watched
	unkept   tracker // of leaves that a Watcher judges when it asks them

	usage   record.Usage // of so many iterations as are counted; see Usage
	counted int
	folded  int
	working time.Duration

	best             int // index, -1: none
	bestShare        float64
	highest          float64 // the highest confidence, where best >= 0
	improvement      tracker
	evaluation       int // index of the last evaluated iteration, -1: none
	sinceImprovement int

	phase, inPhase       int
	strategy, inStrategy int
	strategyStart        int  // index of the strategy's first iteration
	phaseEnds            bool // with the newest iteration
	strategyEnds         bool

	failure error // of an expression, at the newest iteration
	// answers are those of the expressions of leaves at the newest iteration, where
	// many are watched; nil: each leaf evaluates its own.
	answers map[question]answer
}

// Step is what comes next.
type Step struct {
	Iteration     int // from 1
	PhaseIndex    int
	Phase         string // "" in a loop without phases
	StrategyIndex int
	Strategy      string // "" in a loop without strategies
	// Evaluate says that the iteration is to be evaluated.
	Evaluate bool
}

// StageIndex is the place of the step among the loop's stages: a loop has
// phases or strategies, not both.
func (s Step) StageIndex() int { return s.PhaseIndex + s.StrategyIndex }

// Start begins a history. Param is what expressions see as `param`; it may be nil.
func (r *Rules) Start(task *spec.Task, param any) *State {
	s := &State{
		rules:      r,
		task:       task,
		param:      param,
		trackers:   make([]tracker, len(r.leaves)),
		held:       make([]bool, len(r.leaves)),
		steps:      newStepping(len(r.stepping)),
		watched:    make([]error, len(r.leaves)-r.decisive),
		best:       -1,
		evaluation: -1,
	}
	if r.decisive < len(r.leaves) {
		s.answers = map[question]answer{}
	}
	return s
}

// Restart begins another history under the same rules, in the memory of this one.
func (s *State) Restart(task *spec.Task, param any) {
	clear(s.history)
	clear(s.trackers)
	clear(s.held)
	s.steps.clear()
	clear(s.watched)
	clear(s.answers)
	*s = State{
		rules: s.rules, task: task, param: param, history: s.history[:0],
		trackers: s.trackers, held: s.held, steps: s.steps, watched: s.watched, answers: s.answers,
		best: -1, evaluation: -1,
	}
}

// Len is the number of iterations so far.
func (s *State) Len() int { return len(s.history) }

// Usage is what the iterations used, evaluations and users included. It is added up when it
// is asked for: most rules never do.
func (s *State) Usage() record.Usage {
	for ; s.counted < s.folded; s.counted++ {
		s.usage = s.usage.Plus(s.history[s.counted].Total())
	}
	return s.usage
}

func (s *State) last() *entry { return &s.history[len(s.history)-1] }

// Next tells what the next iteration is.
func (s *State) Next() Step {
	step := Step{Iteration: s.Len() + 1, PhaseIndex: s.phase, StrategyIndex: s.strategy}
	if s.phase < len(s.rules.phases) {
		step.Phase = s.rules.phases[s.phase].Name
	}
	if s.strategy < len(s.rules.strategies) {
		step.Strategy = s.rules.strategies[s.strategy].Name
	}
	step.Evaluate = s.rules.evaluate != nil && s.phase >= s.rules.first
	return step
}

// Append adds an executed iteration. Until Decide, what it says of best, phase
// and usage stands before it, while output and the like are its own: that is
// what its evaluation sees. Output is the parsed output, nil to parse it when
// an expression asks for it.
func (s *State) Append(it *record.Iteration, output any) {
	s.foldSteps(it)
	s.history = append(s.history, entry{Iteration: it, value: output, parsed: output != nil})
}

// Fold adds a recorded iteration and decides on it.
func (s *State) Fold(it *record.Iteration) Decision {
	s.Append(it, nil)
	return s.Decide()
}

// fold takes the newest iteration into everything but the leaves. Its error is
// that of a phase's `until`.
func (s *State) fold() error {
	e := s.last()
	s.folded = s.Len()
	s.working += e.Working
	if e.Evaluated() {
		s.evaluation = s.Len() - 1
	}
	s.foldBest(e)
	if e.counted() {
		s.sinceImprovement = s.improvement.improve(e, s.rules.minDelta)
	}
	s.inPhase++
	s.inStrategy++
	s.strategyEnds = s.strategyDone()
	var err error
	s.phaseEnds, err = s.phaseDone()
	return err
}

func (s *State) phaseDone() (bool, error) {
	if s.phase >= len(s.rules.phases) {
		return false, nil
	}
	p := &s.rules.phases[s.phase]
	if p.MaxIterations > 0 && s.inPhase >= p.MaxIterations {
		return true, nil
	}
	if e := s.last(); p.Until == nil || e.Error != nil || s.lost(e) {
		return false, nil
	}
	return p.Until.Bool(context.Background(), s)
}

func (s *State) strategyDone() bool {
	if s.strategy >= len(s.rules.strategies) {
		return false
	}
	return s.inStrategy >= max(1, s.rules.strategies[s.strategy].MaxIterations)
}

// advance moves on from a phase or strategy that ended.
func (s *State) advance() {
	if s.phaseEnds {
		s.phase, s.inPhase = s.phase+1, 0
	}
	if s.strategyEnds {
		s.strategy, s.inStrategy, s.strategyStart = s.strategy+1, 0, s.Len()
		s.forget()
	}
}

// forget begins anew what a strategy does not inherit.
func (s *State) forget() {
	s.improvement, s.sinceImprovement = tracker{}, 0
	for i := range s.rules.leaves {
		if s.rules.leaves[i].anew {
			s.trackers[i] = tracker{}
		}
	}
}

// entry is an iteration of a history.
type entry struct {
	*record.Iteration
	value  any
	parsed bool
	hash   string // of the output; "" until a guard asks for it
	// adaptation is what these rules change for the next iteration, which is not
	// always what those did under which it was recorded.
	adaptation string
}

// lost: it was cut and left nothing that counts. In a loop that evaluates nothing, what it left
// in a workspace counts as it is.
func (s *State) lost(e *entry) bool {
	return e.Lost() && (s.rules.evaluate != nil || e.Workspace == nil)
}

// judged: expressions can judge the output.
func (e *entry) judged() bool { return e.Error == nil && !e.Lost() && !e.Skipped }

// passedOver: conditions on outputs do not look at it.
func (e *entry) passedOver() bool { return e.Skipped || e.Lost() }

// counted: evaluated or failed, so it improves or it does not.
func (e *entry) counted() bool {
	return !e.passedOver() && (e.Evaluation != nil || e.Error != nil)
}

// output is the parsed output, null where there is none.
func (e *entry) output() any {
	if !e.parsed {
		e.parsed = true
		e.value = parsed(e.Output)
	}
	return e.value
}

// outputHash tells equal outputs from different ones.
func (e *entry) outputHash() string {
	if e.hash == "" {
		e.hash = e.OutputHash()
	}
	return e.hash
}

// callSignature is that of the iteration's tool calls. A light run has no more of them than a digest.
func (e *entry) callSignature(option string) string {
	if e.Digest != nil {
		return e.Digest.Tools
	}
	return callSignature(e.ToolCalls, option)
}

// parsed is JSON as expressions see it, null where there is none.
func parsed(text []byte) any {
	if len(text) == 0 {
		return nil
	}
	value, _ := expr.ParseJSON(text)
	return value
}

// question is an expression that leaves ask: its text, and whether a truth is
// wanted.
type question struct {
	text  string
	truth bool
}

type answer struct {
	value any
	truth bool
	err   error
}

// value evaluates an expression of a leaf, once for all leaves that watch it.
func (s *State) value(e *spec.Expr) (any, error) {
	a, known := s.answers[question{e.Text, false}]
	if !known {
		a.value, a.err = e.Value(context.Background(), s)
		s.answer(question{e.Text, false}, a)
	}
	return a.value, a.err
}

// truth is value for conditions.
func (s *State) truth(e *spec.Expr) (bool, error) {
	a, known := s.answers[question{e.Text, true}]
	if !known {
		a.truth, a.err = e.Bool(context.Background(), s)
		s.answer(question{e.Text, true}, a)
	}
	return a.truth, a.err
}

func (s *State) answer(q question, a answer) {
	if s.answers != nil {
		s.answers[q] = a
	}
}

// Returned is the iteration that a run returns which stops now, by a condition
// or guard; 0: none.
func (s *State) Returned() int { return s.returned("") }

// Believed is the highest threshold at which the loop believes in a run that
// stops now: the best confidence, +Inf where the last iteration passed or its
// agent completed the task, NaN where it believes at none.
func (s *State) Believed() float64 {
	if s.succeeded() {
		return math.Inf(1)
	}
	if s.best < 0 {
		return math.NaN()
	}
	return s.highest
}

// foldBest keeps the best iteration: the highest confidence, the earliest among
// equals; under checklist the largest weighted share of checks, the latest
// among equals.
func (s *State) foldBest(e *entry) {
	if !e.Evaluated() {
		return
	}
	first := s.best < 0
	if first || e.Evaluation.Confidence > s.highest {
		s.highest = e.Evaluation.Confidence
		if s.rules.pattern != spec.PatternChecklist {
			s.best = s.Len() - 1
		}
	}
	if s.rules.pattern != spec.PatternChecklist {
		return
	}
	if share := record.Share(e.Evaluation.Checks); first || share >= s.bestShare {
		s.best, s.bestShare = s.Len()-1, share
	}
}

// returned is the iteration whose output the run returns, from 1; 0: none.
func (s *State) returned(reason record.Reason) int {
	if s.Len() > 0 {
		e := s.last()
		if e.Ended != nil && e.Ended.Reason == string(reason) && reason != record.ReasonGaveUp {
			return s.Len()
		}
		passed := e.Evaluated() && e.Evaluation.Passed
		if passed && s.rules.pattern != spec.PatternImprovement {
			return s.Len()
		}
	}
	switch {
	case s.rules.evaluate == nil:
		return s.lastOf(func(e *entry) bool { return e.Error == nil && !s.lost(e) })
	case s.best < 0: // a log may have no evaluations
		return s.lastOf((*entry).judged)
	}
	return s.best + 1
}

func (s *State) lastOf(is func(*entry) bool) int {
	for i := s.Len() - 1; i >= 0; i-- {
		if is(&s.history[i]) {
			return i + 1
		}
	}
	return 0
}

// success is what the loop believes of a run that ran to its end: its last
// evaluation passed, its agent completed the task, or the best confidence reached
// the success threshold.
func (s *State) success() bool {
	return s.succeeded() || s.best >= 0 && s.highest >= s.rules.threshold
}

// succeeded says that the last iteration is a success whatever its confidence.
func (s *State) succeeded() bool {
	if s.Len() == 0 {
		return false
	}
	e := s.last()
	passed := e.Evaluated() && e.Evaluation.Passed
	completed := e.Ended != nil && slices.Contains(s.rules.completing[e.Phase+e.Strategy], e.Ended.Tool)
	return passed || completed
}

// callSignature is the set of an iteration's tool calls as one text: sorted, so
// that the order of parallel calls does not matter. "" where there are none.
// Of what each call is made tells the signature option: calls (name and
// arguments), normalized (arguments without regard to case and white space),
// observations (with the results).
func callSignature(calls []record.ToolCall, option string) string {
	if len(calls) == 0 {
		return ""
	}
	parts := make([]string, len(calls))
	for i := range calls {
		parts[i] = calls[i].Tool + "\x00" + string(record.Canonical(calls[i].Arguments))
		switch option {
		case "normalized":
			parts[i] = strings.Join(strings.Fields(strings.ToLower(parts[i])), " ")
		case "observations":
			parts[i] += "\x00" + string(record.Canonical(calls[i].Result)) + string(calls[i].ResultB64)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\x01")
}

// errorSignature is the set of errors of tool calls that failed, all of them, as
// one text; "" where one succeeded or there is none.
func errorSignature(calls []record.ToolCall) string {
	var parts []string
	for i := range calls {
		if calls[i].Error == nil {
			return ""
		}
		parts = append(parts, calls[i].Error.Error())
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), "\x01")
}

// BegunTools are the tool calls that had begun at a time.
func BegunTools(calls []record.ToolCall, at time.Duration) []record.ToolCall {
	return slices.DeleteFunc(slices.Clone(calls), func(c record.ToolCall) bool { return c.Start > at })
}
