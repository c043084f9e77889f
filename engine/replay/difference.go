package replay

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// difference is in what a configuration differs from the loop that was recorded,
// beyond what package stop decides.
type difference struct {
	values     map[string]bool // paths of values that differ
	stages     []stage         // of the configuration
	evaluation evaluation
}

// stage is a stage of the configuration beside all those of the recorded loop.
type stage struct {
	model   bool            // or a remote agent: its calls are reserved in budgets
	within  stop.CallLimits // of an iteration of a program
	refuses bool            // calls of a program beyond its limits, so that it continues
	with    map[string]pair // by phase or strategy of the recorded loop
}

// pair is a stage of the configuration and one of the recorded loop.
type pair struct {
	converses                bool   // both agents do
	tools                    others // that differ in what no hash of a request shows
	user, player             bool   // the users differ; only one of them is a model
	hidden                   string // why they differ in what no hash of a request shows
	shown                    string // why they differ in what is sent
	toldOfJudging            bool   // what is sent depends on evaluations
	timeout, recordedTimeout time.Duration
	within, recordedWithin   stop.CallLimits // of an iteration of a program
}

// evaluation is how the configuration evaluates, compared with the recorded loop.
type evaluation struct {
	why          string // it differs
	readsJudging bool   // it depends on earlier evaluations
	readsStage   bool   // it depends on phases or strategies
}

// comparison is a difference in the making.
type comparison struct {
	recorded, target *spec.Loop
	minDelta         bool   // since_improvement counts otherwise
	path             string // why the loops take another path beside what their stages do
}

func differenceOf(recorded, target *spec.Loop, minDelta bool) difference {
	c := &comparison{recorded: recorded, target: target, minDelta: minDelta}
	for _, d := range spec.Differences(target, recorded) {
		section, _, _ := strings.Cut(d.Path, ".")
		if d.Class == spec.ChangesPath && !slices.Contains([]string{"agent", "phases", "strategies"}, section) { // those are compared by stages
			c.path = cmp.Or(c.path, d.Path+" differs")
		}
	}
	d := difference{values: c.values(), evaluation: c.evaluation()}
	for _, t := range target.Stages() {
		s := stage{model: t.Agent.Model != "" || t.Agent.A2A != "", within: stop.IterationLimits(t.Agent), refuses: t.Agent.OnLimit == "refuse", with: map[string]pair{}}
		for _, r := range recorded.Stages() {
			s.with[r.Name] = c.pair(&t, &r)
		}
		d.stages = append(d.stages, s)
	}
	return d
}

// pair finds a stage of the configuration beside the one of a recorded iteration.
func (d *difference) pair(index int, it *record.Iteration) (*pair, bool) {
	p, ok := d.stages[index].with[it.Phase+it.Strategy]
	return &p, ok
}

// announced is the first of the paths at or below which a value differs.
func (d *difference) announced(paths []string) string {
	for _, path := range paths {
		for differs := range d.values {
			if differs == path || strings.HasPrefix(differs, path+".") {
				return path
			}
		}
	}
	return ""
}

// values are the paths of values that differ. What is off is the same as absent.
func (c *comparison) values() map[string]bool {
	before, after := valuesOf(c.recorded), valuesOf(c.target)
	differ := map[string]bool{}
	for path := range before {
		differ[path] = !slices.Equal(before[path], after[path])
	}
	for path := range after {
		differ[path] = !slices.Equal(before[path], after[path])
	}
	maps.DeleteFunc(differ, func(_ string, differs bool) bool { return !differs })
	return differ
}

// valuesOf are the values at each path: a condition is its kind and its value.
func valuesOf(l *spec.Loop) map[string][]any {
	values := map[string][]any{}
	for _, v := range l.Values() {
		if v.Value != nil {
			values[v.Path] = append(values[v.Path], v.Value)
		}
	}
	return values
}

