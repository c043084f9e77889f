// Package scorers scores runs. New makes a Set of scorers, which judges what a finished run, and each of its iterations, gave against
// the target of its task, which nothing inside the loop has seen.
//
// The stages of a judgement, in order: the target (target, or a CEL expression), the value (the output, or a CEL
// expression), the extraction of the answer out of it, the comparison that is the scorer's own, and not.
//
// What every scorer keeps to:
//
//   - No answer is worth 0: an output, value or extraction that is empty (nothing, null, or only white space) scores 0
//     with the answer "none", under not as well. A run that returns nothing cannot be right.
//   - Unscored means that the scorer could not judge: the target or the evaluation whose checks are counted is
//     missing, an expression failed, the value is larger than what may be searched, or the result is not a
//     number between 0 and 1.
//   - An iteration's score is that of its own output, seen as if the run had stopped there: best, iterations and usage
//     are those up to it. The run's score is that of the iteration that it returned, seen from the end. A scorer that
//     reads stop judges the run alone, because how a shorter run would have stopped only a replay can say.
//   - A scorer that makes calls (a judge, a program, an endpoint) judges the output that is returned, and iterations
//     only where that is declared or asked for. The calls of each score are numbered from 0: asked again for the same
//     score, it makes the same calls, which are in the cache. Their usage is in the score and in no run's.
//   - A scorer of what was done (of tool calls and steps) judges an iteration by all that was done up to it, and the
//     run by everything. A run without calls has a score, too.
//
// makers in scorer.go has a line for each type; the functions are in the files of their families.
//
// It is no stable API.
package scorers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/scorers/judge"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

type scorer struct {
	Version
	not     bool
	value   *expr.Program // nil: the output
	target  *expr.Program // nil: the task's target
	extract extraction    // nil: the value is the answer
	compare comparison

	needsTarget bool
	needsAnswer bool
	command     bool
	readsOutput bool
	readsBest   bool
	shared      bool  // it is a part of a set as well: its score is kept for that
	unable      error // why it cannot make its calls
}

// score judges where the subject stands, once. Empty reports that there was no answer.
func (s *scorer) score(ctx context.Context, at *subject) (score record.Score, empty bool) {
	if !s.shared && !s.Asks {
		return s.make(ctx, at)
	}
	place := s.place(at)
	known, ok := at.known[place]
	if !ok {
		known.score, known.empty = s.make(ctx, at)
		if at.known == nil {
			at.known = map[standing]kept{}
		}
		at.known[place] = known
	}
	return known.score, known.empty
}

// place is where the subject stands, as far as it makes a difference to the scorer.
func (s *scorer) place(at *subject) standing {
	if s.LooksAround {
		return standing{s, at.n, at.seen}
	}
	return standing{s, at.n, 0}
}

// make judges. A scorer that makes no call works even if the suite was cancelled; the calls of every score are numbered
// anew.
func (s *scorer) make(ctx context.Context, at *subject) (record.Score, bool) {
	if !s.Asks {
		return s.scoreOf(context.WithoutCancel(ctx), at)
	}
	ctx, traced := trace.StartScore(cache.WithRun(ctx), s.Name, at.run, at.n)
	score, empty := s.scoreOf(ctx, at)
	traced(&score)
	return score, empty
}

// scoreOf is the score of what the scorer finds. A panic leaves it unscored.
func (s *scorer) scoreOf(ctx context.Context, at *subject) (score record.Score, empty bool) {
	unjudged := record.Score{Run: at.run.ID, Name: s.Name, Scorer: s.Hash}
	defer func() {
		if cause := recover(); cause != nil {
			score = unjudged
			score.Unscored = short(fmt.Sprintf("panic: %v", cause), maxAnswer)
		}
	}()
	v := s.judge(ctx, at)
	if s.not {
		v = v.turned()
	}
	if v.answer == "" && s.needsAnswer && v.unscored == "" {
		v.answer = short(strings.TrimSpace(text(at.value)), maxAnswer)
	}
	score = unjudged
	v.write(&score)
	return score, v.nothing
}

