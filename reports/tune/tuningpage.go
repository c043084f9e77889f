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
	"choice", "changes", "differences", "front", "folds", "limits", "curve", "ranges", "all",
}

func (t *Tuning) About() (kind, suite string) { return "tune", t.Suite }

// Heading says what was tried on what.
func (t *Tuning) Heading() page.Words {
	tried := page.Plural(t.Tried.Candidates, "configuration tried", "configurations tried")
	parts := []string{page.Foreign(t.Suite)}
	if t.Tuned != "" {
		parts = append(parts, "configuration "+page.Foreign(t.Tuned))
	}
	parts = append(parts, reports.Size(t.Tasks, t.Clusters), page.Plural(t.Runs, "recorded run", "recorded runs"), tried)
	if t.PricesAsOf != "" {
		parts = append(parts, "prices as of "+page.Foreign(t.PricesAsOf))
	}
	return page.Words(strings.Join(parts, " · "))
}

func (t *Tuning) Remark() page.Words {
	return page.SimulatedBy(t.Simulated)
}

func (t *Tuning) Tables(page.Audience) []page.Table {
	return []page.Table{
		t.choiceTable(), t.changesTable(), t.differencesTable(), t.frontTable(), t.foldsTable(),
		t.limitsTable(), t.curveTable(), t.rangesTable(), t.allTable(),
	}
}

// WholeWarnings are all notes but those in cells.
func (t *Tuning) WholeWarnings() []page.Warning { return page.Warnings(t.wholeNotes()) }

// Warned are all notes on the tuning, and those on its configurations.
func (t *Tuning) Warned() iter.Seq2[string, page.Warning] {
	all := reports.NotedOn(nil, "", t.wholeNotes())
	for row := range t.choices() {
		all = reports.NotedOn(all, row.Name, row.Warnings)
	}
	return all.Each
}

// checkGroup is the group of the only check of a tuning.
const checkGroup = "tune"

// Checks ask whether there is something to recommend.
func (t *Tuning) Checks() iter.Seq[page.Check] {
	a := t.Answer()
	return slices.Values([]page.Check{{Group: checkGroup, Name: "recommended", State: a.State, Message: a.InOneLine().Raw(), Loud: true}})
}

// Facts are the parameters that are recommended.
func (t *Tuning) Facts(group string) (facts []page.Fact) {
	if group != checkGroup || t.Recommended == nil {
		return nil
	}
	return append([]page.Fact{{Name: "configuration", Value: t.Recommended.Name}}, factsOf(t.Recommended.Params)...)
}

func (t *Tuning) WriteJSON(w io.Writer) error { return page.WriteObject(w, t) }

// JSONSchema describes the JSON of tunings in JSON Schema (draft 2020-12).
func JSONSchema() ([]byte, error) { return reports.SchemaOf[Tuning](Schema) }

// Answer is what to do, and in a sentence each what becomes of the score, of the spending
// and of the recorded successes.
func (t *Tuning) Answer() page.Answer {
	switch {
	case t.Runs == 0:
		return page.Answer{State: page.Errored, Text: "no run counts"}
	case t.Recommended == nil && t.Guess == nil:
		return page.Answer{State: page.Failed, Text: page.Words("nothing is recommended: " + plainly(t.WhyNone))}
	case t.Recommended == nil:
		return page.Answer{State: page.Failed, Text: page.Words("nothing is recommended: " + plainly(t.WhyNone)), More: []page.Words{page.Words(t.Guess.text())}}
	}
	advice := "take "
	if t.Unchanged {
		advice = "keep today's limits, "
	}
	a := page.Answer{State: page.Passed, Text: page.Words(advice + page.Foreign(spaced(t.Recommended.Name)) + t.stable())}
	for _, sentence := range append([]string{t.scores(), t.saved(), t.lucky()}, t.kept()...) {
		if sentence != "" {
			a.More = append(a.More, page.Words(sentence))
		}
	}
	return a
}

// spaced is the name of a configuration that can be broken into lines.
func spaced(name string) string { return strings.ReplaceAll(name, ",", ", ") }

// stable says in how many folds the same was chosen, "" where there are none.
func (t *Tuning) stable() string {
	if t.Validation == nil {
		return ""
	}
	if !slices.ContainsFunc(t.Validation.Folds, func(f Fold) bool { return f.Chosen >= 0 }) {
		return " (too few tasks to test the choice on folds)"
	}
	return fmt.Sprintf(" (chosen in %d of %s)", t.Validation.Agree, page.Plural(len(t.Validation.Folds), "fold", "folds"))
}