func (c *comparison) pair(t, r *spec.Stage) pair {
	p := pair{
		timeout: t.Agent.Timeout, recordedTimeout: r.Agent.Timeout,
		within: stop.IterationLimits(t.Agent), recordedWithin: stop.IterationLimits(r.Agent),
		hidden: c.path,
	}
	p.converses = c.target.Converses(t.Agent)
	for _, d := range spec.Differences(t.Agent, r.Agent) {
		section, _, _ := strings.Cut(d.Path, ".")
		differs, used := fmt.Sprintf("agent.%s differs", d.Path), false
		if section == "tools" || section == "delegates" {
			differs, used = fmt.Sprintf("agent.%s differs", section), p.converses // they are compared where they were used
		}
		switch {
		case d.Class == spec.ChangesPath && !used:
			p.hidden = cmp.Or(p.hidden, differs)
		case d.Class == spec.ChangesPath, d.Class == spec.ChangesRequests:
			p.shown = cmp.Or(p.shown, differs)
		case p.converses && d.Path == "max_steps" && t.Agent.WarnRemaining > 0:
			p.shown = "agent.max_steps differs, and warn_remaining tells the agent how many steps remain"
		case p.converses && d.Path == "max_steps":
			p.shown = cmp.Or(p.shown, differs) // in how many requests it makes
		}
	}
	if textOf(t.Prompt) != textOf(r.Prompt) {
		p.shown = "the prompt differs"
	}
	if p.converses {
		c.conversation(&p, t.Agent, r.Agent)
	}
	if p.converses != c.recorded.Converses(r.Agent) {
		p.hidden = cmp.Or(p.shown, "the agent converses in one of the loops only: it has tools, memory or a user, or knows what remains")
	}
	if c.target.RepliesText() != c.recorded.RepliesText() {
		p.hidden = "outputs are texts in one of the loops only"
	}
	final := readsOf(t.Agent.FinalResponse)
	if path := c.readsOther(final); path != "" {
		p.hidden = fmt.Sprintf("final_response reads %s", path)
	}
	if toldIterations(c.target, t.Agent) && !stop.SameRemaining(stop.Compile(c.target), stop.Compile(c.recorded)) {
		p.shown = toldRemaining
	}
	reads := sentReads(t)
	if c.target.User != nil {
		reads = append(reads, userReads(c.target.User)...)
	}
	if path := c.readsOther(reads); path != "" && p.shown == "" {
		p.shown = fmt.Sprintf("the prompt reads %s", path)
	}
	p.toldOfJudging = readsAny(reads, ofJudging) || readsAny(final, ofJudging)
	return p
}

const toldRemaining = "warn_remaining tells the agent how many steps remain, and each iteration is one"

// toldIterations reports whether an agent is told how many iterations remain: it makes
// one step in each.
func toldIterations(l *spec.Loop, a *spec.Agent) bool {
	return a.WarnRemaining > 0 && a.StepsOnce(l.User != nil)
}

// programReads are what a program is given besides its prompts.
var programReads = []string{"phase", "strategy", "feedback", "improvements", "previous", "best"}

// sentReads are the variables that show in what a stage sends.
func sentReads(s *spec.Stage) []string {
	var reads []string
	for _, p := range []*spec.Prompt{s.Agent.System, s.Prompt} {
		if p != nil && p.Template != nil {
			reads = append(reads, p.Reads()...)
		}
	}
	for _, argument := range s.Agent.Arguments {
		if argument != nil && argument.Template != nil {
			reads = append(reads, argument.Reads()...)
		}
	}
	if s.Agent.Model == "" && s.Agent.Arguments == nil {
		reads = append(reads, programReads...)
	}
	return reads
}

// evaluation compares how iterations are judged. From which phase on is seen at
// each iteration.
func (c *comparison) evaluation() evaluation {
	e, before := c.target.Evaluate, c.recorded.Evaluate
	if e == nil {
		return evaluation{}
	}
	if before == nil {
		return evaluation{why: "the recorded loop evaluates nothing"}
	}
	reads := evaluationReads(e)
	v := evaluation{readsJudging: readsAny(reads, ofJudging), readsStage: readsAny(reads, ofStages)}
	for _, d := range spec.Differences(e, before) {
		if d.Path != "from_phase" {
			v.why = cmp.Or(v.why, fmt.Sprintf("evaluate.%s differs", d.Path))
		}
	}
	if passes(c.target) != passes(c.recorded) {
		v.why = "the pattern decides otherwise on what passed"
	}
	if c.target.RepliesText() != c.recorded.RepliesText() {
		v.why = "outputs are texts in one of the loops only"
	}
	if path := c.readsOther(reads); path != "" {
		v.why = fmt.Sprintf("the evaluation reads %s", path)
	}
	return v
}

// passes is what a pattern takes as passed where nothing is declared.
func passes(l *spec.Loop) spec.Pattern {
	if l.Pattern == spec.PatternChecklist || l.Pattern == spec.PatternMultiStrategy {
		return l.Pattern
	}
	return spec.PatternNone
}

// readsOf is what an expression reads, nothing where there is none.
func readsOf(e *spec.Expr) []string {
	if e == nil || e.Program == nil {
		return nil
	}
	return e.Reads()
}

// EvaluatesByState reports whether all that a loop's evaluation reads of an iteration is the same where it left the same workspace.
func EvaluatesByState(l *spec.Loop) bool {
	if l.Evaluate == nil {
		return true
	}
	for _, path := range evaluationReads(l.Evaluate) {
		variable, _, _ := strings.Cut(path, ".")
		if !slices.Contains([]string{"task", "output", "workspace", "command", "test", "checks", "failing", "improvements", "confidence", "passed", "iteration", "phase", "strategy", "param", "trial"}, variable) {
			return false
		}
	}
	return true
}

func evaluationReads(e *spec.Evaluate) []string {
	var reads []string
	expressions := []*spec.Expr{e.Confidence, e.Passed, e.Feedback}
	for i := range e.Checks {
		expressions = append(expressions, e.Checks[i].Expr)
	}
	for _, x := range expressions {
		reads = append(reads, readsOf(x)...)
	}
	if e.Judge != nil && e.Judge.Rubric != nil && e.Judge.Rubric.Template != nil {
		reads = append(reads, e.Judge.Rubric.Reads()...)
	}
	return reads
}