// judge finds the target and the answer and compares.
func (s *scorer) judge(ctx context.Context, at *subject) verdict {
	at.begin()
	if s.Pairs && at.run.Configuration == s.Against {
		return isBaseline
	}
	if s.target != nil {
		target, err := s.target.Value(ctx, at)
		if err != nil {
			return unscored("target: %v", err)
		}
		at.target = target
	}
	if s.needsTarget && at.target == nil {
		return unscored("the target is missing")
	}
	if (s.readsOutput || s.readsBest) && !s.judgesFiles(at) && !(s.readsOutput && !isEmpty(at.output(at.n))) && !(s.readsBest && at.best() > 0) {
		return s.ofNothing(ctx, at) // it reads an output, and the run has none
	}
	if !s.needsAnswer {
		return s.compare(ctx, at)
	}
	switch err := s.answer(ctx, at); {
	case err != nil:
		return unscored("%v", err)
	case isEmpty(at.value) && !s.judgesFiles(at):
		return s.ofNothing(ctx, at)
	}
	return s.compare(ctx, at)
}

// judgesFiles reports whether the answer is what an iteration left in its workspace. Its program need
// not print anything.
func (s *scorer) judgesFiles(at *subject) bool {
	it := at.judged()
	return s.command && it != nil && it.Workspace != nil
}

// ofNothing is the verdict on a missing answer: in a pair a tie where the other is missing, too.
func (s *scorer) ofNothing(ctx context.Context, at *subject) verdict {
	if s.Pairs {
		switch other, why := at.other(ctx, s); {
		case why != "":
			return unscored("%s", why)
		case isEmpty(other):
			return verdict{value: 0.5, answer: "tie", explanation: "both gave nothing"}
		}
	}
	return nothing
}

// answer leaves the answer as the subject's value.
func (s *scorer) answer(ctx context.Context, at *subject) error {
	if s.value == nil {
		at.value = at.output(at.n)
	} else {
		value, err := s.value.Value(ctx, at)
		if err != nil {
			return fmt.Errorf("value: %w", err)
		}
		at.value = value
	}
	if s.extract == nil || isEmpty(at.value) {
		return nil
	}
	value, err := s.extract(ctx, at)
	if err != nil {
		return fmt.Errorf("extract: %w", err)
	}
	at.value = value
	return nil
}

// Options are what scorers need of the suite around them.
type Options struct {
	// Resolved are the configurations: what `best` is in a run depends on the pattern of its loop. Without them none is
	// a checklist.
	Resolved []spec.Resolved
	// Baseline is the configuration to compare with where a scorer names none.
	Baseline string
	// Outside makes the calls of scorers; nil: those that need it are unscored.
	Outside Outside
}

// Outside are the models, programs and endpoints of a suite that scorers call.
type Outside interface {
	// Model is a model of the suite, behind its cache, its gate and the suite's
	// budget.
	Model(name string) (model.Model, error)
	// Program starts in the suite's folder.
	Program(argv []string, timeout time.Duration) external.Program
	// Workspaces makes folders of the states of a loop's runs; nil: they have none.
	Workspaces(*spec.Loop) (*agent.Workspaces, error)
	// Endpoint fails where a header's variable is not set.
	Endpoint(url string, headers spec.Headers) (external.Endpoint, error)
}

// Set is the scorers of a suite, compiled. It is safe for concurrent use.
type Set struct {
	declared  []*scorer
	scorers   []*scorer       // those that need no other run
	checklist map[string]bool // the configurations whose best is the largest share of checks
}

// Version is what is known of one scorer of a set.
type Version struct {
	Name string
	Hash string // of what it does
	Asks bool   // it asks models, programs or endpoints: its scores cost something
	// Pairs reports that it compares a run with that of the configuration
	// Against, as Pair does.
	Pairs   bool
	Against string
	// OfRun reports that it does not judge iterations, even if it is asked: it reads how the run stopped.
	OfRun bool
	// LooksAround reports that its score of an iteration depends on where the run
	// ended, so that it may differ from the run's own.
	LooksAround bool
	// Judges is what it judges unasked: spec.ScoreReturned, ScoreEveryIteration or
	// ScoreWhenAsked.
	Judges string
}

