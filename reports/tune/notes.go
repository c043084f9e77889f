package tune

import (
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

// The kinds of notes that the page makes of a tuning.
const (
	ChosenBy    reports.WarningKind = "chosen_by" // Name: the cost, More: why
	ByObjective reports.WarningKind = "objective" // Name: the objective
	OtherCost   reports.WarningKind = "why_cost"
	LuckyGoal   reports.WarningKind = "luck_of_objective"
	LuckyCost   reports.WarningKind = "luck_of_cost"
	NotTried    reports.WarningKind = "not_exact"   // Count of Of candidates
	CannotTake  reports.WarningKind = "cannot_take" // Count exact candidates; More: why
	OffTheFront reports.WarningKind = "off_the_front"
	ByRatios    reports.WarningKind = "by_ratios"
	OnTheFront  reports.WarningKind = "on_the_front"
	Alone       reports.WarningKind = "alone"
	AfterAll    reports.WarningKind = "after_the_choice" // Name: a BoundMethod, Count: its tests
	FewForRule  reports.WarningKind = "few_for_the_rule" // Name: the rule, Count: tasks or clusters
)

// The kinds of notes that the choosing makes.
const (
	// FrontThinned: of Of configurations on the front Count were drawn, evenly.
	FrontThinned reports.WarningKind = "front_thinned"
	// FrontBounded: Count of Of configurations were drawn for the shares.
	FrontBounded reports.WarningKind = "front_bounded"
	// NoFolds: the tasks make fewer than two parts.
	NoFolds reports.WarningKind = "no_folds"
	// FoldsWithout: in Count of Of folds the rule finds nothing.
	FoldsWithout reports.WarningKind = "folds_without_choice"
	// CurveTold: the agent was told how many iterations it has (More).
	CurveTold reports.WarningKind = "curve_told"
	// LossByUnits: bounds of losses are by Count tasks or clusters (Name).
	LossByUnits reports.WarningKind = "loss_by"
)

// wholeNotes are how it was chosen and how far that can be trusted, and then the
// notes on the recording.
func (t *Tuning) wholeNotes() []Note {
	notes := t.chosenNotes()
	notes = append(notes, t.luckNotes()...)
	notes = append(notes, t.leftNotes()...)
	return append(notes, t.Notes...)
}

// widening are the rules that allow the more loss the fewer tasks there are; from
// enoughForRule tasks on that is little.
var widening = []string{"within_one_se", "indistinguishable"}

const enoughForRule = 100

func (t *Tuning) chosenNotes() []Note {
	notes := []Note{{Kind: ByObjective, Name: t.Terms.Objective}}
	if t.Terms.Minimize {
		notes[0].Count = 1
	}
	if t.Why != "" {
		notes = append([]Note{{Kind: ChosenBy, Name: t.Terms.Cost, More: t.Why}}, notes...)
	}
	if t.Terms.WhyCost != "" {
		notes = append(notes, Note{Kind: OtherCost, Name: t.Terms.Cost, More: t.Terms.WhyCost})
	}
	if t.Bound != nil {
		notes = append(notes, Note{Kind: AfterAll, Name: string(t.Bound.Method), Count: t.Bound.Tests})
	}
	units, of := t.Tasks, "task"
	if t.Clusters > 0 {
		units, of = t.Clusters, "cluster"
	}
	if slices.Contains(widening, t.Terms.Rule) && units < enoughForRule {
		notes = append(notes, Note{Kind: FewForRule, Name: t.Terms.Rule, Count: units, More: of})
	}
	if t.Runs > 0 {
		notes = append(notes, Note{Kind: Against, Name: t.Terms.Score})
	}
	return notes
}

// luckNotes say how much of the gain was found and how much was there.
func (t *Tuning) luckNotes() (notes []Note) {
	if l := t.Luck; l != nil && !t.Unchanged {
		if l.Objective.Luck.Known() {
			notes = append(notes, Note{Kind: LuckyGoal, Count: t.Tried.Candidates, Name: l.Over, More: l.Objective.told(func(v page.Value) string { return page.Gain(v, 3) })})
		}
		if l.Cost.Luck.Known() {
			notes = append(notes, Note{Kind: LuckyCost, Count: t.Tried.Candidates, Name: l.Over, More: l.Cost.told(t.costForm(l.Cost.Apparent, l.Cost.Luck))})
		}
	}
	return notes
}

// told is a gain as it looks and as it is.
func (g *Gain) told(form func(page.Value) string) string {
	text := fmt.Sprintf("%s in the sample, %s", form(g.Apparent), form(g.Honest))
	if g.HonestInterval.Known() {
		text += " (" + g.HonestInterval.Text(form) + ")"
	}
	text += " on tasks left out"
	if g.Apparent.Number <= 0 && g.Luck.Number <= 0 {
		return text // no gain was found that could be luck
	}
	luck := "none"
	if g.Luck.Number > 0 {
		luck = form(g.Luck)
	}
	return text + ", so that " + luck + " of it is luck"
}

// leftNotes say which candidates could not be chosen.
func (t *Tuning) leftNotes() (notes []Note) {
	tried := &t.Tried
	if n := tried.Candidates - tried.Exact; n > 0 {
		notes = append(notes, Note{Kind: NotTried, Count: n, Of: tried.Candidates, More: tried.labels()})
	}
	for _, left := range []struct {
		n   int
		why string
	}{
		{tried.Faulty, "some of their runs would have a fault"},
		{tried.Unscored, "a score of some of their runs is not known"}, {tried.Costless, "their cost is not known"}, {tried.Unmeasured, "the objective is not known"},
	} {
		if left.n > 0 {
			notes = append(notes, Note{Kind: CannotTake, Count: left.n, More: left.why})
		}
	}
	return notes
}

func (t *Tried) labels() string {
	text := ""
	for _, l := range []struct {
		n    int
		what string
	}{{t.Bounded, "bounded"}, {t.NeedsCalls, "needing calls"}, {t.Counterfactual, "counterfactual"}} {
		if l.n == 0 {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", l.n, l.what)
	}
	return text
}

// Note is something that a reader of a tuning must know. It has the kinds of the
// notes on replays, those above and those that the choosing makes.
type Note ReplayNote

// Text is the note for people.
func (n Note) Text(quote func(string) string) string {
	for _, text := range []string{n.tuning(quote), n.computed()} {
		if text != "" {
			return text
		}
	}
	return ReplayNote(n).Text(quote)
}

// Serious says that numbers are missing or in question.
func (n Note) Serious() bool { return ReplayNote(n).Serious() }

// tuning is a note about how it was chosen; "" where it is another.
func (n Note) tuning(quote func(string) string) string {
	switch n.Kind {
	case ChosenBy:
		return "recommended is " + plainly(n.More, quote) + "; cheap is by " + quote(n.Name)
	case ByObjective:
		if n.Count > 0 {
			return "the best objective is the smallest " + quote(n.Name)
		}
		return "the best objective is the largest " + quote(n.Name)
	case OtherCost:
		return "the cost is " + quote(n.Name) + ": " + plainly(n.More, quote)
	case LuckyGoal:
		return fmt.Sprintf("luck: chosen from %s, the objective against %s is %s", page.Plural(n.Count, "configuration", "configurations"), overWhat(n.Name), n.More)
	case LuckyCost:
		return fmt.Sprintf("luck: chosen from %s, what a run saves against %s is %s", page.Plural(n.Count, "configuration", "configurations"), overWhat(n.Name), n.More)
	case NotTried:
		return fmt.Sprintf("%d of %s %s not exact (%s) and cannot be recommended", n.Count, page.Plural(n.Of, "configuration", "configurations"), verb(n.Count, "is", "are"), n.More)
	case CannotTake:
		return page.Plural(n.Count, "exact configuration", "exact configurations") + " cannot be chosen: " + n.More
	case OffTheFront:
		return page.Plural(n.Count, "configuration of unknown cost is", "configurations of unknown cost are") + " not on the front"
	case ByRatios:
		return "change: of scores the mean of the tasks' differences, of amounts the geometric mean of their ratios; percentages of what 1,000 runs save are of the means, here and in the first lines"
	case Alone:
		return "95% bound of what it loses, if no other configuration had been tried; the bound in the first lines holds after a choice among all"
	case AfterAll:
		if n.Name == string(InSteps) {
			return "the bound in the first lines holds after the choice: limits are tested from the loosest to tighter ones, and configurations that are equally many steps away share the error rate"
		}
		return fmt.Sprintf("the bound in the first lines holds after the choice: the error rate is divided by the %s that differ in some run", page.Plural(n.Count, "configuration", "configurations"))
	case FewForRule:
		return fmt.Sprintf("%s allows the more loss the fewer tasks there are, and here are %s: --choose max_loss:0.02 bounds what is lost", n.Name, page.Plural(n.Count, n.More, n.More+"s"))
	case OnTheFront:
		return "how often it is on the front when the tasks are drawn anew"
	}
	return ""
}

// verb is the form of a verb that goes with so many, of however many.
func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func overWhat(over string) string {
	if over == "today" {
		return "today's configuration"
	}
	return "the recording"
}

// computed is a note that the choosing makes; "" where it is another.
func (n Note) computed() string {
	switch n.Kind {
	case FrontThinned:
		return fmt.Sprintf("of the %[2]d configurations on the front %[1]d compete when the tasks are drawn anew: their shares are rather too large", n.Count, n.Of)
	case FrontBounded:
		return fmt.Sprintf("of %d different configurations the %d on or next to the front compete when the tasks are drawn anew", n.Of, n.Count)
	case NoFolds:
		return "there are too few tasks that stand for themselves to choose by some and report on others: what is recommended looks better than it is"
	case FoldsWithout:
		return fmt.Sprintf("in %s the rule finds nothing: the sums are without them", page.Plural(n.Count, "fold", "folds"))
	case CurveTold:
		return "what stopping earlier would have given is not shown, because the agent knows its limit: " + n.More
	case LossByUnits:
		return fmt.Sprintf("runs of one %s depend on each other: bounds of what is lost are by %s", n.Name, page.Plural(n.Count, n.Name, n.Name+"s"))
	}
	return ""
}
