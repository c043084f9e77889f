package spec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// suite loads a suite: its configurations with their loops, then all that refers to them.
func (l *loader) suite(tree *source.Node) {
	s := &Suite{}
	before := l.unread
	l.add(l.decoder.Whole(tree, s)...)
	understood := l.unread == before && !l.broken[tree.File]
	s.Trials, s.Concurrency, s.MinCoverage = cmp.Or(s.Trials, 1), cmp.Or(s.Concurrency, 8), cmp.Or(s.MinCoverage, new(0.95))
	l.doc.Suite = s
	l.roots.declared = s.Roots
	l.priceModels(s)
	l.unique("configuration", len(s.Configurations), func(i int) (string, *source.Node) {
		return s.Configurations[i].Name, s.Configurations[i].Node
	})
	s.Resolved = joinEqual(l.resolveAll(s))
	l.tellEqual(s)
	l.checkModels(s)
	l.checkArguments(s.commandNodes())
	l.checkScorers(s)
	l.checkTasks(s)
	if understood {
		l.checkReferences(s)
		l.checkMetrics(s)
		l.checkMargins(s)
	}
	l.compileSuite(s)
}

// tellEqual warns of configurations that run once, because they are equal.
func (l *loader) tellEqual(s *Suite) {
	for i := range s.Configurations {
		c := &s.Configurations[i]
		if r := s.resolved(c.Name); r != nil && r.Name != c.Name && len(l.flags) == 0 { // else a flag makes them equal
			l.warn(c.Node, "set a parameter to another value, or delete it", "the configuration %q is equal to %q: they run once, as %q", shorten(c.Name), shorten(r.Name), shorten(r.Name))
		}
	}
}

// checkSet reports whether a configuration can be resolved: it names a loop, and each parameter once.
func (l *loader) checkSet(c *Configuration) bool {
	if c.Node == nil || c.Loop == "" {
		return false
	}
	before, lists := l.errors, true
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
			if key == "sweep" && entry.Value.Kind != source.List {
				lists = false // refused already
			} else if key == "sweep" && len(entry.Value.Items) == 0 {
				l.fault(entry.Value, "write a list of values: [1, 2, 3]", "nothing to sweep")
			}
		}
	}
	return lists && l.errors == before
}

// checkReferences finds names that mean nothing in this suite.
func (l *loader) checkReferences(s *Suite) {
	if s.Baseline != "" && len(s.Resolved) > 0 && s.Configuration(s.Baseline) == nil && !s.isRefused(s.Baseline) && l.complete(s.names()) {
		l.fault(s.Tree.Get("baseline"), didYouMean(s.Baseline, s.names()), "unknown configuration %q", s.Baseline)
	}
	for i := range s.Resolved {
		l.checkLoopModels(s, s.Resolved[i].Loop, s.Budget.CostUSD > 0)
	}
	l.checkScorerReferences(s)
}

// isRefused reports whether a name is that of a configuration with faults, or of one of its sweep: that it is not
// there is no second mistake.
func (s *Suite) isRefused(name string) bool {
	return slices.ContainsFunc(s.refused, func(refused string) bool {
		rest, ok := strings.CutPrefix(name, refused)
		return ok && (rest == "" || rest[0] == '@' || rest[0] == '.')
	})
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
		l.checkProtocol(s, agent)
	}
	for _, d := range loop.delegates() {
		if d.Resolved != nil {
			l.checkLoopModels(s, d.Resolved, priced)
		}
	}
}

// checkProtocol finds models whose servers speak another protocol than the program that calls them. Models without a
// server answer in any.
func (l *loader) checkProtocol(s *Suite, agent *Agent) {
	recipe := RecipeOf(agent.Recipe)
	if recipe == nil {
		return
	}
	for _, served := range agent.Models {
		model, _ := s.Models.Get(served.Value)
		if server, calls := model.Server(); calls && server.Protocol != recipe.Speaks {
			at := slices.IndexFunc(servers, func(s Server) bool { return cmp.Or(s.Protocol, ChatProtocol) == recipe.Speaks })
			l.fault(served.Node, fmt.Sprintf("name a model with provider: %s", servers[at].Provider),
				"%s calls models in the protocol %q, the provider %s of the model %q has %q", recipe.Program, recipe.Speaks, server.Provider, served.Value, server.Protocol)
		}
	}
}

