package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// checkScorers finds what is wrong with the scorers by themselves, those within sets included.
func (l *loader) checkScorers(s *Suite) {
	all := slices.Collect(s.AllScorers()) // the parts of sets are told by their names, too
	l.unique("scorer", len(all), func(i int) (string, *source.Node) { return all[i].Name, all[i].Node })
	for _, scorer := range all {
		if scorer.Node != nil && scorer.Type != "" {
			l.checkScorer(scorer)
		}
	}
}

// checkScorerReferences finds what a scorer names and the suite does not have.
func (l *loader) checkScorerReferences(s *Suite) {
	for scorer := range s.AllScorers() {
		for _, n := range scorer.modelNodes() {
			l.checkModel(s, n, s.Budget.CostUSD > 0)
		}
		l.checkScorerCheck(s, scorer)
		if scorer.Type == "pairwise" {
			l.checkPair(s, scorer)
		}
	}
	l.checkSets(s)
}

func (l *loader) checkScorer(scorer *Scorer) {
	l.checkScorerKeys(scorer)
	if check := scorer.Kind().check; check != nil {
		check(l, scorer)
	}
	l.checkAddress(scorer.Node.Get("url"), "url: http://localhost:8080/score")
	l.checkRange(scorer)
	l.checkRegexp(scorer.Node.Get("pattern"), scorer.Pattern)
	if scorer.Extract != nil {
		l.checkRegexp(scorer.Extract.Node, scorer.Extract.Regex)
	}
}

// checkScorerKeys refuses keys of other types, and misses those of its own.
func (l *loader) checkScorerKeys(scorer *Scorer) {
	for _, entry := range scorer.Node.Entries {
		var owners []string
		for _, kind := range scorerKinds {
			if slices.Contains(strings.Fields(kind.keys), entry.Key) {
				owners = append(owners, string(kind.Type))
			}
		}
		if len(owners) > 0 && !slices.Contains(owners, string(scorer.Type)) {
			l.add(scorer.Node.KeyFault(entry.Key, "it belongs to type: "+listed(owners),
				"%q means nothing for a scorer of type %s", entry.Key, scorer.Type))
		}
	}
	if key := scorer.Kind().needs; key != "" && scorer.Node.Get(key) == nil && !misspelt(scorer.Node, key) {
		l.fault(scorer.Node, "", "a scorer of type %s needs %s", scorer.Type, key)
	}
}

// misspelt reports whether one of the keys was probably meant by a key of the node, which was refused.
func misspelt(n *source.Node, keys ...string) bool {
	return slices.ContainsFunc(n.Entries, func(e source.Entry) bool {
		return !slices.Contains(keys, e.Key) && source.Closest(e.Key, keys) != ""
	})
}

// listed are names, the first ones of many.
func listed(names []string) string {
	if len(names) <= fewNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:fewNames], ", "), len(names)-fewNames)
}

// checkSchema reads the schema from its file.
func (l *loader) checkSchema(scorer *Scorer) {
	at := scorer.Node.Get("schema_file")
	switch {
	case scorer.Node.Get("schema") == nil && at == nil:
		l.fault(scorer.Node, "", "a scorer of type json_schema needs one of schema and schema_file")
	case at != nil:
		value, err := l.readValue(at.Text)
		if err != nil {
			l.fileFault(at, err)
			return
		}
		if _, ok := value.(*expr.Object); !ok {
			l.fault(at, "", "%s holds no JSON Schema: want an object", at.Text)
			return
		}
		scorer.Schema = JSON(replyText(value))
	}
}

func (l *loader) checkRegexp(n *source.Node, text string) {
	if n == nil || text == "" {
		return
	}
	if _, err := expr.CompilePattern(text); err != nil {
		what := strings.Replace(err.Error(), "error parsing regexp", "invalid regular expression", 1)
		l.fault(n, expr.PatternHint(err), "%s", what)
	}
}

// checkJudge wants somebody who judges, and what by.
func (l *loader) checkJudge(scorer *Scorer) {
	if scorer.Model == "" && scorer.Models == nil && !misspelt(scorer.Node, "model", "models") {
		l.fault(scorer.Node, "model is one judge, models a panel", "a scorer of type %s needs one of model and models", scorer.Type)
	}
	l.checkPanel(scorer.Node.Get("models"))
	l.checkRubrics(scorer)
	for _, choice := range scorer.Choices {
		if !(choice.Value >= 0 && choice.Value <= 1) {
			l.fault(choice.Node, "write what the choice is worth", "want a number from 0 to 1")
		}
	}
	if scorer.Reduce != "" && max(scorer.Votes, 1)*max(len(scorer.Models), 1) == 1 {
		l.add(scorer.Node.KeyFault("reduce", "write votes: 3, or models", "reduce changes nothing: there is only one vote").AsWarning())
	}
}

