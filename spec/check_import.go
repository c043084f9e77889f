package spec

import (
	"path"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// importing loads a mapping.
func (l *loader) importing(tree *source.Node) {
	m := &Import{}
	before := l.errors
	l.add(source.Decode(tree, m)...)
	understood := l.errors == before && !l.broken[tree.File]
	m.Tree = tree
	l.doc.Import = m
	l.compileImport(m)
	l.checkImport(m)
	if understood {
		l.checkImportedMetrics(m)
		l.checkRecordedUnder(m)
	}
}

func (l *loader) compileImport(m *Import) {
	run, iteration := compiler{l, expr.Mapping(), nil}, compiler{l, expr.MappingIteration(), nil}
	run.expr(m.Each, expr.WantList)
	for _, e := range []*Expr{m.Configuration, m.Task, m.Trial, m.Cluster, m.Group, m.Input, m.Target, m.Success, m.Ended, m.GaveUp, m.Stop, m.Fault, m.CostUSD} {
		run.expr(e, expr.WantAny)
	}
	run.named(m.Vars)
	run.named(m.Metadata)
	run.scores(m.Scores)
	run.usage(m.Usage)
	if m.RecordedUnder != nil {
		run.expr(m.RecordedUnder.Each, expr.WantAny)
	}
	its := &m.Iterations
	run.expr(its.Of, expr.WantList)
	for _, e := range []*Expr{its.Begin, its.Output, its.Confidence, its.Passed, its.Feedback, its.ToolCalls, its.Observations, its.Error,
		its.CostUSD, its.Duration, its.Elapsed} {
		iteration.expr(e, expr.WantAny)
	}
	iteration.scores(its.Scores)
	iteration.usage(its.Usage)
}

func (c compiler) named(named source.Named[Expr]) {
	for i := range named {
		c.expr(&named[i].Value, expr.WantAny)
	}
}

func (c compiler) scores(s *ImportedScores) {
	if s != nil {
		c.named(s.Named)
		c.expr(s.Object, expr.WantAny)
	}
}

func (c compiler) usage(u *ImportedUsage) {
	if u == nil {
		return
	}
	for _, e := range []*Expr{u.InputTokens, u.OutputTokens, u.CachedTokens, u.ReasoningTokens, u.Calls} {
		c.expr(e, expr.WantAny)
	}
}

// checkImport finds what does not go together.
func (l *loader) checkImport(m *Import) {
	its := &m.Iterations
	if its.Duration != nil && its.Elapsed != nil {
		l.fault(its.Elapsed.Node, "keep the one that the log tells", "an iteration has duration or elapsed, not both")
	}
	if its.Observations != nil && its.ToolCalls == nil {
		l.fault(its.Observations.Node, "declare tool_calls", "observations are the results of tool calls, and there are none")
	}
	if its.Of != nil && its.Begin == nil && its.readsAfter() {
		l.fault(its.Of.Node, "say with begin which entries begin an iteration", "this reads after, but every entry is an iteration")
	}
	if w := m.WhenCut; w != nil && w.Node.Text == "score" && its.Scores == nil && its.Node != nil {
		l.fault(w.Node, "declare iterations.scores, or write when_cut: 0", "a cut run is to be worth the score of an iteration, but iterations have none")
	}
	for _, counter := range m.Cumulative {
		if !slices.Contains(Counters, counter.Key) {
			l.add(m.Tree.Get("cumulative").KeyFault(counter.Key, didYouMean(counter.Key, Counters), "there is no counter %q", counter.Key))
		}
	}
	if m.Zip != nil {
		if _, err := path.Match(m.Zip.Rows, ""); err != nil {
			l.fault(m.Zip.Node.Get("rows"), "", "%q is no pattern of file names", m.Zip.Rows)
		}
	}
}

func (its *ImportedIterations) readsAfter() bool {
	all := []*Expr{its.Output, its.Confidence, its.Passed, its.Feedback, its.ToolCalls, its.Observations, its.Error, its.CostUSD, its.Duration, its.Elapsed}
	if its.Scores != nil {
		all = append(all, its.Scores.Object)
		for i := range its.Scores.Named {
			all = append(all, &its.Scores.Named[i].Value)
		}
	}
	return slices.ContainsFunc(all, func(e *Expr) bool { return e.reads("after") })
}

// checkRecordedUnder makes the loop that the limits belong to, which finds what is wrong with them.
func (l *loader) checkRecordedUnder(m *Import) {
	limits := &Limits{}
	if m.RecordedUnder != nil {
		limits = &m.RecordedUnder.Limits
	}
	loop := m.loop(l, m.Name, limits)
	made := func(f source.Fault) bool { return f.Warning && f.Pos == m.Tree.Pos } // of what nobody wrote
	l.faults = slices.DeleteFunc(l.faults, made)
	for i, told := range m.Announced {
		if hint, ok := isLimit(loop, told); !ok {
			l.fault(m.Tree.Get("announced").Items[i], hint, "%q is no limit of a loop", told)
		}
	}
}

// isLimit says whether a loop could have a limit of that path: one that none has would never be found to differ, and
// what was announced would be taken for what was not.
func isLimit(loop *Loop, path string) (hint string, ok bool) {
	section, _, below := strings.Cut(path, ".")
	if !slices.Contains([]string{"terminate", "guards", "max_iterations"}, section) {
		return "for instance terminate.max_iterations", false
	}
	if loop == nil || !below {
		return "", true
	}
	faults := tryOn(loop.Tree, setting{path: path, at: loop.Tree.Pos, value: source.New(loop.Tree, "off")})
	for _, f := range faults {
		if strings.HasPrefix(f.What, "unknown key") || strings.HasPrefix(f.What, "no condition is named") {
			return f.Hint, false
		}
	}
	return "", true
}