// New compiles the scorers of a loaded suite. The faults point at their places in its file; the set is nil exactly if
// one of them is not a warning.
func New(scorers []spec.Scorer, options Options) (*Set, source.Faults) {
	s := &Set{checklist: map[string]bool{}}
	all := compilation{declared: scorers, outside: options.Outside, resolved: options.Resolved, baseline: options.Baseline, made: map[int]*scorer{}}
	for i := range scorers {
		s.add(all.at(i))
	}
	if all.faults.Err() != nil {
		return nil, all.faults
	}
	for i := range options.Resolved {
		r := &options.Resolved[i]
		s.checklist[r.Name] = r.Loop.Pattern == spec.PatternChecklist
	}
	return s, all.faults
}

func (s *Set) add(added *scorer) {
	s.declared = append(s.declared, added)
	if !added.Pairs {
		s.scorers = append(s.scorers, added)
	}
}

// Versions are the scorers in the order declared.
func (s *Set) Versions() []Version {
	all := make([]Version, len(s.declared))
	for i, scorer := range s.declared {
		all[i] = scorer.Version
	}
	return all
}

// Only has the wanted scorers alone. What they need of the others stays.
func (s *Set) Only(wanted func(name string) bool) *Set {
	only := &Set{checklist: s.checklist}
	for _, scorer := range s.declared {
		if wanted(scorer.Name) {
			only.add(scorer)
		}
	}
	return only
}

// Unable is why a scorer cannot make its calls, as where a key is not
// set; nil: all can. Its scores would be unscored.
func (s *Set) Unable() error {
	for _, scorer := range s.declared {
		if scorer.unable != nil {
			return fmt.Errorf("scorer %q: %w", scorer.Name, scorer.unable)
		}
	}
	return nil
}

// Score judges a run and its iterations by every scorer, as far as it judges them unasked.
func (s *Set) Score(ctx context.Context, task *spec.Task, run *record.Run) []record.Score {
	return s.Make(ctx, task, run, func(v *Version, n int) bool { return n == 0 || v.Judges == spec.ScoreEveryIteration })
}

// At judges a run at some of its iterations, whether or not its scorers judge them unasked; 0 is the run itself. Of
// iterations that it does not have there are no scores.
func (s *Set) At(ctx context.Context, task *spec.Task, run *record.Run, iterations ...int) []record.Score {
	return s.Make(ctx, task, run, func(_ *Version, n int) bool { return slices.Contains(iterations, n) })
}

// Make makes the scores of a run that are wanted of each scorer: first those of the run itself (iteration 0) in the
// order declared, then those of its first iteration, and so on, by the scorers that judge iterations. It does not fail
// and does not panic: what cannot be judged is unscored. Once ctx has ended, only what asks others is.
//
// Where the score of the run is that of the iteration that it returned, and both are wanted, Votes and Usage are the
// run's alone.
func (s *Set) Make(ctx context.Context, task *spec.Task, run *record.Run, wanted func(v *Version, iteration int) bool) []record.Score {
	at := newSubject(task, run, s.checklist[run.Configuration])
	at.scorers = s.scorers
	scores := make([]record.Score, len(s.scorers), len(s.scorers)*(1+len(run.Iterations))) // of the run, then of its iterations
	for n := 1; n <= len(run.Iterations); n++ {
		at.stand(n, n)
		for i, scorer := range s.scorers {
			if scorer.OfRun || !wanted(&scorer.Version, n) {
				continue
			}
			score, _ := scorer.score(ctx, at)
			if n == run.Outcome.Returned && !scorer.LooksAround && wanted(&scorer.Version, 0) { // it is the run's as well
				scores[i] = score
				score.Votes, score.Usage = nil, record.Usage{}
			}
			score.Iteration = n
			scores = append(scores, score)
		}
	}
	at.standAtEnd()
	for i, scorer := range s.scorers {
		if scores[i].Name == "" && wanted(&scorer.Version, 0) {
			scores[i], _ = scorer.score(ctx, at)
		}
	}
	scores = slices.DeleteFunc(scores, func(s record.Score) bool { return s.Name == "" })
	trace.Scored(ctx, run, scores)
	return scores
}