// checkPanel refuses a model that would be asked the same twice.
func (l *loader) checkPanel(models *source.Node) {
	if models == nil || models.Kind != source.List {
		return
	}
	seen := map[string]bool{}
	for _, n := range models.Items {
		if seen[n.Text] {
			l.fault(n, "votes: 2 asks each twice", "duplicate model %q", shorten(n.Text))
		}
		seen[n.Text] = true
	}
}

// checkRubrics wants one thing that is asked for, or several by their names.
func (l *loader) checkRubrics(scorer *Scorer) {
	switch {
	case scorer.Type == "pairwise" && scorer.Rubric == nil:
		l.fault(scorer.Node, "rubric: Which is more helpful?", "a scorer of type pairwise needs rubric")
	case scorer.Type == "judge" && scorer.Rubric == nil && scorer.Criteria == nil:
		l.fault(scorer.Node, "rubric asks for one thing, criteria for several", "a scorer of type judge needs one of rubric and criteria")
	}
	for _, rubric := range scorer.rubrics() {
		if rubric.Node != nil && strings.TrimSpace(rubric.Text) == "" {
			l.fault(rubric.Node, "write what is asked for", "the rubric is empty")
		}
	}
	l.unique("criterion", len(scorer.Criteria), func(i int) (string, *source.Node) {
		return scorer.Criteria[i].Name, scorer.Criteria[i].Node
	})
}

// checkPair wants a configuration to stand beside, and another that it stands beside.
func (l *loader) checkPair(s *Suite, scorer *Scorer) {
	switch against := scorer.Against; {
	case scorer.Node == nil || len(s.Resolved) == 0:
	case against == "" && s.Baseline == "":
		l.fault(scorer.Node, "write against: NAME, or a baseline in the suite", "a scorer of type pairwise needs a configuration to compare with")
	case against != "" && s.Configuration(against) == nil:
		l.fault(scorer.Node.Get("against"), didYouMean(against, s.names()), "unknown configuration %q", shorten(against))
	case len(s.Resolved) == 1 && len(s.Resolved[0].Aliases) > 0:
		l.fault(scorer.Node, "let one differ in its loop, or in set", "the configurations %s are identical: pairwise needs two different ones", shorten(strings.Join(s.names(), ", ")))
	case len(s.Resolved) == 1:
		l.fault(scorer.Node, "declare another one", "pairwise needs a second configuration to compare with")
	}
	if scorer.Score != "" && scorer.Score != ScoreReturned {
		l.add(scorer.Node.KeyFault("score", "delete it", "a scorer of type pairwise judges only what runs return"))
	}
}

// checkBounds wants some that can be kept.
func (l *loader) checkBounds(scorer *Scorer) {
	switch {
	case scorer.Min == nil && scorer.Max == nil && scorer.Equals == nil && misspelt(scorer.Node, "min", "max", "equals"):
	case scorer.Min == nil && scorer.Max == nil && scorer.Equals == nil:
		l.fault(scorer.Node, "", "a scorer of type %s needs min, max or equals", scorer.Type)
	case scorer.Min != nil && scorer.Max != nil && *scorer.Min > *scorer.Max:
		l.add(scorer.Node.KeyFault("min", "", "min %d is above max %d", *scorer.Min, *scorer.Max))
	}
}

// checkAmount wants what an amount is held against.
func (l *loader) checkAmount(scorer *Scorer) {
	if scorer.AtMost == nil && scorer.Range == nil && !misspelt(scorer.Node, "at_most", "range") {
		l.fault(scorer.Node, "at_most: 10 gives 1 or 0; range: [60, 5] gives 0 at 60 and beyond, 1 at 5 and below",
			"a scorer of type %s needs one of at_most and range", scorer.Type)
	}
}

// checkRange wants two ends that are not the same.
func (l *loader) checkRange(scorer *Scorer) {
	n := scorer.Node.Get("range")
	switch {
	case n == nil || len(scorer.Range) < 2:
	case len(scorer.Range) > 2:
		l.fault(n, "write [what is worth 0, what is worth 1]", "want 2 numbers, got %d", len(scorer.Range))
	case scorer.Range[0] == scorer.Range[1]:
		l.fault(n, "write [what is worth 0, what is worth 1]", "both ends of the range are the same")
	case scorer.Range[1]-scorer.Range[0] > maxSpan || scorer.Range[0]-scorer.Range[1] > maxSpan:
		l.fault(n, "", "the ends of the range are too far apart")
	}
}

// maxSpan is how far the ends of a range may be apart: half of what fits into a number.
const maxSpan = 1e300

// maxParts is how many parts the sets of a suite may have together, so that any suite is checked within seconds.
const maxParts = 1000

