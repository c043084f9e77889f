package spec

import (
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// checkJudge wants somebody who judges, and what by.
func (l *loader) checkJudge(scorer *Scorer) {
	if (scorer.Model == "") == (scorer.Models == nil) {
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
		n := scorer.Node.KeyFault("reduce", "write votes: 3, or models", "there is one vote, so that nothing is reduced")
		n.Warning = true
		l.add(n)
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
			l.fault(n, "votes: 2 asks each twice", "the model %q stands twice", shorten(n.Text))
		}
		seen[n.Text] = true
	}
}

// checkRubrics wants one thing that is asked for, or several by their names.
func (l *loader) checkRubrics(scorer *Scorer) {
	switch {
	case scorer.Type == "pairwise" && scorer.Rubric == nil:
		l.fault(scorer.Node, "rubric: Which is more helpful?", "a scorer of type pairwise needs rubric")
	case scorer.Type == "judge" && (scorer.Rubric == nil) == (scorer.Criteria == nil):
		l.fault(scorer.Node, "rubric asks for one thing, criteria for several", "a scorer of type judge needs one of rubric and criteria")
	}
	rubrics := []*Prompt{scorer.Rubric}
	for i := range scorer.Criteria {
		rubrics = append(rubrics, scorer.Criteria[i].Rubric)
	}
	for _, rubric := range rubrics {
		if rubric != nil && rubric.Node != nil && strings.TrimSpace(rubric.Text) == "" {
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
		l.fault(scorer.Node.Get("against"), didYouMean(against, s.names()), "there is no configuration %q", shorten(against))
	case len(s.Resolved) == 1 && len(s.Resolved[0].Aliases) > 0:
		l.fault(scorer.Node, "let one differ in its loop, or in set", "the configurations %s are the same, so that nothing stands beside it", shorten(strings.Join(s.names(), ", ")))
	case len(s.Resolved) == 1:
		l.fault(scorer.Node, "declare another one", "there is only one configuration, so that nothing stands beside it")
	}
	if scorer.Score != "" && scorer.Score != ScoreReturned {
		l.add(scorer.Node.KeyFault("score", "delete it", "a scorer of type pairwise judges only what runs return"))
	}
}