func (g *Guess) text() string {
	name, value, best := page.Foreign(spaced(g.Name)), objectiveForm(g.Value), objectiveForm(g.Best)
	text, proof := "best guess: "+name, " would prove it"
	switch {
	case g.Unchanged:
		text = "best guess: keep today's limits; "
		switch {
		case g.Cheapest && g.Unjudged > 0:
			return text + page.Plural(g.Unjudged, "other", "others") + " cannot be judged"
		case g.Cheapest:
			return text + "no other that was tried is cheaper"
		case g.Tasks == 0: // there are enough of them
			return text + "the cheaper ones that were tried lose too much"
		}
		return text + "cheaper ones take at least " + page.Plural(g.Tasks, "task", "tasks") + " to prove"
	case g.Recorded:
		text += fmt.Sprintf(" as recorded has %s, the best that could be recommended has %s", value, best)
	case g.Least:
		text += fmt.Sprintf(" has at least %s, the best that could be recommended has %s", value, best)
		proof = " recorded under it would prove it"
	default:
		loses := " loses"
		if g.Kept {
			text, loses = "best guess: keep today's limits", ", which lose"
		}
		text += fmt.Sprintf("%s %d of %s", loses, g.Lost, page.Plural(g.Runs, "run", "runs"))
		if g.Gained > 0 {
			text += fmt.Sprintf(" and gains %d", g.Gained)
		}
	}
	switch {
	case g.Tasks > 0:
		return text + "; " + page.Plural(g.Tasks, "task", "tasks") + proof
	case g.Recorded:
		return text
	}
	return text + "; it is not proven"
}

// scores are what the score becomes and what it is today, or in the recording
// where there is no other today; "" where it is not known.
func (t *Tuning) scores() string {
	now := t.Recommended.scoreText(t.Terms.Score)
	if now == "" {
		return ""
	}
	before, as := t.Recording, "as recorded"
	if t.Today != nil && !t.Unchanged {
		before, as = t.Today, "today"
	}
	was := ""
	if before != nil {
		was = before.scoreText(t.Terms.Score)
	}
	switch text := page.Foreign(t.Terms.Score) + " is " + now; was {
	case "":
		return text
	case now:
		return text + ", the same as " + strings.TrimPrefix(as, "as ")
	default:
		return fmt.Sprintf("%s; %s it is %s", text, as, was)
	}
}

// scoreText is the mean of a score, or between which numbers it lies.
func (c *Choice) scoreText(name string) string {
	for i := range c.Scores {
		switch s := &c.Scores[i]; {
		case s.Name != name:
		case s.Mean.Known():
			return score(s.Mean)
		case s.Bounds.Low.Known() && s.Bounds.High.Known():
			return s.Bounds.Text(score)
		}
	}
	return ""
}

