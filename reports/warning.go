package reports

import (
	"fmt"

	"github.com/agentbench/agentbench/reports/page"
)

// Warning is something that a reader of a number must know. It travels with the
// numbers and is printed as their footnote.
type Warning struct {
	Kind  WarningKind `json:"kind"`
	Count int         `json:"count,omitempty"` // of what the kind counts
	Of    int         `json:"of,omitempty"`
	Name  string      `json:"name,omitempty"`   // of the scorer, model or configuration
	More  string      `json:"detail,omitempty"` // for people
	// Side is base or new where the warning is about one side of a comparison.
	Side string `json:"side,omitempty"`
}

// WarningKind is one of a closed list.
type WarningKind string

// The kinds of warnings.
const (
	SimulatedModel WarningKind = "simulated"      // Name: the models
	Faults         WarningKind = "faults"         // Count of Of runs
	NotRun         WarningKind = "not_run"        // Count of Of runs
	Unpriced       WarningKind = "unpriced"       // Count of Of calls
	Estimated      WarningKind = "estimated"      // Count of Of calls
	Unreported     WarningKind = "unreported"     // Count runs of programs, or calls of a log
	Uncounted      WarningKind = "uncounted"      // Count of Of calls
	Untimed        WarningKind = "untimed"        // Count of Of runs
	AgentFailed    WarningKind = "agent_failed"   // Count of Of runs
	NotJSON        WarningKind = "not_json"       // Count of Of replies
	OtherModel     WarningKind = "other_model"    // Count of Of calls of the model Name
	Unscored       WarningKind = "unscored"       // Count of Of runs, by the scorer Name
	NotScored      WarningKind = "not_scored"     // Count of Of runs, by the scorer Name
	TooFewTrials   WarningKind = "tasks_left_out" // Count of Of tasks, of the metric Name
	VotesDiffer    WarningKind = "votes_differ"   // of the scorer Name
	FirstPlace     WarningKind = "first_place"    // of the scorer Name, in Of pairs
	NoInterval     WarningKind = "no_interval"    // of the scores by the scorer Name
	UnequalRuns    WarningKind = "unequal_n"      // Count to Of runs a task
	UnevenRuns     WarningKind = "uneven_runs"    // Count to Of runs a configuration
	FewTasks       WarningKind = "few_tasks"      // Count tasks
	MixedLoops     WarningKind = "mixed_loops"    // Count versions of the loop
	MixedScorers   WarningKind = "mixed_scorers"
	MixedSpecs     WarningKind = "mixed_specs"  // Count specs
	FewClusters    WarningKind = "few_clusters" // Count clusters
	CurveCut       WarningKind = "curve_cut"    // Count of Of runs are not in the curve
	BadLines       WarningKind = "bad_lines"    // Count lines
	UnknownRuns    WarningKind = "unknown_runs"
	Repeated       WarningKind = "repeated_runs"
	NotComplete    WarningKind = "not_complete"
	SameAs         WarningKind = "same_as"        // the configuration Name
	AnyDifference  WarningKind = "any_difference" // of Of configurations in the score Name, over Count tasks or clusters
	Residue        WarningKind = "residue"        // what varies inside the averages, of Of trials, by the scorer Name
)

// Text is the warning for people. Names and details come from outside; quote
// makes them fit for the format.
func (w Warning) Text(quote func(string) string) string {
	if side := w.Side; side != "" {
		w.Side = ""
		return side + ": " + w.Text(quote)
	}
	switch w.Kind {
	case SimulatedModel:
		return "simulated by " + quote(w.Name) + ": the numbers show how the loop behaves, not how good a model is"
	case Faults:
		return fmt.Sprintf("%d of %d runs had a fault (%s) and are in no number", w.Count, w.Of, quote(w.More))
	case NotRun:
		return fmt.Sprintf("%d of %d runs are missing: they did not run, or were cancelled", w.Count, w.Of)
	case Unpriced:
		if w.Count == w.Of {
			return "no call has a price, so the cost is unknown"
		}
		return fmt.Sprintf("%d of %d calls have no price, so the cost is unknown", w.Count, w.Of)
	case Estimated:
		if w.Count == w.Of {
			return "the tokens are estimates from the texts: none were reported"
		}
		return fmt.Sprintf("the tokens of %d of %d calls are estimates from the texts: none were reported", w.Count, w.Of)
	case Residue:
		return w.residue(quote)
	}
	return w.aboutAgents(quote)
}