// comparison judges the answer of a subject. It is made once and used by many runs at the same time.
type comparison func(ctx context.Context, s *subject) verdict

// makers are how the scorers of each type are made; spec has what else is known of a type.
func makers() map[spec.ScorerType]func(*compiler) comparison {
	return map[spec.ScorerType]func(*compiler) comparison{
		"exact":       exact,
		"contains":    contains,
		"regex":       regex,
		"numeric":     numeric,
		"one_of":      oneOf,
		"json_equal":  jsonEqual,
		"json_schema": jsonSchema,
		"cel":         cel,
		"checks":      checks,

		// similarity of texts
		"similarity": similarity,
		"f1":         f1,
		"rouge":      rouge,
		"bleu":       bleu,
		"math":       mathematics,

		// forms of answers
		"contains_all": containsAll,
		"contains_any": containsAny,
		"starts_with":  startsWith,
		"word_count":   wordCount,
		"is_json":      isJSON,
		"json_path":    jsonPath,
		"is_xml":       isXML,
		"is_html":      isHTML,
		"is_sql":       isSQL,
		"refusal":      refusal,

		// what was measured
		"finish_reason": finishReason,
		"latency":       latency,
		"cost":          cost,
		"tokens":        tokens,
		"iterations":    iterations,
		"calls":         modelCalls,

		// sets
		"all_of": allOf,
		"any_of": anyOf,

		// what others are asked
		"judge":    judges,
		"command":  command,
		"test":     test,
		"pairwise": pairwise,
		"http":     endpoint,

		"tools_called":      ofTools(toolsCalled),
		"tools_not_called":  ofTools(toolsNotCalled),
		"tool_order":        ofTools(toolOrder),
		"tool_args":         ofTools(toolArgs),
		"tool_call_count":   ofTools(toolCallCount),
		"steps":             steps,
		"no_repeated_calls": ofTools(noRepeatedCalls),
	}
}

// compilation makes the scorers of a suite, each once, whatever sets it is a part of.
type compilation struct {
	declared []spec.Scorer
	outside  Outside
	resolved []spec.Resolved
	baseline string
	made     map[int]*scorer // by their place; nil while it is being made
	faults   source.Faults
}

// scorer makes a scorer of the suite, or a part that a set declares.
func (a *compilation) scorer(declared *spec.Scorer) *scorer {
	c := compiler{all: a, spec: declared}
	made := c.scorer()
	a.faults = append(a.faults, c.faults...)
	return made
}

// at is the scorer of that place; nil where it is being made: it is a part of itself.
func (a *compilation) at(place int) *scorer {
	if made, begun := a.made[place]; begun {
		return made
	}
	a.made[place] = nil
	made := a.scorer(&a.declared[place])
	a.made[place] = made
	return made
}

// compiler makes one scorer and collects what is wrong with it.
type compiler struct {
	all    *compilation
	spec   *spec.Scorer
	made   *scorer
	reads  []string // the variables that its expressions read
	faults source.Faults
}

// scorer compiles the scorer; after a fault it must not be used.
func (c *compiler) scorer() *scorer {
	s := &scorer{Version: Version{Name: c.spec.Name, Hash: c.spec.Hash()}, not: c.spec.Not}
	c.made = s
	kind, build := c.spec.Kind(), makers()[c.spec.Type]
	if build == nil {
		c.fault("type", "unknown type of scorer %q", c.spec.Type)
		return s
	}
	s.needsTarget, s.needsAnswer, s.command = kind.Target, kind.Answer, kind.Type == "command"
	s.Asks, s.Judges = c.spec.Asks(c.all.declared), c.spec.Judges(c.all.declared)
	s.Pairs = kind.Pairs
	s.value, s.target = c.expression(c.spec.Value), c.expression(c.spec.Target)
	s.extract = c.extraction()
	s.compare = build(c)
	s.readsOutput = c.readsAny("output") || kind.Answer && s.value == nil
	s.readsBest = c.readsAny("best")
	if s.OfRun = s.OfRun || c.readsAny("stop"); s.OfRun {
		s.Judges = spec.ScoreReturned
	}
	s.LooksAround = s.LooksAround || s.OfRun || kind.Course || c.readsAny("best", "iterations", "usage")
	return s
}

