package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec"
)

// Shared is what the configurations of a plan have in common at worst: the
// iterations of one task and trial whose calls differ from all others, where runs
// that begin alike share calls through the cache.
//
// Runs begin alike where the same stage sends the same after the same, as far as
// that is declared. Whatever the outcomes, there are no more different calls than
// where every stage continues to its limit: a stage that ends by itself lets more
// runs go on together. What cannot be told is not shared: answers of models that
// are not cached, of programs, and whatever reads parameters that only decide
// when to stop.
type Shared struct{ parts []sharedPart }

// sharedPart are so many iterations of a stage, those of one loop among equals,
// after iterations that were numbered before.
type sharedPart struct {
	loop       *spec.Loop
	stage      spec.Stage
	before     []stretch
	iterations int64
}

// stretch are so many iterations of a stage.
type stretch struct {
	stage spec.Stage
	n     int64
}

// SharedBy are the different iterations of configurations.
func SharedBy(configurations []spec.Resolved, models map[string]*spec.Model) *Shared {
	all := &Shared{}
	var paths []path
	for i := range configurations {
		paths = append(paths, pathOf(configurations[i].Loop, models))
	}
	for _, alike := range grouped(paths, func(p *path) string { return p.common }) {
		shared, apart := &Shared{}, &Shared{}
		shared.add(alike, 0)
		for i := range alike { // as WorstOfRun counts stages, sharing nothing
			p := &alike[i]
			left := int64(MaxIterations(p.loop))
			var before []stretch
			for k, stage := range p.stages {
				n := min(left, p.limit(k))
				left -= n
				apart.parts = append(apart.parts, sharedPart{p.loop, stage, before[:len(before):len(before)], n})
				before = append(before, stretch{stage, n})
			}
		}
		if shared.iterations() > apart.iterations() { // a limit of the run cuts stages short
			shared = apart
		}
		all.parts = append(all.parts, shared.parts...)
	}
	return all
}

func (s *Shared) iterations() (n int64) {
	for i := range s.parts {
		n = sum(n, s.parts[i].iterations)
	}
	return n
}

// WorstOfTask is the worst case of all configurations together on one trial of a
// task whose input has so many characters.
func (s *Shared) WorstOfTask(models map[string]*spec.Model, characters int) (total Worst) {
	for i := range s.parts {
		p := &s.parts[i]
		w := worst{loop: p.loop, models: models, characters: characters}
		carried := int64(0)
		for _, b := range p.before {
			carried = sum(carried, product(w.remembered(b.stage), b.n))
		}
		total = total.Plus(w.stage(p.stage, carried, p.iterations))
	}
	return total
}

// add counts the stages from one on of paths that are alike before it.
func (s *Shared) add(alike []path, stage int) {
	alike = slices.DeleteFunc(slices.Clone(alike), func(p path) bool { return stage >= len(p.stages) })
	for _, same := range grouped(alike, func(p *path) string { return p.sent[stage] }) {
		longest := int64(0)
		for i := range same {
			longest = max(longest, same[i].limit(stage))
		}
		s.parts = append(s.parts, sharedPart{loop: same[0].loop, stage: same[0].stages[stage], iterations: longest})
		for _, left := range grouped(same, func(p *path) string { return p.left[stage] }) {
			s.add(left, stage+1)
		}
	}
}

// grouped parts paths by a key, in the order in which the keys come.
func grouped(paths []path, key func(*path) string) (groups [][]path) {
	at := map[string]int{}
	for i := range paths {
		k := key(&paths[i])
		if _, known := at[k]; !known {
			at[k] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[k]] = append(groups[at[k]], paths[i])
	}
	return groups
}

// path is what of a loop decides what is sent, as texts that are equal only where
// it is.
type path struct {
	loop   *spec.Loop
	stages []spec.Stage
	common string   // for all stages
	sent   []string // in each stage
	left   []string // when each stage is left
}

// limit is the most iterations of a stage.
func (p *path) limit(stage int) int64 {
	most := MaxIterations(p.loop)
	if limit := p.stages[stage].Limit; limit > 0 && (most == 0 || limit < most) {
		most = limit
	}
	return int64(most)
}

