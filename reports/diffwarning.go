package reports

import (
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
)

// The kinds of warnings that only comparisons have.
const (
	OtherSuite      WarningKind = "other_suite"      // Name: the base's, More: the new side's
	SpecsDiffer     WarningKind = "specs_differ"     // in Count places that were not declared
	NotCompared     WarningKind = "not_compared"     // configurations More, of one side
	NotPaired       WarningKind = "not_paired"       // More says why
	NothingCommon   WarningKind = "nothing_common"   // the configurations have no common task
	OneSided        WarningKind = "one_sided"        // Count tasks of the base alone, Of of the new side
	LoneTrials      WarningKind = "lone_trials"      // Count runs of the base alone, Of of the new side
	CoverageDiffers WarningKind = "coverage_differs" // More: both
	FewCommon       WarningKind = "few_common"       // Count tasks are common
	LeftOut         WarningKind = "left_out"         // Count of Of pairs have no value of Name
	TooFewDiffer    WarningKind = "too_few_differ"   // Count of what Name is, tasks or clusters, differ, of Of that it takes
	OneSidedScore   WarningKind = "one_sided_score"  // of the scorer Name, of one side
	OtherScorer     WarningKind = "other_scorer"     // the scorer Name is another version on either side
	ByDifferences   WarningKind = "by_differences"   // an amount that is 0 at some task
	RanksDisagree   WarningKind = "ranks_disagree"   // the ranks and the mean of the logarithms point different ways
	HowCompared     WarningKind = "how_compared"     // what a change, a p and a verdict is; Name: margins of single quantities
	HowCorrected    WarningKind = "how_corrected"    // Name: the correction, over Count pairs
)

// aboutSides are the texts of warnings on comparisons.
func (w Warning) aboutSides(quote func(string) string) string {
	switch w.Kind {
	case OtherSuite:
		return "the sides are of different suites, " + quote(w.Name) + " and " + quote(w.More) + ": tasks of one id may not be the same"
	case SpecsDiffer:
		return fmt.Sprintf("the specs differ in %s that %s not declared: see the table of the spec, and --vary",
			page.Plural(w.Count, "place", "places"), wasOrWere(w.Count))
	case NotCompared:
		return page.Plural(w.Count, "configuration is", "configurations are") + " on this side alone and not compared: " + quote(w.More)
	case NotPaired:
		return "not paired, because " + w.More + ": this takes many more tasks to show the same difference"
	case NothingCommon:
		return "there is nothing to compare: the configurations have no common task"
	case OneSided:
		return fmt.Sprintf("tasks that only one side has are left out: %d of the base, %d of the new side", w.Count, w.Of)
	case LoneTrials:
		return fmt.Sprintf("runs whose trial the other side does not have are left out: %d of the base, %d of the new side", w.Count, w.Of)
	case CoverageDiffers:
		return "the coverage differs, " + w.More + ": if runs fail where tasks are hard, the side with fewer looks better than it is"
	}
	return w.aboutDifferences(quote)
}

func (w Warning) aboutDifferences(quote func(string) string) string {
	switch w.Kind {
	case FewCommon:
		return fmt.Sprintf("%s can show only large differences", page.Plural(w.Count, "common task", "common tasks"))
	case LeftOut:
		return fmt.Sprintf("%d of %d pairs of runs have no %s on a side and are left out", w.Count, w.Of, quote(w.Name))
	case TooFewDiffer:
		if w.Count == 0 {
			return "no " + w.Name + " differs"
		}
		return fmt.Sprintf("only %s: with fewer than %d no test shows anything", page.Plural(w.Count, w.Name+" differs", w.Name+"s differ"), w.Of)
	case OneSidedScore:
		return quote(w.Name) + " is a score of this side alone and not compared"
	case OtherScorer:
		return "the sides were judged by different versions of " + quote(w.Name) + ": its scores may not mean the same"
	case ByDifferences:
		return quote(w.Name) + " is 0 at some task: its change is a difference, not a ratio"
	case RanksDisagree:
		return "the ranks point one way and the mean the other: a few tasks outweigh the rest, and nothing is better or worse"
	case HowCompared:
		if w.Name != "" {
			return w.More + ", by name " + quote(w.Name)
		}
		return w.More
	case HowCorrected:
		return fmt.Sprintf("p and verdicts are corrected for %d comparisons by %s, each quantity on its own", w.Count, w.Name)
	}
	return strings.ReplaceAll(string(w.Kind), "_", " ")
}

func wasOrWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