func (w Warning) aboutAgents(quote func(string) string) string {
	switch w.Kind {
	case AgentFailed:
		return fmt.Sprintf("the agent failed in %d of %d runs (%s), which count", w.Count, w.Of, quote(w.More))
	case NotJSON:
		return fmt.Sprintf("%d of %d replies were not JSON, which the loop expects, and have confidence 0", w.Count, w.Of)
	case OtherModel:
		return fmt.Sprintf("%d of %d calls of %s were answered by another model, as the server calls it: %s", w.Count, w.Of, quote(w.Name), quote(w.More))
	case Unreported:
		return "the usage of " + page.Plural(w.Count, "call", "calls") + " was not reported: cost, tokens and calls are unknown"
	case Uncounted:
		return fmt.Sprintf("the tokens of %d of %d calls are unknown: the log does not tell them", w.Count, w.Of)
	case Untimed:
		return fmt.Sprintf("the log does not tell the times of %d of %d runs, so the latency is unknown", w.Count, w.Of)
	case SameAs:
		return quote(w.Name) + " is also " + quote(w.More) + ": equal configurations run once"
	}
	return w.aboutScores(quote)
}

func (w Warning) aboutScores(quote func(string) string) string {
	switch w.Kind {
	case Unscored:
		return fmt.Sprintf("%s could not judge %d of %d runs, which are in no score: %s", quote(w.Name), w.Count, w.Of, quote(w.More))
	case NotScored:
		return fmt.Sprintf("%d of %d runs have no score by %s yet", w.Count, w.Of, quote(w.Name))
	case TooFewTrials:
		return fmt.Sprintf("%s leaves out %d of %d tasks, %s", quote(w.Name), w.Count, w.Of, w.More)
	case VotesDiffer:
		return fmt.Sprintf("the votes of %s differ so much that this is %s of what the trials of a task differ by: more votes make the score surer", quote(w.Name), w.More)
	case FirstPlace:
		return fmt.Sprintf("%s depends on the place of an output, over %d pairs: %s; both orders were asked, so that it moves no score", quote(w.Name), w.Of, w.More)
	case NoInterval:
		return "no interval of " + quote(w.Name) + ": it takes scores of two tasks that differ"
	case UnequalRuns:
		return fmt.Sprintf("tasks have %d to %d scored runs each: the score is the mean of the tasks' means", w.Count, w.Of)
	case FewTasks:
		return fmt.Sprintf("%s can show only large differences", page.Plural(w.Count, "task", "tasks"))
	case FewClusters:
		return fmt.Sprintf("the tasks are in %s: they can show only large differences", page.Plural(w.Count, "cluster", "clusters"))
	case CurveCut:
		return fmt.Sprintf("%d of %d runs have an iteration without a score and are not in the curve", w.Count, w.Of)
	case MixedLoops:
		return fmt.Sprintf("the runs were made by %d versions of the loop", w.Count)
	case MixedSpecs:
		return fmt.Sprintf("the runs were made under %d specs, mixed by --force", w.Count)
	case MixedScorers:
		return fmt.Sprintf("the scores were made by %d versions of %s", w.Count, quote(w.Name))
	}
	return w.aboutRecords(quote)
}

func (w Warning) aboutRecords(quote func(string) string) string {
	switch w.Kind {
	case BadLines:
		return fmt.Sprintf("%s could not be read, the first of them: %s", page.Plural(w.Count, "line", "lines"), quote(w.More))
	case UnknownRuns:
		return fmt.Sprintf("%s of configurations that the suite does not have were left out", page.Plural(w.Count, "run", "runs"))
	case Repeated:
		return fmt.Sprintf("%s recorded more than once and counted once", page.Plural(w.Count, "run is", "runs are"))
	case UnevenRuns:
		return fmt.Sprintf("the configurations have %d to %d runs: compare them with care, for their tasks differ", w.Count, w.Of)
	case AnyDifference:
		return fmt.Sprintf("any difference at all in %s between the %d configurations: %s", quote(w.Name), w.Of, w.More)
	case NotComplete:
		return "the results are not complete: " + w.More
	}
	return w.aboutSides(quote)
}

// residue tells what still varies inside the averages, and what a success is.
func (w Warning) residue(quote func(string) string) string {
	over := "tasks"
	if w.Of > 1 {
		over = "tasks and trials"
	}
	success := "a run has success if its loop says so: nothing is scored"
	if w.Name != "" {
		success = "a run has success if " + quote(w.Name) + " is 1 or more"
	}
	return "means are over " + over + ", p50 and p95 over runs; " + success
}

// Serious says that a warning puts numbers into question, or says that some are
// missing, and is not only an explanation.
func (w Warning) Serious() bool {
	switch w.Kind {
	case Faults, NotRun, AgentFailed, NotJSON, Unscored, NotScored, TooFewTrials, UnevenRuns, MixedLoops, MixedScorers,
		BadLines, UnknownRuns, Repeated, NotComplete, SimulatedModel,
		OtherSuite, SpecsDiffer, NotCompared, NotPaired, NothingCommon, OneSided, LoneTrials, OneSidedScore, OtherScorer, CoverageDiffers:
		return true
	}
	return false
}
