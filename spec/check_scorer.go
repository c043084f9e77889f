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
	l.checkScorerNames(s)
	for scorer := range s.AllScorers() {
		if scorer.Node != nil && scorer.Type != "" {
			l.checkScorer(scorer)
		}
	}
}

// checkScorerNames refuses names that stand twice: the parts of sets are told by theirs, too.
func (l *loader) checkScorerNames(s *Suite) {
	all := slices.Collect(s.AllScorers())
	l.unique("scorer", len(all), func(i int) (string, *source.Node) { return all[i].Name, all[i].Node })
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
	switch scorer.Type {
	case "judge", "pairwise":
		l.checkJudge(scorer)
	case "json_schema":
		l.checkSchema(scorer)
	case "tool_call_count", "steps", "word_count":
		l.checkBounds(scorer)
	case "latency", "cost", "tokens", "iterations", "calls":
		l.checkAmount(scorer)
	case "http":
		l.checkAddress(scorer.Node.Get("url"), "url: http://localhost:8080/score")
	case "exact":
		l.checkNormalized(scorer)
	}
	l.checkRange(scorer)
	l.checkTargets(scorer)
	l.checkRegexp(scorer.Node.Get("pattern"), scorer.Pattern)
	if scorer.Extract != nil {
		l.checkRegexp(scorer.Extract.Node, scorer.Extract.Regex)
	}
}

// checkScorerKeys refuses keys of other types, and misses those of its own.
func (l *loader) checkScorerKeys(scorer *Scorer) {
	for _, entry := range scorer.Node.Entries {
		if owners := strings.Fields(scorerKeys[entry.Key]); len(owners) > 0 && !slices.Contains(owners, scorer.Type) {
			l.add(scorer.Node.KeyFault(entry.Key, "it belongs to type: "+listed(owners),
				"%q means nothing for a scorer of type %s", entry.Key, scorer.Type))
		}
	}
	for _, key := range scorerNeeds[scorer.Type] {
		if scorer.Node.Get(key) == nil {
			l.fault(scorer.Node, "", "a scorer of type %s needs %s", scorer.Type, key)
		}
	}
}

// listed are names, the first ones of many.
func listed(names []string) string {
	if len(names) <= fewNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:fewNames], ", "), len(names)-fewNames)
}

// checkTargets wants one thing that is looked for.
func (l *loader) checkTargets(scorer *Scorer) {
	switch {
	case scorer.Target == nil:
	case scorer.Tools != nil:
		l.add(scorer.Node.KeyFault("target", "tools are for all tasks, target tells them of each", "want one of tools and target"))
	case scorer.Options != nil:
		l.add(scorer.Node.KeyFault("target", "options are for all tasks, target tells them of each", "want one of options and target"))
	}
}

// checkNormalized refuses what a normalisation already does.
func (l *loader) checkNormalized(scorer *Scorer) {
	for _, key := range []string{"ignore_case", "trim"} {
		if scorer.Normalize != "" && scorer.Node.Get(key) != nil {
			l.add(scorer.Node.KeyFault(key, "delete it", "%q means nothing beside normalize, which leaves letter case and white space out", key))
		}
	}
}

// checkSchema reads the schema from its file.
func (l *loader) checkSchema(scorer *Scorer) {
	at := scorer.Node.Get("schema_file")
	switch {
	case (scorer.Schema != nil) == (at != nil):
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
		what := strings.Replace(err.Error(), "error parsing regexp", "no regular expression", 1)
		l.fault(n, expr.PatternHint(err), "%s", what)
	}
}
