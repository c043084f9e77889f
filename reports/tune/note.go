package tune

import (
	"fmt"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

// Note is something that a reader of a number must know. It has the kinds of
// reports.Warning and those below.
type ReplayNote reports.Warning

// The kinds that reports do not have.
const (
	Bounds         reports.WarningKind = "bounds"         // Count of Of runs were cut
	Branching      reports.WarningKind = "needs_calls"    // Count of Of runs branch
	ToldLimits     reports.WarningKind = "counterfactual" // the agent of Count of Of runs was told
	WouldFault     reports.WarningKind = "would_fault"    // Count of Of runs
	ReturnUnscored reports.WarningKind = "return_unscored"
	NoTimes        reports.WarningKind = "no_times"
	NoUsage        reports.WarningKind = "no_usage"
	NoPrices       reports.WarningKind = "no_prices"
	NoTokens       reports.WarningKind = "no_tokens"
	WholeCosts     reports.WarningKind = "whole_costs" // Count of Of runs
	LeftOut        reports.WarningKind = "left_out"    // More: which of the folder's runs are not among these
	Against        reports.WarningKind = "against"     // what lost, gained and saved mean
	RaceTold       reports.WarningKind = "race"        // More: how recorded paths raced
)

// Text is the note for people.
func (n ReplayNote) Text(quote func(string) string) string {
	switch n.Kind {
	case Bounds:
		return fmt.Sprintf("%d of %d runs would have gone on where the recording was cut: what they are worth has bounds, which are no estimate and hold no chance", n.Count, n.Of)
	case Branching:
		return fmt.Sprintf("%d of %d runs would take another path, which takes new calls: the bounds hold whatever these bring", n.Count, n.Of)
	case ToldLimits:
		return fmt.Sprintf("the agent was told a limit that changes in %d of %d runs: what it would have done instead, no record shows", n.Count, n.Of)
	case WouldFault:
		return fmt.Sprintf("%d of %d runs would have a fault and, as after a live run, are in no number: see table unknown", n.Count, n.Of)
	case ReturnUnscored:
		return fmt.Sprintf("%s of %d of %d runs is not known", quote(n.Name), n.Count, n.Of) + n.whyUnscored()
	case NoTimes:
		return "the recording has no times, so the latency is unknown"
	case NoUsage:
		return page.Plural(n.Count, "recorded run does not say what it", "recorded runs do not say what they") + " used, so calls, tokens and cost are unknown"
	case NoTokens:
		return page.Plural(n.Count, "recorded run has", "recorded runs have") + " calls whose tokens are not recorded, so the tokens are unknown"
	case NoPrices:
		return page.Plural(n.Count, "recorded run has", "recorded runs have") + " calls without a price, so the cost is unknown"
	case WholeCosts:
		return fmt.Sprintf("%d of %d recorded runs tell only the cost of the whole run: one that stops earlier costs between nothing and the even share of its iterations, assuming that later iterations are not cheaper than earlier ones", n.Count, n.Of)
	case Against:
		return n.against(quote)
	case RaceTold, LeftOut:
		return n.More
	}
	return reports.Warning(n).Text(quote)
}

func (n ReplayNote) whyUnscored() string {
	switch sweep.Why(n.More) {
	case sweep.ReturnsEarlier:
		return ", so that there is no mean: it reads what is returned and what was done until the stop, and these runs return an earlier iteration than their last"
	case sweep.StopsOtherwise:
		return ", so that there is no mean: it reads why a run stops, and these stop otherwise than recorded"
	case sweep.UsesUpSteps:
		return ", so that there is no mean: the agent would reach its maximum of steps, and that output has no score"
	case sweep.GoesOtherwise:
		return ", so that there is no mean: it reads how iterations were judged or what they took, which would not be as recorded"
	}
	return " for the iteration that would be returned, so that there is no mean: scores of iterations tell it, or when_cut in the mapping of an import"
}

func (n ReplayNote) against(quote func(string) string) string {
	success := "a run has success if its loop says so: nothing is scored"
	if n.Name != "" {
		success = "a run has success if " + quote(n.Name) + " is 1 or more"
	}
	return "lost, gained and saved are against the same runs as recorded; " + success
}

// Serious says that numbers are missing or in question.
func (n ReplayNote) Serious() bool {
	switch n.Kind {
	case WouldFault, ReturnUnscored, Branching, ToldLimits:
		return true
	}
	return reports.Warning(n).Serious()
}

// Warnings are notes as a page has them.
func Warnings[N page.Warning](notes []N) []page.Warning {
	warnings := make([]page.Warning, len(notes))
	for i, n := range notes {
		warnings[i] = n
	}
	return warnings
}

// notesOf are those of some kinds, about one scorer where that is named.
func notesOf(notes []ReplayNote, scorer string, kinds ...reports.WarningKind) (found []page.Warning) {
	for _, n := range notes {
		for _, kind := range kinds {
			if n.Kind == kind && (scorer == "" || scorer == n.Name) {
				found = append(found, n)
			}
		}
	}
	return found
}