func (c *compiler) readsAny(names ...string) bool {
	return slices.ContainsFunc(c.reads, func(name string) bool { return slices.Contains(names, name) })
}

// expression is an expression as the loader compiled it, or compiled here; nil where there is none or after a fault.
func (c *compiler) expression(e *spec.Expr) *expr.Program {
	return c.compiled(e, expr.Scorer(expr.Any), expr.WantAny)
}

func (c *compiler) compiled(e *spec.Expr, env *expr.Env, want expr.Want) *expr.Program {
	if e == nil {
		return nil
	}
	program := e.Program
	if program == nil {
		var faults []expr.Fault
		program, faults = env.Compile(e.Text, want)
		for _, f := range faults {
			c.faults = append(c.faults, placed(e.Node, f))
		}
	}
	if program != nil {
		c.read(program.Reads())
	}
	return program
}

func (c *compiler) read(paths []string) {
	for _, path := range paths {
		name, rest, _ := strings.Cut(path, ".")
		c.reads = append(c.reads, name)
		if name == "task" && rest == "target" {
			c.reads = append(c.reads, rest)
		}
	}
}

// prompt is a text with expressions as the loader compiled it, or compiled here.
func (c *compiler) prompt(p *spec.Prompt) *spec.Prompt {
	if p.Template == nil {
		template, faults := expr.Rubric().Template(p.Text)
		for _, f := range faults {
			c.faults = append(c.faults, placed(p.Node, f))
		}
		p = &spec.Prompt{Text: p.Text, Node: p.Node, Template: template}
	}
	if p.Template != nil {
		c.read(p.Reads())
	}
	return p
}

// placed is a fault of an expression where that stands.
func placed(at *source.Node, f expr.Fault) source.Fault {
	if at == nil {
		at = &source.Node{}
	}
	fault := at.FaultAt(f.Offset, f.Len, f.Hint, "%s", f.What)
	fault.Warning = f.Warning
	return fault
}

// fault is one at a key of the scorer, or at the scorer. A scorer that Go code made has no place.
func (c *compiler) fault(key, format string, args ...any) {
	at := c.spec.Node
	if at == nil {
		at = &source.Node{}
	}
	c.faults = append(c.faults, at.KeyFault(key, "", format, args...))
}

// subject is a run as scorers see it from one place: the output of iteration n, after so many iterations were seen.
type subject struct {
	task      *spec.Task // may be nil
	run       *record.Run
	checklist bool // the pattern of its loop
	outputs   []output

	n    int // the iteration that is judged, from 1; 0: none
	seen int

	target any
	value  any // what is judged, once it is known

	beside     func(configuration string) *record.Run // of the same task and trial
	checklists map[string]bool                        // as checklist, of each configuration

	known   map[standing]kept // of scorers that are parts of sets, or ask others
	scorers []*scorer         // whose own scores are made
	counted map[standing]bool // where what a part took is in the score of a set
}

// standing is where a scorer judged; seen is 0 for one to which it makes no difference.
type standing struct {
	*scorer
	n, seen int
}

// kept is a score; empty: there was no answer.
type kept struct {
	score record.Score
	empty bool
}

// counts reports whether what a part takes here has to be in the score of its set, because it is in no other. It
// does so once.
func (s *subject) counts(p part) bool {
	if !p.Asks || !p.own && slices.Contains(s.scorers, p.scorer) {
		return false
	}
	place := p.place(s)
	if s.counted[place] {
		return false
	}
	if s.counted == nil {
		s.counted = map[standing]bool{}
	}
	s.counted[place] = true
	return true
}