func pathOf(l *spec.Loop, models map[string]*spec.Model) path {
	p := path{loop: l, stages: l.Stages()}
	own := ""
	if !shares(l, models) || readsLimits(l) {
		own = textOf(l.Values(), func(string) bool { return true })
	}
	p.common = own + textOf(l.Values(), inCommon)
	for i := range p.stages {
		stage := &p.stages[i]
		p.sent = append(p.sent, stage.Name+"\n"+textOf(l.Values(), func(path string) bool { return sentIn(path, stage.Name) }))
		p.left = append(p.left, leftAt(l, stage))
	}
	return p
}

// textOf is what the values are at the paths that count.
func textOf(values []spec.Value, counts func(path string) bool) string {
	var text strings.Builder
	for _, v := range values {
		if v.Value != nil && counts(v.Path) {
			fmt.Fprintf(&text, "%q=%T:%q\n", v.Path, v.Value, fmt.Sprint(v.Value))
		}
	}
	return text.String()
}

// inCommon reports whether a value matters to what all stages send. Conditions and
// guards only decide when a run stops.
func inCommon(path string) bool {
	section, _, _ := strings.Cut(path, ".")
	return !slices.Contains([]string{"loop", "terminate", "guards", "max_iterations", "phases", "strategies"}, section)
}

func sentIn(path, stage string) bool {
	for _, section := range []string{"phases.", "strategies."} {
		if key, ok := strings.CutPrefix(path, section+stage+"."); ok {
			return key != "max_iterations" && key != "until"
		}
	}
	return false
}

// leftAt says when a stage is left.
func leftAt(l *spec.Loop, s *spec.Stage) string {
	if s.Until == nil {
		return fmt.Sprint(s.Limit)
	}
	text := fmt.Sprintln(s.Limit, s.Until.Text)
	if s.Until.Program == nil || readsAny(s.Until.Reads(), limits...) {
		text += textOf(l.Values(), func(string) bool { return true })
	}
	return text
}

// shares reports whether runs of the loop can share calls: its models are cached,
// and nothing else has a part in what they are sent. Conversations are not shared:
// what tools give, and what a user says, may differ.
func shares(l *spec.Loop, models map[string]*spec.Model) bool {
	cached := func(name string) bool {
		m := models[name]
		return m != nil && m.Provider != "script" && m.Provider != "simulate"
	}
	for _, s := range l.Stages() {
		if !cached(s.Agent.Model) || l.Converses(s.Agent) {
			return false
		}
	}
	e := l.Evaluate
	return e == nil || e.Command == nil && e.Test == nil && (e.Judge == nil || cached(e.Judge.Model))
}

// readsLimits reports whether what decides when to stop may show in what is sent.
func readsLimits(l *spec.Loop) bool {
	var prompts []*spec.Prompt
	var expressions []*spec.Expr
	for _, s := range l.Stages() {
		if s.Agent.WarnRemaining > 0 || s.Agent.FinalResponse != nil && readsAny(s.Agent.FinalResponse.Reads(), limits...) {
			return true
		}
		prompts = append(prompts, s.Prompt, s.Agent.System)
	}
	if e := l.Evaluate; e != nil {
		expressions = append(expressions, e.Confidence, e.Passed, e.Feedback)
		for i := range e.Checks {
			expressions = append(expressions, e.Checks[i].Expr)
		}
		if e.Judge != nil {
			prompts = append(prompts, e.Judge.Rubric)
		}
	}
	return slices.ContainsFunc(prompts, func(p *spec.Prompt) bool { return p != nil && p.Template != nil && readsAny(p.Reads(), limits...) }) ||
		slices.ContainsFunc(expressions, func(x *spec.Expr) bool { return x != nil && x.Program != nil && readsAny(x.Reads(), limits...) })
}

// limits are the variables that are parameters, or count by one.
var limits = []string{"param", "since_improvement"}

// readsAny reports whether one of the paths is of one of the variables.
func readsAny(paths []string, variables ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		variable, _, _ := strings.Cut(path, ".")
		return slices.Contains(variables, variable)
	})
}