// Models are the models that the loop names, and those to which it hands tasks.
func (l *Loop) Models() (names []string) {
	for _, n := range l.modelNodes() {
		names = append(names, n.Text)
	}
	for _, d := range l.delegates() {
		if d.Resolved != nil {
			names = append(names, d.Resolved.Models()...)
		}
	}
	return names
}

// modelNodes are where a loop names models.
func (l *Loop) modelNodes() []*source.Node {
	var nodes []*source.Node
	for _, agent := range l.agents() {
		nodes = append(nodes, agent.Node.Get("model"))
		for _, served := range agent.Models {
			nodes = append(nodes, served.Node)
		}
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
		if !l.complete(s.Models.Keys()) {
			return
		}
		hint := didYouMean(n.Text, s.Models.Keys())
		if source.Closest(n.Text, s.Models.Keys()) == "" {
			hint = fmt.Sprintf("declare it in the suite: models: {%s: {provider: openai}}", n.Text)
			if known := knownNames(s.Models.Keys()); known != "" {
				hint += "; " + known
			}
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

// checkTasks looks for the files of the tasks and for ids that stand twice in the suite itself.
func (l *loader) checkTasks(s *Suite) {
	t := &s.Tasks
	if t.Node == nil {
		return
	}
	l.checkInline(t.Inline)
	switch t.Node.Kind {
	case source.List:
	case source.Map:
		l.checkMapping(t)
	case source.String:
		l.checkGlob(t.Node, true)
	}
}

// mappingKeys mean something only where rows become tasks.
var mappingKeys = []string{"each", "id", "input", "target", "vars", "metadata", "images"}

func (l *loader) checkMapping(t *Tasks) {
	for _, n := range fileNodes(t.Node.Get("files")) {
		l.checkGlob(n, true)
	}
	l.checkFolders(t)
}

// checkGlob wants files of a known format behind a path. Text is one, too, where each file may be a row: in a folder
// whatever is not rows, elsewhere what is named as text.
func (l *loader) checkGlob(n *source.Node, text bool) {
	if l.opt.Recorded != nil {
		return // large ones are not in a copy
	}
	at, files, err := l.roots.files(l.doc.folder, n.Text)
	for i := 0; i < len(files) && err == nil; i++ {
		err = readable(at.folder, files[i], text, strings.HasSuffix(at.path, "/"))
	}
	if err != nil {
		l.fileFault(n, err)
	}
}

func readable(f folder, file string, text, any bool) error {
	opened, err := f.open(file, 0)
	if err != nil {
		return err
	}
	formats := taskFormats
	if text {
		formats = slices.Concat(taskFormats, textFormats)
	}
	if !(text && any) && !slices.Contains(formats, newDataFile(f, file).ext) {
		err = &fileError{f.name(file) + " has an unknown format", "data files end in " + strings.Join(formats, ", ") + ", or in .gz behind one of these; save a table as .csv with commas"}
	}
	return errors.Join(err, opened.Close())
}

// checkInline refuses ids that stand twice, and tasks that say nothing.
func (l *loader) checkInline(tasks []InlineTask) {
	first := make(map[string]*source.Node, len(tasks))
	for i := range tasks {
		t := &tasks[i]
		if t.Node == nil {
			continue
		}
		id, at := t.id(i), cmp.Or(t.Node.Get("id"), t.Node)
		if other, taken := first[id]; taken {
			l.fault(at, "give one of them another id", "duplicate task %q; first at line %d", shorten(id), other.Pos.Line)
		} else {
			first[id] = at
		}
		unknown := slices.ContainsFunc(t.Node.Entries, func(e source.Entry) bool { return !slices.Contains(mappingKeys, e.Key) })
		if t.Input == nil && t.Vars == nil && !unknown { // else it may be there under another name
			l.fault(t.Node, "write input: or vars:", "this task has no input")
		}
	}
}

// compileTasks compiles the mapping.
func (l *loader) compileTasks(t *Tasks) {
	compiler{l, expr.Mapping(), nil}.all(t)
	selection := compiler{l, expr.Selection(), nil}
	selection.expr(t.Where, expr.WantBool)
	if t.Sample != nil {
		selection.expr(t.Sample.By, expr.WantAny)
	}
}

// checkMetrics finds metrics of scores that there are not, and those that can never be known.
func (l *loader) checkMetrics(s *Suite) {
	scorers := s.scoreNames()
	for i := range s.Metrics {
		m := &s.Metrics[i]
		if m.Node == nil {
			continue
		}
		l.checkMetric(m)
		l.checkMetricScorers(m, scorers)
		for k, n := range m.kNodes() {
			if k < len(m.K) && m.K[k] > s.Trials {
				l.fault(n, "raise trials, or ask for fewer", "k %d is above trials %d: it can never be known", m.K[k], s.Trials)
			}
		}
		if m.Threshold != nil && (*m.Threshold <= 0 || *m.Threshold > 1) {
			l.fault(m.Node.Get("threshold"), "scores are from 0 to 1", "want a threshold above 0 and at most 1, got %v", *m.Threshold)
		}
	}
	l.uniqueMetrics(s.Metrics, scorers)
}

// checkImportedMetrics are those of a mapping, whose scores a log may name.
func (l *loader) checkImportedMetrics(m *Import) {
	var scorers []string
	if m.Scores != nil {
		scorers = m.Scores.Named.Keys()
	}
	for i := range m.Metrics {
		metric := &m.Metrics[i]
		if metric.Node == nil {
			continue
		}
		l.checkMetric(metric)
		if m.Scores == nil || m.Scores.Object == nil {
			l.checkMetricScorers(metric, scorers)
		}
	}
	l.uniqueMetrics(m.Metrics, scorers)
}

// checkMetric finds keys that do not go together.
func (l *loader) checkMetric(m *Metric) {
	asks := func(reducers []string) (first int) { // -1: for none of them
		return slices.IndexFunc(m.Reduce, func(r string) bool { return slices.Contains(reducers, r) })
	}
	if len(m.Reduce) == 0 {
		return
	}
	for _, part := range []struct {
		key    string
		of     []string
		needed bool
	}{{"k", takesK, true}, {"threshold", takesThreshold, false}, {"by", []string{ReduceBestOfK}, true}} {
		n, first := m.Node.Get(part.key), asks(part.of)
		switch {
		case n == nil && part.needed && first >= 0:
			l.fault(m.Node, "", "reduce: %s needs %s", m.Reduce[first], part.key)
		case n != nil && first < 0:
			l.add(m.Node.KeyFault(part.key, "it belongs to reduce: "+strings.Join(part.of, ", "), "%q means nothing for reduce: %s", part.key, strings.Join(m.Reduce, ", ")))
		}
	}
	if m.Name != "" && len(SingleMetrics([]Metric{*m}, nil)) > 1 {
		l.fault(m.Node.Get("name"), "without name each gets one of its own", "a name is of one metric, and these are several")
	}
}

// kNodes are where the numbers k stand.
func (m *Metric) kNodes() []*source.Node {
	n := m.Node.Get("k")
	switch {
	case n == nil:
		return nil
	case n.Kind == source.List:
		return n.Items
	}
	return []*source.Node{n}
}

func (l *loader) checkMetricScorers(m *Metric, scorers []string) {
	if len(scorers) == 0 && l.errors > 0 {
		return // they may be there under a misspelt key
	}
	if len(scorers) == 0 {
		l.fault(m.Node, "declare scorers", "a metric is made of a score, and nothing is scored")
		return
	}
	for _, named := range []struct{ key, name string }{{"score", m.Score}, {"by", m.By}} {
		if named.name != "" && !slices.Contains(scorers, named.name) && l.complete(scorers) {
			l.fault(m.Node.Get(named.key), didYouMean(named.name, scorers), "unknown scorer %q", named.name)
		}
	}
}

// uniqueMetrics wants names by which each metric can be read, also those that are made.
func (l *loader) uniqueMetrics(declared []Metric, scorers []string) {
	first := map[string]*source.Node{}
	for i := range declared {
		m := &declared[i]
		if m.Node == nil {
			continue
		}
		all := SingleMetrics([]Metric{*m}, scorers)
		if m.Name != "" {
			all = all[:min(1, len(all))] // that it stands for several is told already
		}
		for _, one := range all {
			if other, taken := first[one.Name]; taken {
				l.fault(m.Node, "give one of them another name", "duplicate metric %q; first at line %d", one.Name, other.Pos.Line)
				break
			}
			first[one.Name] = m.Node
		}
	}
}

// checkThreshold finds the configurations and scores that a threshold names.
func (l *loader) checkThreshold(s *Suite, e *Expr) {
	if e.Program == nil || len(s.Resolved) == 0 {
		return
	}
	if e.reads("diff") && s.Baseline == "" {
		l.warn(e.Node, "declare baseline: in the suite, or give run --baseline NAME", "the threshold reads diff, and the suite has no baseline")
	}
	for _, m := range s.Misreads(e.Program.Reads()) {
		if (m.What != "metric" || s.namesMetrics()) && !(m.What == "configuration" && s.isRefused(m.Name)) {
			l.unknownIn(e, m.Name, m.Known, m.What)
		}
	}
}

// Misreads finds what a threshold reads and the suite does not have.
func (s *Suite) Misreads(reads []string) []Misread {
	known := Readable{Configurations: s.names(), Scorers: s.scoreNames()}
	for _, m := range s.SingleMetrics() {
		known.Metrics = append(known.Metrics, m.Name)
	}
	return Misreads(reads, known)
}

// namesMetrics reports whether all metrics have what their names are made of. Where one has not, nobody knows which are missing.
func (s *Suite) namesMetrics() bool {
	return !slices.ContainsFunc(s.Metrics, func(m Metric) bool {
		counts := slices.ContainsFunc(m.Reduce, func(reduce string) bool { return slices.Contains(takesK, reduce) })
		return m.Name == "" && (len(m.Reduce) == 0 || slices.Contains(m.Reduce, "") || counts && (len(m.K) == 0 || slices.Contains(m.K, 0)))
	})
}

// Readable are the names by which thresholds read numbers.
type Readable struct{ Configurations, Scorers, Metrics []string }

// Misread is a name that a threshold reads and that the suite does not have.
type Misread struct {
	What  string // configuration, scorer or metric
	Name  string
	Known []string
}

// Misreads finds what a threshold reads of names that are not there.
func Misreads(reads []string, of Readable) []Misread {
	var found []Misread
	find := func(what, path string, known []string) {
		if !has(known, path) {
			found = append(found, Misread{what, firstOf(path), known})
		}
	}
	for _, read := range reads {
		if score, ok := strings.CutPrefix(read, "diff.scores."); ok {
			find("scorer", score, of.Scorers)
		}
		rest, ok := strings.CutPrefix(read, "configurations.")
		if !ok {
			continue
		}
		find("configuration", rest, of.Configurations)
		if _, score, ok := strings.Cut(rest, ".scores."); ok {
			find("scorer", score, of.Scorers)
		}
		if _, metric, ok := strings.Cut(rest, ".metrics."); ok {
			find("metric", metric, of.Metrics)
		}
	}
	return found
}

func (s *Suite) scoreNames() (names []string) {
	for i := range s.Scorers {
		names = append(names, s.Scorers[i].Name)
	}
	return names
}

// has reports whether a path begins with one of the names, which may hold dots.
func has(names []string, path string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return path == name || strings.HasPrefix(path, name+".") })
}

func (l *loader) checkScoreName(s *Suite, e *Expr, path string) {
	if known := s.scoreNames(); !has(known, path) {
		l.unknownIn(e, firstOf(path), known, "scorer")
	}
}

func firstOf(path string) string {
	first, _, _ := strings.Cut(path, ".")
	return first
}

// complete reports whether these are all names: where a name or the whole list was refused, a reference to it is no second
// mistake.
func (l *loader) complete(names []string) bool {
	return !slices.Contains(names, "") && (len(names) > 0 || l.errors == 0)
}

// unknownIn reports a name inside an expression.
func (l *loader) unknownIn(e *Expr, name string, known []string, what string) {
	if !l.complete(known) {
		return
	}
	at := max(0, strings.Index(e.Text, name))
	l.add(e.Node.FaultAt(len([]rune(e.Text[:at])), len([]rune(name)), didYouMean(name, known), "unknown %s %q", what, name))
}

// checkLimits compares the limits with one another, and with what they limit.
func (l *loader) checkLimits(loop *Loop) {
	l.checkThresholds(loop.Terminate.Any)
	limit, derived, sum := loop.EffectiveMax()
	at := loop.limitNode()
	absolute := loop.Guards.AbsoluteMaxIterations
	total := limit
	if derived && !slices.ContainsFunc(loop.Phases, func(p Phase) bool { return p.MaxIterations == 0 }) {
		total = sum // the derived limit cannot bind
	}
	switch {
	case !absolute.Off && total > absolute.Value:
		l.fault(at, fmt.Sprintf("raise the guard: guards: {absolute_max_iterations: %d}", total),
			"%d iterations are above the absolute limit of %d", total, absolute.Value)
	case absolute.Off && total == 0:
		l.warn(loop.Tree.Get("guards"), "write max_iterations, or delete absolute_max_iterations: off", "nothing limits the iterations of this loop")
	}
	if !derived && len(loop.Phases) > 0 && sum > limit && limit > 0 {
		l.warn(at, "raise max_iterations or lower the phases, else the last phases may never run",
			"the limits of the phases are %d together, above max_iterations: %d", sum, limit)
	}
}

// checkThresholds warns of confidences that an evaluation gives only if its own expression does.
func (l *loader) checkThresholds(conditions []Condition) {
	for i := range conditions {
		c := &conditions[i]
		if threshold := c.Confidence.Threshold; c.Kind == KindConfidence && !c.Off && !threshold.Off && threshold.Set && c.Node != nil {
			at := cmp.Or(c.Node.Get("threshold"), c.Node)
			switch {
			case threshold.Value >= 2 && threshold.Value <= 100:
				l.warn(at, fmt.Sprintf("confidence goes from 0 to 1: write %v for %v%%; off lets the condition never hold", threshold.Value/100, threshold.Value),
					"the threshold %v is above 1: few confidences ever reach it", threshold.Value)
			case threshold.Value > 1:
				l.warn(at, "confidence goes from 0 to 1; off lets the condition never hold",
					"the threshold %v is above 1: few confidences ever reach it", threshold.Value)
			case threshold.Value < 0:
				l.warn(at, "confidence goes from 0 to 1; off lets the condition never hold",
					"the threshold %v is below 0: every confidence reaches it", threshold.Value)
			}
		}
		l.checkThresholds(c.Nested)
	}
}

// limitNode is where the total limit comes from.
func (l *Loop) limitNode() *source.Node {
	var smallest *Condition
	for i := range l.Terminate.Any {
		c := &l.Terminate.Any[i]
		if c.Kind == KindMaxIterations && !c.Off && (smallest == nil || c.MaxIterations < smallest.MaxIterations) {
			smallest = c
		}
	}
	if smallest != nil {
		return smallest.Node
	}
	for i := range l.Phases { // one that is set from outside stands where it was written
		if n := l.Phases[i].Node.Get("max_iterations"); n != nil && n.File != l.Tree.File {
			return n
		}
	}
	return cmp.Or(l.Tree.Get("phases"), l.Tree.Get("strategies"), l.Tree.Get("loop"), l.Tree)
}