// ofJudging are the variables that depend on evaluations, ofStages those that
// depend on phases and strategies.
var (
	ofJudging = []string{"confidence", "passed", "feedback", "improvements", "checks", "failing", "error", "best", "since_improvement", "previous", "history"}
	ofStages  = []string{"phase", "strategy", "outputs", "best", "since_improvement", "previous", "history"}
)

// readsAny reports whether one of the paths begins with one of the variables.
func readsAny(paths, variables []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		variable, _, _ := strings.Cut(path, ".")
		return slices.Contains(variables, variable)
	})
}

// readsOther is the first path that has another value only because the loops
// differ, "" without one.
func (c *comparison) readsOther(paths []string) string {
	for _, path := range paths {
		variable, rest, _ := strings.Cut(path, ".")
		var other bool
		switch variable {
		case "param":
			other = !reflect.DeepEqual(paramAt(c.target, rest), paramAt(c.recorded, rest))
		case "since_improvement":
			other = c.minDelta
		case "best":
			other = (c.target.Pattern == spec.PatternChecklist) != (c.recorded.Pattern == spec.PatternChecklist) || c.fixesOther(rest)
		case "failing":
			other = c.fixesOther(variable)
		case "previous":
			other = c.fixesOther(rest)
		case "history":
			other = c.fixesOther("")
		}
		if other {
			return path
		}
	}
	return ""
}

// fixesOther reports whether a field of an iteration, "" for all, lists other checks
// to fix only because evaluate.fix differs.
func (c *comparison) fixesOther(field string) bool {
	one := func(l *spec.Loop) bool { return l.Evaluate != nil && l.Evaluate.Fix == "one" }
	return one(c.target) != one(c.recorded) && (field == "" || field == "failing")
}

// paramAt is a parameter as expressions see it; all of them where the path leads
// to no single one.
func paramAt(l *spec.Loop, path string) any {
	if value, ok := l.Param.Get(path); ok {
		return plain(value)
	}
	at := l.Param
	for segment := range strings.SplitSeq(path, ".") {
		value, _ := at.Get(segment)
		below, ok := value.(*expr.Object)
		if !ok {
			if value != nil {
				return value
			}
			return plain(l.Param)
		}
		at = below
	}
	return plain(at)
}

// plain makes parameters comparable.
func plain(value any) any {
	o, ok := value.(*expr.Object)
	if !ok {
		return value
	}
	m := map[string]any{}
	for _, key := range o.Keys() {
		inner, _ := o.Get(key)
		m[key] = plain(inner)
	}
	return m
}

func textOf(p *spec.Prompt) string {
	if p == nil {
		return ""
	}
	return p.Text
}

// Apart is the reason why two loops do not take the same path: what differs beyond
// when they stop. "" where they differ in nothing else. It goes by what is
// declared, and may be more cautious than a replay.
func Apart(recorded, target *spec.Loop) string {
	r := New(recorded, target, Options{})
	if r.differ.evaluation.why != "" {
		return r.differ.evaluation.why
	}
	before, after := recorded.Stages(), target.Stages()
	if len(before) != len(after) || len(recorded.Phases) != len(target.Phases) {
		return "the stages differ"
	}
	if why := evaluateApart(recorded.Evaluate, target.Evaluate); why != "" {
		return why
	}
	for i := range after {
		if why := r.differ.stages[i].apart(&before[i], &after[i], i < len(after)-1); why != "" {
			return why
		}
	}
	return ""
}

func evaluateApart(before, after *spec.Evaluate) string {
	switch {
	case before != nil && after == nil:
		return "nothing is evaluated"
	case before != nil && before.FromPhase != after.FromPhase:
		return "evaluate.from_phase differs"
	}
	return ""
}

// apart compares a stage with the one in its place. Followed means that another
// comes after it, so that its limits are part of the path.
func (s *stage) apart(before, after *spec.Stage, followed bool) string {
	p, ok := s.with[after.Name]
	switch {
	case !ok || before.Name != after.Name:
		return fmt.Sprintf("stage %q is where %q was", after.Name, before.Name)
	case p.hidden != "":
		return p.hidden
	case p.shown != "":
		return p.shown
	case len(p.tools.tools)+len(p.tools.timeouts) > 0 || p.tools.servers != "":
		return "agent.tools differs"
	case p.timeout != p.recordedTimeout:
		return "agent.timeout differs"
	case p.within != p.recordedWithin:
		return "agent.max_steps differs"
	case followed && before.Limit != after.Limit:
		return fmt.Sprintf("max_iterations of %q differs", after.Name)
	case followed && !sameExpr(before.Until, after.Until):
		return fmt.Sprintf("until of %q differs", after.Name)
	}
	return ""
}

func sameExpr(a, b *spec.Expr) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Text == b.Text)
}