// output is an iteration's, parsed when it is first looked at.
type output struct {
	value  any
	parsed bool
}

func newSubject(task *spec.Task, run *record.Run, checklist bool) *subject {
	return &subject{task: task, run: run, checklist: checklist, outputs: make([]output, len(run.Iterations))}
}

func (s *subject) stand(n, seen int) {
	if n > len(s.run.Iterations) {
		n = 0
	}
	s.n, s.seen = max(n, 0), seen
}

// standAtEnd is where the run is judged: the iteration that it returned, seen from the end.
func (s *subject) standAtEnd() { s.stand(s.run.Outcome.Returned, len(s.run.Iterations)) }

// begin forgets what another scorer found.
func (s *subject) begin() {
	s.target, s.value = nil, nil
	if s.task != nil {
		s.target = s.task.Target
	}
}

// output is the output of iteration n, nil where it is missing. What is not JSON, which no record holds, is text.
func (s *subject) output(n int) any {
	if n < 1 {
		return nil
	}
	o := &s.outputs[n-1]
	if !o.parsed {
		o.parsed = true
		if raw := s.run.Iterations[n-1].Output; len(raw) > 0 {
			var err error
			if o.value, err = expr.ParseJSON(raw); err != nil {
				o.value = string(raw)
			}
		}
	}
	return o.value
}

// judged is the iteration that is judged, nil where the run returned none.
func (s *subject) judged() *record.Iteration {
	if s.n == 0 {
		return nil
	}
	return &s.run.Iterations[s.n-1]
}

// best is the best iteration seen, from 1; 0: none. It is the one of the highest confidence, the earliest among equals;
// under checklist the one of the largest weighted share of checks, the latest among equals.
func (s *subject) best() int {
	best, highest := 0, 0.0
	for n := 1; n <= s.seen; n++ {
		it := &s.run.Iterations[n-1]
		if !it.Evaluated() {
			continue
		}
		merit := it.Evaluation.Confidence
		if s.checklist {
			merit = record.Share(it.Evaluation.Checks)
		}
		if best == 0 || merit > highest || s.checklist && merit == highest {
			best, highest = n, merit
		}
	}
	return best
}

// used is what the iterations seen used, evaluations included.
func (s *subject) used() record.Usage {
	if s.seen == len(s.run.Iterations) {
		return s.run.Total()
	}
	var used record.Usage
	for i := range s.seen {
		used = used.Plus(s.run.Iterations[i].Total())
	}
	return used
}

// Lookup gives expressions their variables: a subject is an expr.Scope.
func (s *subject) Lookup(name string) (any, bool) {
	switch name {
	case "task":
		return spec.JudgedTask{Task: s.task}, s.task != nil
	case "target":
		return s.target, true
	case "value":
		return s.value, true
	case "output":
		return s.output(s.n), true
	case "best":
		if best := s.best(); best > 0 {
			return iterationFields{s, best}, true
		}
		return nil, true
	case "iterations":
		iterations := make([]any, s.seen)
		for i := range iterations {
			iterations[i] = iterationFields{s, i + 1}
		}
		return iterations, true
	case "usage":
		return stop.UsageFields{Usage: s.used()}, true
	case "stop":
		return stopFields{&s.run.Outcome}, true
	}
	return nil, false
}

type stopFields struct{ *record.Outcome }

func (f stopFields) Field(name string) any {
	switch name {
	case "reason":
		return string(f.Reason)
	case "class":
		return string(f.Class)
	case "name":
		return f.Fired
	case "success":
		return f.Success
	case "status":
		return string(f.Status)
	}
	return nil
}

// iterationFields is iteration n as expressions see it, with the fields of the loop's history.
type iterationFields struct {
	*subject
	n int
}

func (f iterationFields) Field(name string) any {
	if name == "output" {
		return f.output(f.n)
	}
	return stop.IterationField(&f.run.Iterations[f.n-1], f.n, name)
}

