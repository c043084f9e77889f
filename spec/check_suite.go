package spec

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// suite loads a suite: its configurations with their loops, then all that refers to them.
func (l *loader) suite(tree *source.Node) {
	s := &Suite{}
	before := l.errors
	l.add(source.Decode(tree, s)...)
	understood := l.errors == before && !l.broken[tree.File]
	s.applyDefaults()
	l.doc.Suite = s
	l.roots.declared = s.Roots
	l.checkRoots(s)
	l.priceModels(s)
	l.checkConfigurationNames(s)
	s.Resolved = joinEqual(l.resolveAll(s))
	l.checkModels(s)
	l.checkScorers(s)
	l.checkTasks(s)
	if understood {
		l.checkReferences(s)
		l.checkMetrics(s)
		l.checkMargins(s)
	}
	l.compileSuite(s)
}

func (s *Suite) applyDefaults() {
	coverage := 0.95
	s.Trials = cmp.Or(s.Trials, 1)
	s.Concurrency = cmp.Or(s.Concurrency, 8)
	s.MinCoverage = cmp.Or(s.MinCoverage, &coverage)
}

func (l *loader) checkRoots(s *Suite) {
	for _, root := range s.Roots {
		if root.Value.Env == "" && root.Value.Default == "" {
			l.fault(root.Node, "write {env: AGENTBENCH_DATA, default: ../data}", "a root needs env, default or both")
		}
	}
}

func (l *loader) checkConfigurationNames(s *Suite) {
	l.unique("configuration", len(s.Configurations), func(i int) (string, *source.Node) {
		return s.Configurations[i].Name, s.Configurations[i].Node
	})
}

// checkSet says whether a configuration can be resolved: it names a loop, and each parameter once.
func (l *loader) checkSet(c *Configuration) bool {
	if c.Node == nil || c.Loop == "" {
		return false
	}
	before := l.errors
	first := map[string]bool{}
	for _, key := range []string{"set", "sweep"} {
		n := c.Node.Get(key)
		if n == nil {
			continue
		}
		for _, entry := range n.Entries {
			if path := FullPath(entry.Key); first[path] {
				l.add(n.KeyFault(entry.Key, "keep one of them", "the parameter %q is set twice", path))
			} else {
				first[path] = true
			}
			if key == "sweep" && (entry.Value.Kind != source.List || len(entry.Value.Items) == 0) {
				l.fault(entry.Value, "write a list of values: [1, 2, 3]", "nothing to sweep")
			}
		}
	}
	return l.errors == before
}

// checkReferences finds names that mean nothing in this suite.
func (l *loader) checkReferences(s *Suite) {
	if s.Baseline != "" && len(s.Resolved) > 0 && s.Configuration(s.Baseline) == nil {
		l.fault(s.Tree.Get("baseline"), didYouMean(s.Baseline, s.names()), "there is no configuration %q", s.Baseline)
	}
	for i := range s.Resolved {
		l.checkLoopModels(s, s.Resolved[i].Loop, s.Budget.CostUSD > 0)
	}
	l.checkScorerReferences(s)
}

func (s *Suite) names() []string {
	var names []string
	for i := range s.Resolved {
		names = append(append(names, s.Resolved[i].Name), s.Resolved[i].Aliases...)
	}
	return names
}

// checkLoopModels finds the models of a loop, and their prices where it, the suite or a loop that delegates to it has a
// budget of money.
func (l *loader) checkLoopModels(s *Suite, loop *Loop, priced bool) {
	priced = priced || loop.Guards.Budget != nil && loop.Guards.Budget.CostUSD > 0
	for _, n := range loop.modelNodes() {
		l.checkModel(s, n, priced)
	}
	for _, agent := range loop.agents() {
		for i := range agent.Delegates {
			if d := agent.Delegates[i].Resolved; d != nil {
				l.checkLoopModels(s, d, priced)
			}
		}
	}
}

// modelNodes are where a loop names models.
func (l *Loop) modelNodes() []*source.Node {
	var nodes []*source.Node
	for _, agent := range l.agents() {
		nodes = append(nodes, agent.Node.Get("model"))
	}
	if l.Evaluate != nil && l.Evaluate.Judge != nil {
		nodes = append(nodes, l.Evaluate.Judge.Node.Get("model"))
	}
	if l.User != nil {
		nodes = append(nodes, l.User.Node.Get("model"))
	}
	return slices.DeleteFunc(nodes, func(n *source.Node) bool { return n == nil })
}

func (l *loader) checkModel(s *Suite, n *source.Node, priced bool) {
	model, ok := s.Models.Get(n.Text)
	switch {
	case !ok:
		hint := didYouMean(n.Text, s.Models.Keys())
		if len(s.Models) == 0 {
			hint = fmt.Sprintf("declare it in the suite: models: {%s: {provider: openai}}", n.Text)
		}
		l.fault(n, hint, "the suite has no model %q", n.Text)
	case priced && model.Price == nil:
		hint := "write price: {input: 0.15, output: 0.60} in USD per million tokens, or price: free"
		if s.Prices != "" {
			hint += fmt.Sprintf("; %s has none of %q", s.Prices, cmp.Or(model.Name, n.Text))
		}
		l.fault(n, hint, "the budget is in USD, but the model %q has no price", n.Text)
	}
}

// checkScorerCheck finds the check that a scorer names, in one loop at least.
func (l *loader) checkScorerCheck(s *Suite, scorer *Scorer) {
	if scorer.Type != "checks" || len(s.Resolved) == 0 {
		return
	}
	var names []string
	for i := range s.Resolved {
		if e := s.Resolved[i].Loop.Evaluate; e != nil {
			for j := range e.Checks {
				names = append(names, e.Checks[j].Name)
			}
		}
	}
	switch {
	case len(names) == 0:
		l.fault(scorer.Node, "", "the scorer %q wants checks, but no loop has any", scorer.Name)
	case scorer.Check != "" && !slices.Contains(names, scorer.Check):
		l.fault(scorer.Node.Get("check"), didYouMean(scorer.Check, names), "no loop has a check %q", scorer.Check)
	}
}

// compileSuite compiles the expressions of the suite itself.
func (l *loader) compileSuite(s *Suite) {
	thresholds := compiler{l, expr.Threshold(), nil}
	for i := range s.Thresholds {
		thresholds.expr(&s.Thresholds[i], expr.WantBool)
		l.checkThreshold(s, &s.Thresholds[i])
	}
	l.compileScorers(s)
	if l.errors == 0 {
		l.hashScorers(s)
	}
	l.compileModels(s)
	l.compileTasks(&s.Tasks)
	compiler{l, expr.Fold(), nil}.expr(s.Cluster, expr.WantAny)
	compiler{l, expr.Fold(), nil}.expr(s.GroupBy, expr.WantAny)
	if s.Tune != nil {
		l.checkTune(s, s.Tune)
	}
}