// saved says what 1,000 runs save against today's configuration, or against the
// recording where there is none or it stays: money and time, else what is known.
func (t *Tuning) saved() string {
	v := t.versus()
	if v == nil {
		return ""
	}
	var less, more []string
	tell := func(quantity string) {
		switch text, saves := v.savedOf(quantity); {
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
	text := strings.Join(less, " and ") + " less"
	switch {
	case len(less)+len(more) == 0:
		return ""
	case len(less) == 0:
		text = strings.Join(more, " and ") + " more"
	case len(more) > 0:
		text += ", but " + strings.Join(more, " and ") + " more"
	}
	against := "today"
	if v.What != "today" {
		against = t.reference()
	}
	if little, _ := t.littleSaved(); little != "" {
		against += ", which counts as the same"
	}
	return "1,000 runs take " + text + " than " + against
}

// lucky says what is left of a gain on held-out tasks, where that is less than half of
// it, and where it is a loss that is shown.
func (t *Tuning) lucky() string {
	if t.Luck == nil || !t.Terms.isScore() || t.Unchanged {
		return ""
	}
	found := &t.Luck.Objective
	worse := found.HonestInterval.Known() && found.HonestInterval.High.Number < 0 && found.Apparent.Number >= 0
	if !found.Honest.Known() || !worse && !(found.Apparent.Number > 0 && found.Honest.Number < found.Apparent.Number/2) {
		return ""
	}
	return fmt.Sprintf("on held-out tasks, %s changes by %s, not %s, compared with %s", page.Foreign(t.Terms.Score), gain(found.Honest), gain(found.Apparent), overWhat(t.Luck.Over))
}

// kept are what becomes of the recorded successes, and the bound of that.
func (t *Tuning) kept() []string {
	r := t.Recommended
	text := "compared with " + t.reference() + ", no run loses its success"
	if r.Lost > 0 {
		text = fmt.Sprintf("compared with %s, %d of %s %s", t.reference(), r.Lost, page.Plural(r.Runs, "run", "runs"), verb(r.Lost, "loses its success", "lose their success"))
	}
	if r.Gained > 0 {
		text += fmt.Sprintf(" and %d %s one", r.Gained, verb(r.Gained, "gains", "gain"))
	}
	if t.Bound == nil || !t.Bound.Most.Known() {
		return []string{text}
	}
	allowed := ""
	if t.Terms.Rule == string(MaxLoss) {
		allowed = fmt.Sprintf(" (max_loss:%v)", t.Terms.Number)
	}
	return []string{text, "95% confidence: " + t.Bound.text(t.reference()) + allowed}
}

func (b *Bound) text(reference string) string {
	if b.AssumesNoRareLoss {
		return b.most(reference) + ", which assumes no rare large loss"
	}
	return b.most(reference)
}

func (b *Bound) most(reference string) string {
	switch most := b.Most.Number; {
	case !b.Net:
		return "at most " + precisely(b.Most) + " of the runs lose their success"
	case most < 0:
		return "at least " + page.Score(page.Known(-most), 3) + " above " + reference
	}
	return "at most " + page.Score(b.Most, 3) + " below " + reference
}

// reference names what losses are counted against.
func (t *Tuning) reference() string {
	if t.References > 1 {
		return page.Foreign(t.Reference) + " as recorded"
	}
	return "the recording"
}

// precisely shows a share with a digit behind the point.
func precisely(v page.Value) string {
	if !v.Known() {
		return page.Score(v, 1)
	}
	return page.Score(page.Value{Number: v.Number * 100, Missing: v.Missing}, 1) + "%"
}

// versus is the comparison that matters more to a reader.
func (t *Tuning) versus() *Versus {
	var found *Versus
	for v := range page.EachOf(t.Against) {
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
	for s := range page.EachOf(v.Saved) {
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
	for d := range page.EachOf(v.All) {
		if d.Name == quantity && d.Base > 0 && d.Value(d.New).Known() {
			return page.Known(1 - float64(d.New/d.Base))
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
func plainly(sentence string) string {
	words := strings.Split(sentence, " ")
	for i, word := range words {
		if word != "" && !plain.MatchString(word) {
			words[i] = page.Foreign(word)
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
	NotTried    reports.WarningKind = "not_exact"   // Count of Of candidates; Name: their labels, More: why one is not
	EndedBy     reports.WarningKind = "ended_by"    // Count of Of runs of the configuration Name; More: what stops them
	CannotTake  reports.WarningKind = "cannot_take" // Count exact candidates; More: why
	OffTheFront reports.WarningKind = "off_the_front"
	ByRatios    reports.WarningKind = "by_ratios"
	OnTheFront  reports.WarningKind = "on_the_front"
	Alone       reports.WarningKind = "alone"
	AfterAll    reports.WarningKind = "after_the_choice" // Name: a BoundMethod, Count: its tests
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
	// ExcludedBy: the constraint Name excludes Count of Of exact configurations.
	ExcludedBy reports.WarningKind = "excluded"
	// OneStep: Count of Of configurations one step from the recommended one lose more; Name the most, by More.
	OneStep reports.WarningKind = "one_step"
	// LossByUnits: bounds of losses are by Count tasks or clusters (Name).
	LossByUnits reports.WarningKind = "loss_by"
)

// wholeNotes are how it was chosen and how far that can be trusted, then which candidates
// could not be chosen, then the notes on the recording.
func (t *Tuning) wholeNotes() (notes []Note) {
	add := func(is bool, n Note) {
		if is {
			notes = append(notes, n)
		}
	}
	add(t.Why != "", Note{Kind: ChosenBy, Name: t.Terms.Cost, More: t.Why})
	add(true, Note{Kind: ByObjective, Name: t.Terms.Objective, Count: count(t.Terms.Minimize)})
	little, change := t.littleSaved()
	add(little != "", Note{Kind: LittleSaved, Name: little, More: change})
	add(t.Terms.WhyCost != "", Note{Kind: OtherCost, Name: t.Terms.Cost, More: t.Terms.WhyCost})
	if t.Bound != nil {
		add(true, Note{Kind: AfterAll, Name: string(t.Bound.Method), Count: t.Bound.Tests})
	}
	add(t.Runs > 0, Note{Kind: Against, Name: t.Terms.Score})
	for _, of := range []struct {
		what string
		*Choice
	}{{"the recommended configuration", t.Recommended}, {"today's configuration", t.Today}} {
		if of.Choice != nil && len(of.Stops) > 0 && (of.Choice == t.Recommended || !t.Unchanged) {
			add(true, Note{Kind: EndedBy, Name: of.what, Count: of.Stops[0].Runs, Of: of.Runs, More: of.Stops[0].Name})
		}
	}
	if l := t.Luck; l != nil && !t.Unchanged {
		add(l.Objective.Luck.Known(), Note{Kind: LuckyGoal, Name: l.Over, More: l.Objective.told(1, gain)})
		add(l.Cost.Luck.Known(), Note{Kind: LuckyCost, Name: l.Over, More: l.Cost.told(-1, plus(t.costForm(l.Cost.Apparent, l.Cost.Luck)))})
	}
	tried := &t.Tried
	add(tried.Candidates > tried.Exact, Note{Kind: NotTried, Count: tried.Candidates - tried.Exact, Of: tried.Candidates, Name: tried.labels(), More: tried.WhyNotExact})
	add(tried.Faulty > 0, Note{Kind: CannotTake, Count: tried.Faulty, More: "some of their runs would have a fault"})
	add(tried.Unscored > 0, Note{Kind: CannotTake, Count: tried.Unscored, More: tighterUnscored})
	add(tried.Costless > 0, Note{Kind: CannotTake, Count: tried.Costless, More: "their cost is unknown"})
	add(tried.Unmeasured > 0, Note{Kind: CannotTake, Count: tried.Unmeasured, More: "the objective is unknown"})
	return append(notes, t.Notes...)
}

// littleSaved is the quantity that is saved, and its change, where that is shown to be too
// little to matter, and nothing that is scored gets better; "" where it is not so.
func (t *Tuning) littleSaved() (quantity, change string) {
	v := t.versus()
	if v == nil || v.What != "today" || t.Recommended == nil {
		return "", ""
	}
	for d := range page.EachOf(v.All) {
		switch cost, _, _ := strings.Cut(t.Terms.Cost, "."); {
		case d.Score && d.Verdict == compare.Better:
			return "", ""
		case d.Verdict == compare.Same && (d.Name == cost || d.Name == cost+"_s"):
			if share := v.share(d.Name); share.Known() && share.Number > 0 && share.Number <= compare.DefaultRatioMargin {
				quantity, change = d.Name, page.Percent(share)
			}
		}
	}
	return quantity, change
}

// told is a change as it looks where the choice was made, and as it is on held-out tasks;
// sign is -1 where a gain is a decrease.
func (g *Gain) told(sign float64, form func(page.Value) string) string {
	turned := func(v page.Value) page.Value {
		v.Number *= sign
		return v
	}
	text := fmt.Sprintf("changes by %s on the tasks of the choice, and by %s", form(turned(g.Apparent)), form(turned(g.Honest)))
	if i := g.HonestInterval; i.Known() && sign < 0 {
		text += " (" + page.Range{Low: turned(i.High), High: turned(i.Low)}.Text(form) + ")"
	} else if i.Known() {
		text += " (" + i.Text(form) + ")"
	}
	text += " on held-out tasks"
	if g.Luck.Number > 0 {
		text += "; the difference is overfitting"
	}
	return text
}

func (t *Tried) labels() string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(t.Bounded, "bounded")
	add(t.NeedsCalls, "needing calls")
	add(t.Counterfactual, "counterfactual")
	return strings.Join(parts, ", ")
}

// Note is something that a reader of a tuning must know. It has the kinds of the
// notes on replays, those above and those that the choosing makes.
type Note ReplayNote

// Serious says that numbers are missing or in question.
func (n Note) Serious() bool { return ReplayNote(n).Serious() }

// Text is the note for people.
func (n Note) Text() page.Words { return ReplayNote(n).Text() }

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
func (t *Tuning) extraCost() func(page.Value) string { return plus(t.costForm(t.meanCosts()...)) }

// plus shows increases with their sign.
func plus(form func(page.Value) string) func(page.Value) string {
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