// verdict is what a comparison finds. The zero verdict is worth 0.
type verdict struct {
	value       float64
	answer      string // "": the value that was judged
	explanation string // why it is not worth 1
	unscored    string // why it could not be judged; value, answer and explanation are then meaningless
	nothing     bool   // there was no answer to judge

	votes []record.Vote // of those that were asked
	usage record.Usage  // what asking took, as if nothing were cached
}

const noAnswer = "none"

// nothing is the verdict on no answer. An answer may be the word "none" itself.
var nothing = verdict{answer: noAnswer, nothing: true}

func unscored(format string, args ...any) verdict {
	return verdict{unscored: fmt.Sprintf(format, args...)}
}

func hit(yes bool, want, got string) verdict {
	if yes {
		return verdict{value: 1}
	}
	return verdict{explanation: differs(want, got)}
}

// holding is the verdict on what holds or does not, and why not.
func holding(yes bool, whyNot string) verdict {
	if yes {
		return verdict{value: 1}
	}
	return verdict{explanation: whyNot}
}

func differs(want, got string) string {
	return "want " + quoted(want) + ", got " + quoted(got)
}

// turned is the verdict under not. No answer stays worth nothing.
func (v verdict) turned() verdict {
	if v.unscored != "" || v.nothing {
		return v
	}
	v.value = 1 - v.value
	if v.votes != nil {
		return v // why it was judged so holds as well
	}
	v.explanation = ""
	if v.value == 0 {
		v.explanation = "it holds, and not is set"
	}
	return v
}

// write puts the verdict into a score. NaN, the infinities and what is not between 0 and 1 never get there.
func (v verdict) write(score *record.Score) {
	score.Votes, score.Usage = v.votes, v.usage
	switch {
	case v.unscored != "":
		score.Unscored = short(v.unscored, maxAnswer)
	case v.value >= 0 && v.value <= 1:
		score.Value, score.Answer, score.Explanation = v.value, v.answer, v.explanation
	default:
		score.Unscored = fmt.Sprintf("scorer %s gave %v, which is not between 0 and 1", score.Name, v.value)
	}
}

// scale is the one that the scorer's range declares: a number of Worst is worth 0, one of Best 1, and what lies
// between them in proportion. Without a range numbers from 0 to 1 are what they are worth.
func (c *compiler) scale() *judge.Scale {
	declared := c.spec.Range
	if declared == nil {
		return &judge.Scale{Worst: 0, Best: 1}
	}
	finite := func(number float64) bool { return !math.IsNaN(number) && !math.IsInf(number, 0) }
	if len(declared) != 2 || declared[0] == declared[1] || !finite(declared[0]) || !finite(declared[1]) || !finite(declared[1]-declared[0]) {
		c.fault("range", "want two different numbers: [what is worth 0, what is worth 1]")
		return &judge.Scale{Worst: 0, Best: 1}
	}
	return &judge.Scale{Worst: declared[0], Best: declared[1]}
}

// given is the verdict on a number or a boolean that was given for a score: what it is worth, with the number
// itself for an answer where those are not the same. It fails on any other value.
func (c *compiler) given() func(score any) (verdict, error) {
	scale, name, declared := c.scale(), c.spec.Name, c.spec.Range != nil
	return func(score any) (verdict, error) {
		number, ok := score.(float64)
		switch score := score.(type) {
		case bool:
			if score {
				return verdict{value: 1}, nil
			}
			return verdict{}, nil
		case int64:
			number, ok = float64(score), true
		}
		if !ok {
			return verdict{}, errors.New("neither a number nor true or false")
		}
		value, within := scale.Share(number)
		if !within {
			low, high := min(scale.Worst, scale.Best), max(scale.Worst, scale.Best)
			return unscored("scorer %s gave %s, which is not between %s and %s", name, judge.Decimal(number), judge.Decimal(low), judge.Decimal(high)), nil
		}
		v := verdict{value: value}
		if declared {
			v.answer = judge.Decimal(number)
		}
		return v, nil
	}
}
