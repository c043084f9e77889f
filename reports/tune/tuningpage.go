package tune

import (
	"fmt"
	"io"
	"iter"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// TableNames are the tables of a tuning, in the order in which people read them.
var TableNames = []string{
	"choice", "changes", "differences", "front", "folds", "neighbours", "limits", "stops", "curve", "ranges", "excluded", "unknown", "all",
}

// About is a tuning of the suite.
func (t *Tuning) About() (kind, suite string) { return "tune", t.Suite }

// Heading says what was tried on what.
func (t *Tuning) Heading(quote func(string) string) string {
	size := page.Plural(t.Tasks, "task", "tasks")
	if t.Clusters > 0 {
		size += " in " + page.Plural(t.Clusters, "cluster", "clusters")
	}
	tried := page.Plural(t.Tried.Candidates, "configuration tried", "configurations tried")
	parts := []string{quote(t.Suite)}
	if t.Tuned != "" {
		parts = append(parts, "configuration "+quote(t.Tuned))
	}
	parts = append(parts, size, page.Plural(t.Runs, "recorded run", "recorded runs"), tried)
	if t.PricesAsOf != "" {
		parts = append(parts, "prices as of "+quote(t.PricesAsOf))
	}
	return strings.Join(parts, " · ")
}

// Remark says where nothing real was measured.
func (t *Tuning) Remark(quote func(string) string) string {
	return page.SimulatedBy(t.Simulated, quote)
}

// Tables are all tables of a tuning.
func (t *Tuning) Tables(page.Audience) []page.Table {
	return []page.Table{
		t.choiceTable(), t.changesTable(), t.differencesTable(), t.frontTable(), t.foldsTable(), t.neighboursTable(),
		t.limitsTable(), t.stopsTable(), t.curveTable(), t.rangesTable(), t.excludedTable(), t.unknownTable(), t.allTable(),
	}
}

// WholeWarnings are all notes but those in cells.
func (t *Tuning) WholeWarnings() []page.Warning { return page.Warnings(t.wholeNotes()) }

// Warned are all notes on the tuning, and those on its configurations.
func (t *Tuning) Warned() iter.Seq2[string, page.Warning] {
	return func(yield func(string, page.Warning) bool) {
		for _, n := range t.wholeNotes() {
			if !yield("", n) {
				return
			}
		}
		for row := range t.choices() {
			for _, n := range row.Warnings {
				if !yield(row.Name, n) {
					return
				}
			}
		}
	}
}

// checkGroup is the group of the only check of a tuning.
const checkGroup = "tune"

// Checks ask whether there is something to recommend.
func (t *Tuning) Checks() iter.Seq[page.Check] {
	return func(yield func(page.Check) bool) {
		a := t.Answer(func(text string) string { return text })
		yield(page.Check{Group: checkGroup, Name: "recommended", State: a.State, Message: a.String(), Loud: true})
	}
}

// Facts are the parameters that are recommended.
func (t *Tuning) Facts(group string) (facts []page.Fact) {
	if group != checkGroup || t.Recommended == nil {
		return nil
	}
	facts = append(facts, page.Fact{Name: "configuration", Value: t.Recommended.Name})
	for _, p := range t.Recommended.Params {
		facts = append(facts, page.Fact{Name: p.Path, Value: string(p.Value)})
	}
	return facts
}

// WriteJSON writes the tuning as one object, whose form is that of Tuning.
func (t *Tuning) WriteJSON(w io.Writer) error { return page.WriteObject(w, t) }

// JSONSchema describes the JSON of tunings in JSON Schema (draft 2020-12).
func JSONSchema() ([]byte, error) { return reports.SchemaOf[Tuning](Schema) }

// Answer is what to do, what it costs in quality, and what it saves.
func (t *Tuning) Answer(quote func(string) string) page.Answer {
	switch {
	case t.Runs == 0:
		return page.Answer{State: page.Errored, Text: "no run counts"}
	case t.Recommended == nil:
		return page.Answer{State: page.Failed, Text: "nothing is recommended: " + plainly(t.WhyNone, quote), More: t.guessed(quote)}
	}
	parts := []string{t.advised(quote) + t.stable() + ": " + t.kept(quote)}
	if scored := t.scores(quote); scored != "" {
		parts[0] = t.advised(quote) + t.stable() + ": " + scored + "; " + t.kept(quote)
	}
	if saved := t.saved(quote); saved != "" {
		if little, _ := t.littleSaved(); little != "" {
			saved += ", which counts as the same"
		}
		parts = append(parts, saved)
	}
	if lucky := t.lucky(quote); lucky != "" {
		parts = append(parts, lucky)
	}
	return page.Answer{State: page.Passed, Text: strings.Join(parts, "; ")}
}

// advised names what to take.
func (t *Tuning) advised(quote func(string) string) string {
	switch name := quote(t.Recommended.Name); {
	case t.Unchanged:
		return "keep today's limits, " + name
	case t.Today != nil:
		return "take " + name + " instead of " + quote(t.Today.Name)
	default:
		return "take " + name
	}
}

// lucky says what is left of a gain on tasks that did not choose, where that is less
// than half of it, and where it is a loss that is shown.
func (t *Tuning) lucky(quote func(string) string) string {
	if t.Luck == nil || !t.Terms.isScore() || t.Unchanged {
		return ""
	}
	gain := &t.Luck.Objective
	worse := gain.HonestInterval.Known() && gain.HonestInterval.High.Number < 0 && gain.Apparent.Number >= 0
	if !gain.Honest.Known() || !worse && !(gain.Apparent.Number > 0 && gain.Honest.Number < gain.Apparent.Number/2) {
		return ""
	}
	return fmt.Sprintf("on tasks that did not choose, %s changes by %s against %s, not %s", quote(t.Terms.Score), page.Gain(gain.Honest, 3), overWhat(t.Luck.Over), page.Gain(gain.Apparent, 3))
}

// stable says in how many folds the same was chosen, "" where there are none.
func (t *Tuning) stable() string {
	if t.Validation == nil || t.Terms.HoldOut > 0 {
		return ""
	}
	if !slices.ContainsFunc(t.Validation.Folds, func(f Fold) bool { return f.Chosen >= 0 }) {
		return " (without a fifth of the tasks, too few are left to choose)"
	}
	return fmt.Sprintf(" (chosen in %d of %s)", t.Validation.Agree, page.Plural(len(t.Validation.Folds), "fold", "folds"))
}

// guessed is the best guess in a line, "" where there is none.
func (t *Tuning) guessed(quote func(string) string) string {
	g := t.Guess
	if g == nil {
		return ""
	}
	text := "best guess: " + quote(g.Name)
	switch value := objectiveForm(g.Value); {
	case g.Recorded:
		text += fmt.Sprintf(" as recorded (%s; the best that could be recommended has %s)", value, objectiveForm(g.Best))
	case g.Least:
		text += fmt.Sprintf(" (at least %s; the best that could be recommended has %s)", value, objectiveForm(g.Best))
	default:
		text += fmt.Sprintf(" (loses %d of %d runs)", g.Lost, g.Runs)
		if g.Gained > 0 {
			text = strings.TrimSuffix(text, ")") + fmt.Sprintf(", gains %d)", g.Gained)
		}
	}
	switch {
	case g.Tasks == 0:
		return text
	case g.Least:
		return fmt.Sprintf("%s, %s recorded under it would prove it", text, page.Plural(g.Tasks, "task", "tasks"))
	}
	return fmt.Sprintf("%s, %s would prove it", text, page.Plural(g.Tasks, "task", "tasks"))
}

// scores are what the score becomes and what it is today, or in the recording
// where there is no other today; "" where it is not known.
func (t *Tuning) scores(quote func(string) string) string {
	now := t.Recommended.scoreText(t.Terms.Score)
	if now == "" {
		return ""
	}
	text := quote(t.Terms.Score) + " " + now
	before, as, from := t.Recording, ", as recorded", " as recorded"
	if t.Today != nil && !t.Unchanged {
		before, as, from = t.Today, ", as today", ""
	}
	if before == nil {
		return text
	}
	switch was := before.scoreText(t.Terms.Score); was {
	case "":
		return text
	case now:
		return text + as
	default:
		return text + " instead of " + was + from
	}
}

// scoreText is the mean of a score, or between which numbers it lies.
func (c *Choice) scoreText(score string) string {
	form := func(v page.Value) string { return page.Score(v, 3) }
	for i := range c.Scores {
		switch s := &c.Scores[i]; {
		case s.Name != score:
		case s.Mean.Known():
			return form(s.Mean)
		case s.Bounds.Low.Known() && s.Bounds.High.Known():
			return s.Bounds.Text(form)
		}
	}
	return ""
}

// reference names what losses are counted against.
func (t *Tuning) reference(quote func(string) string) string {
	if t.References > 1 {
		return quote(t.Reference) + " as recorded"
	}
	return "the recording"
}

// kept says what becomes of the recorded successes.
func (t *Tuning) kept(quote func(string) string) string {
	r := t.Recommended
	if r.scored(t.Terms.Score) == 0 {
		return "whether it loses successes is not known, because no run is scored"
	}
	lost := "against " + t.reference(quote) + " no success is lost"
	if r.Lost > 0 {
		lost = fmt.Sprintf("against %s %d of %s %s", t.reference(quote), r.Lost, page.Plural(r.Runs, "run", "runs"), verb(r.Lost, "loses its success", "lose their success"))
	}
	if r.Gained > 0 {
		lost += fmt.Sprintf(", %d %s one", r.Gained, verb(r.Gained, "gains", "gain"))
	}
	if t.Bound != nil && t.Bound.Most.Known() {
		lost += " (" + t.Bound.atMost() + ", 95% sure)"
	}
	return lost
}

// atMost is the bound in words.
func (b *Bound) atMost() string {
	switch most := b.Most.Number; {
	case !b.Net:
		return "at most " + precisely(b.Most) + " of the runs"
	case most < 0:
		return "the mean score rises by at least " + page.Score(page.Known(-most), 3)
	}
	return "the mean score falls by at most " + page.Score(b.Most, 3)
}

// precisely shows a share with a digit behind the point.
func precisely(v page.Value) string {
	if !v.Known() {
		return page.Score(v, 1)
	}
	return page.Score(page.Value{Number: v.Number * 100, Missing: v.Missing}, 1) + "%"
}

// saved says what 1,000 runs save against today's configuration, or against the
// recording where there is none or it stays: money and time, else what is known.
func (t *Tuning) saved(quote func(string) string) string {
	v := t.versus()
	if v == nil {
		return ""
	}
	var less, more []string
	tell := func(quantity string) {
		text, saves := v.savedOf(quantity)
		switch {
		case text == "":
		case saves:
			less = append(less, text)
		default:
			more = append(more, text)
		}
	}
	tell("cost_usd")
	for _, quantity := range []string{"tokens", "iterations"} {
		if len(less)+len(more) == 0 {
			tell(quantity)
		}
	}
	tell("latency_s")
	if v.What == "today" {
		return inAll(less, more, "today")
	}
	return inAll(less, more, t.reference(quote))
}

// inAll is what 1,000 runs take less and more.
func inAll(less, more []string, against string) string {
	var parts []string
	if len(less) > 0 {
		parts = append(parts, strings.Join(less, " and ")+" less")
	}
	if len(more) > 0 {
		parts = append(parts, strings.Join(more, " and ")+" more")
	}
	if len(parts) == 0 {
		return ""
	}
	return "1,000 runs take " + strings.Join(parts, ", but ") + " than " + against
}

// versus is the comparison that matters more to a reader.
func (t *Tuning) versus() *Versus {
	var found *Versus
	for i := range t.Against {
		v := &t.Against[i]
		if v.What == "today" && !t.Unchanged {
			return v
		}
		if v.What != "today" {
			found = v
		}
	}
	return found
}

// savedOf is how much less or more is taken of a quantity, "" where that is not
// known or nothing changes.
func (v *Versus) savedOf(quantity string) (text string, saves bool) {
	for i := range v.Saved {
		s := &v.Saved[i]
		if s.Quantity != quantity || !s.Saved.Known() || s.Saved.Number == 0 {
			continue
		}
		text = amountForm(quantity)(page.Known(math.Abs(s.Saved.Number)))
		if quantity == "iterations" || quantity == "tokens" {
			text += " " + quantity
		}
		if share := v.share(quantity); share.Known() {
			text += " (" + page.Percent(page.Known(math.Abs(share.Number))) + ")"
		}
		return text, s.Saved.Number > 0
	}
	return "", false
}

// share is the part of a quantity that is saved.
func (v *Versus) share(quantity string) page.Value {
	for i := range v.All {
		d := &v.All[i]
		if d.Quantity == quantity && d.Base.Known() && d.New.Known() && d.Base.Number > 0 {
			return page.Known(1 - d.New.Number/d.Base.Number)
		}
	}
	return page.Missing(page.Nothing)
}

// amountForm is how a quantity is shown; of an amount of no unit its digits.
func amountForm(quantity string) func(page.Value) string {
	switch quantity {
	case "cost_usd":
		return func(v page.Value) string { return page.Dollars(v, 2) }
	case "latency_s":
		return page.Seconds
	}
	return page.Whole
}

// plain are words and numbers that no format takes for anything else.
var plain = regexp.MustCompile(`^\(?(?:[A-Za-z0-9]+(?:[_'-][A-Za-z0-9]+)*'?|[0-9]+\.[0-9]+%?|[0-9]+%|=|-)[,:;.)]*$`)

// plainly quotes those words of a sentence that may come from outside.
func plainly(sentence string, quote func(string) string) string {
	words := strings.Split(sentence, " ")
	for i, word := range words {
		if word != "" && !plain.MatchString(word) {
			words[i] = quote(word)
		}
	}
	return strings.Join(words, " ")
}

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
	LittleSaved reports.WarningKind = "little_saved"     // Name: the quantity, More: its change
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
	if name, change := t.littleSaved(); name != "" {
		notes = append(notes, Note{Kind: LittleSaved, Name: name, More: change})
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

// littleSaved is the quantity that is saved, and its change, where that is shown to be too
// little to matter, and nothing that is scored gets better; "" where it is not so.
func (t *Tuning) littleSaved() (quantity, change string) {
	v := t.versus()
	if v == nil || v.What != "today" || t.Recommended == nil {
		return "", ""
	}
	for i := range v.All {
		d := &v.All[i]
		switch cost, _, _ := strings.Cut(t.Terms.Cost, "."); {
		case d.isScore() && d.Verdict == compare.Better:
			return "", ""
		case !d.isScore() && d.Verdict == compare.Same && d.Change.Number < 0 && (d.Quantity == cost || d.Quantity == cost+"_s"):
			quantity, change = d.Quantity, page.Percent(page.Known(-d.Change.Number))
		}
	}
	return quantity, change
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
	case LittleSaved:
		return fmt.Sprintf("little is saved: %s fall by %s from task to task, which counts as the same (within %s); a change is hardly worth it", quote(n.Name), n.More, page.Percent(page.Known(compare.DefaultRatioMargin)))
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

// costForm is how the cost of the choice is shown, money with the digits that all
// of these take.
func (t *Tuning) costForm(all ...page.Value) func(page.Value) string {
	switch t.Terms.Cost {
	case "cost_usd.mean", "cost_usd.total", "cost_usd.sum":
		return dollarForm(all...)
	case "latency.mean", "latency.sum", "latency.total", "latency.p50", "latency.p95":
		return page.Seconds
	}
	return finely
}

// finely shows a number that is none of money and time: whole ones as they are,
// small ones with two digits behind the point.
func finely(v page.Value) string {
	switch x := math.Abs(v.Number); {
	case !v.Known(), x >= 1e6:
		return page.Whole(v)
	case x == math.Trunc(x):
		return fmt.Sprintf("%.0f", v.Number)
	case x < 10:
		return page.Score(v, 2)
	case x < 1000:
		return page.Score(v, 1)
	}
	return page.Whole(v)
}

// dollarForm shows amounts of money with the digits that all of these take.
func dollarForm(all ...page.Value) func(page.Value) string {
	digits := page.DollarDigits(slices.Values(all))
	return func(v page.Value) string { return page.Dollars(v, digits) }
}

// meanCosts are the costs by which candidates are chosen.
func (t *Tuning) meanCosts() (all []page.Value) {
	for row := range t.choices() {
		all = append(all, row.ChoiceCost)
	}
	for i := range t.Front {
		all = append(all, t.Front[i].ChoiceCost)
	}
	return all
}

// extraCost shows a change of the cost of the choice.
func (t *Tuning) extraCost() func(page.Value) string {
	form := t.costForm(t.meanCosts()...)
	return func(v page.Value) string {
		if !v.Known() || v.Number <= 0 {
			return form(v)
		}
		return "+" + form(v)
	}
}

// objectiveForm shows a number that may be a score or anything else.
func objectiveForm(v page.Value) string {
	if v.Known() && (v.Number > 1.5 || v.Number < -1.5) {
		return page.Whole(v)
	}
	return page.Score(v, 3)
}

// objectiveName is the objective, by the name of the score where it is its mean.
func (o *Terms) objectiveName() string {
	if o.isScore() {
		return o.Score
	}
	return o.Objective
}

// isScore says that the objective is the mean of the score that is shown first.
func (o *Terms) isScore() bool {
	return o.Score != "" && (o.Objective == fmt.Sprintf("scores[%q].mean", o.Score) || o.Objective == "scores."+o.Score+".mean")
}

// isShown says that the cost is a mean that is shown anyway.
func (o *Terms) isShown() bool {
	return slices.Contains([]string{"cost_usd.mean", "tokens.mean", "iterations.mean", "latency.mean"}, o.Cost)
}