// checkSets finds parts of sets that cannot be, and keys that mean something only within sets.
func (l *loader) checkSets(s *Suite) {
	parts := 0
	for scorer := range s.AllScorers() {
		if parts += len(scorer.Parts); parts > maxParts {
			l.fault(scorer.Node, "", "the sets of a suite may have %d parts together", maxParts)
			return
		}
	}
	within := setWalk{loader: l, suite: s, done: map[*Scorer]bool{}}
	for scorer := range s.AllScorers() {
		for i := range scorer.Parts {
			l.checkPart(s, scorer, i)
		}
		within.walk(scorer)
	}
	weighed := s.weighed()
	for scorer := range s.AllScorers() {
		if scorer.Weight != nil && !slices.Contains(weighed, scorer) {
			l.add(scorer.Node.KeyFault("weight", "it counts among the scorers of an all_of", "nothing reads the weight of the scorer %q", shorten(scorer.Name)).AsWarning())
		}
		l.checkScore(s, scorer)
	}
}

// checkPart wants a scorer that there is, that can be a part, and that is not one already.
func (l *loader) checkPart(s *Suite, set *Scorer, i int) {
	part := &set.Parts[i]
	if part.Node == nil {
		return
	}
	scorer := part.of(s.Scorers)
	switch {
	case scorer == nil && !l.complete(s.scoreNames()):
	case scorer == nil:
		l.fault(part.Node, s.partHint(part.Named), "unknown scorer %q", shorten(part.Named))
	case scorer.Type == "pairwise":
		l.fault(part.Node, "it needs two runs, and is scored when all are there", "a scorer of type pairwise cannot be a part of a set")
	case part.Named != "" && slices.ContainsFunc(set.Parts[:i], func(p ScorerPart) bool { return p.Named == part.Named }):
		l.fault(part.Node, "weight sets how much it counts", "duplicate scorer %q in this set", shorten(part.Named))
	}
}

// partHint is a name that could be meant.
func (s *Suite) partHint(name string) string {
	for scorer := range s.AllScorers() {
		if scorer.Name == name {
			return "it is part of a set; declare what several sets name under scorers of the suite"
		}
	}
	return didYouMean(name, s.scoreNames())
}

// setWalk finds sets that are parts of themselves.
type setWalk struct {
	*loader
	suite *Suite
	open  []*Scorer // those that we are in
	done  map[*Scorer]bool
}

func (w *setWalk) walk(scorer *Scorer) {
	if w.done[scorer] {
		return
	}
	w.open = append(w.open, scorer)
	for i := range scorer.Parts {
		part := scorer.Parts[i].of(w.suite.Scorers)
		switch {
		case part == nil:
		case slices.Contains(w.open, part):
			w.fault(scorer.Parts[i].Node, "", "the scorer %q is a part of itself", shorten(part.Name))
		default:
			w.walk(part)
		}
	}
	w.open = w.open[:len(w.open)-1]
	w.done[scorer] = true
}

// weighed are the scorers that are parts of an all_of.
func (s *Suite) weighed() (found []*Scorer) {
	for scorer := range s.AllScorers() {
		for i := range scorer.Parts {
			if part := scorer.Parts[i].of(s.Scorers); part != nil && scorer.Type == "all_of" {
				found = append(found, part)
			}
		}
	}
	return found
}

// checkScore wants outputs to be judged that can be, and by parts as by their sets.
func (l *loader) checkScore(s *Suite, scorer *Scorer) {
	if scorer.Score == ScoreWhenAsked && !scorer.Asks(s.Scorers) {
		l.add(scorer.Node.KeyFault("score", "it costs nothing: leave score out", "the scorer %q calls nothing, so score: when_asked has no effect", shorten(scorer.Name)))
	}
	switch {
	case scorer.At == "":
	case scorer.AsksModels(s.Scorers):
		l.add(scorer.Node.KeyFault("at", "delete it", "scorers that call models or endpoints judge outputs only"))
	case len(s.Resolved) > 0 && !slices.ContainsFunc(s.Resolved, func(r Resolved) bool { return r.Loop.Workspace.BySteps() }):
		l.add(scorer.Node.KeyFault("at", "write workspace: {snapshot: step} in a loop", "no loop keeps its workspace at steps"))
	}
	for i := range scorer.Parts {
		part := scorer.Parts[i].of(s.Scorers)
		switch own := scorer.Parts[i].Scorer; {
		case part == nil || part.Node == nil:
		case own != nil && own.At != "":
			l.add(own.Node.KeyFault("at", "write it for the set", "a scorer within a set judges what the set judges"))
		case own != nil && own.Score != "":
			l.add(own.Node.KeyFault("score", "write it for the set", "a scorer within a set judges what the set judges"))
		case scorer.Score != "" && own == nil && part.Asks(s.Scorers) && fewerOutputs(part.Judges(s.Scorers), scorer.Score) != scorer.Score:
			l.fault(scorer.Parts[i].Node, "write score: "+scorer.Score+" there, too", "the scorer %q is not asked about all that this set judges", shorten(part.Name))
		}
	}
}
