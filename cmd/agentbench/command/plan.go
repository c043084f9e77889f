package command

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/suites"
)

func (p *program) planCommand() *cobra.Command {
	var f selectionFlags
	var power powerFlags
	c := &cobra.Command{
		Use:     "plan SUITE|DIR",
		Short:   "Say what a suite would run and cost at most, or what of a folder's budget is left",
		GroupID: "run",
		Long: `Of a suite: its runs, and what they call and cost at most, without running it.

Of a result folder: its ledger, which is what of the suite's budget was paid, what is in
doubt because no answer came, and what is free.`,
		Args: arguments(1, 1, "one suite, or one result folder"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := power.validate(); err != nil {
				return err
			}
			if resultFolder(args[0]) && !there(filepath.Join(args[0], suites.File)) {
				if c.Flags().NFlag() > 0 {
					return exit.Usage("agentbench plan "+exit.ShellWord(args[0])+" shows its ledger", "%s is a result folder: the flags of plan are for suites", args[0])
				}
				return p.planFolder(args[0])
			}
			o, planned, err := p.openPlan(args[0], &f)
			if err != nil {
				return err
			}
			p.warn(o, nil)
			notes, err := p.powerNotes(o, planned, &power)
			if err != nil {
				return err
			}
			return p.tellPlan(o, planned, notes)
		},
	}
	f.declare(c)
	power.declare(c)
	return c
}

// tellPlan prints the runs of a plan and their worst case.
func (p *program) tellPlan(o *opened, planned *plan.Plan, notes []string) error {
	worst, err := worstCases(o, planned)
	if err != nil {
		return exit.With(exit.WrongSpec, "", "%w", err)
	}
	total := worst.runs()
	if planned.Part != nil {
		fmt.Fprintln(p.out, partText(planned))
	}
	fmt.Fprintf(p.out, "%s: %s × %s × %s = %s\n", page.Visible(o.Suite.Name), page.Plural(planned.Tasks, "task", "tasks"),
		page.Plural(len(planned.Configurations), "configuration", "configurations"), page.Plural(planned.Trials, "trial", "trials"), page.Plural(planned.Runs(), "run", "runs"))
	fmt.Fprintf(p.out, "at most %s, %s, %s:\n\n", page.Plural(int(total.Iterations), "iteration", "iterations"), page.Plural(int(total.Calls), "call", "calls"), spending(total))
	if _, err := page.Terminal(p.out, planTable(planned, worst.each), page.Screen{Width: p.width(p.out)}); err != nil {
		return exit.Unmeasured(err)
	}
	if err := p.tellScoring(worst); err != nil {
		return err
	}
	p.tellNotes(append(notes, planNotes(o.Suite, planned, worst)...))
	return nil
}

// worstCases are the worst cases of all runs and scores. All trials have the same.
func worstCases(o *opened, planned *plan.Plan) (*worstCase, error) {
	models, asking := modelsOf(o.Suite), plan.AskingOf(o.Suite)
	shared := plan.SharedBy(planned.Configurations, models)
	w := &worstCase{each: make([]plan.Worst, len(planned.Configurations)), asking: asking, scoring: make([]plan.Scoring, len(asking))}
	for item, err := range planned.Once().Items(o.Tasks()) {
		if err != nil {
			return nil, err
		}
		c, length := item.Configuration, characters(item.Task.Input)
		w.each[c] = w.each[c].Plus(plan.WorstOfRun(planned.Configurations[c].Loop, models, length))
		for i := range asking {
			w.scoring[i] = w.scoring[i].Plus(asking[i].WorstOfRun(&planned.Configurations[c], models, length, characters(item.Task.Target)))
		}
		if c == 0 {
			w.paid = w.paid.Plus(shared.WorstOfTask(models, length))
		}
	}
	w.repeat(int64(planned.Trials))
	return w, nil
}

func (w *worstCase) repeat(trials int64) {
	for c := range w.each {
		w.each[c] = w.each[c].Times(trials)
	}
	for i := range w.scoring {
		w.scoring[i] = w.scoring[i].Times(trials)
	}
	w.paid = w.paid.Times(trials)
}

// characters is the length of an input as it stands in a prompt.
func characters(input any) int {
	if text, ok := input.(string); ok {
		return len(text)
	}
	text, err := expr.AppendJSON(nil, input)
	if err != nil {
		return 0
	}
	return len(text)
}

// planTable has for each configuration the limits of its phases or strategies,
// their bare sum, the limit of a run that is in force, and the worst case of all
// its runs.
func planTable(planned *plan.Plan, each []plan.Worst) page.Grid {
	t := page.Grid{Columns: []page.GridColumn{
		{Head: "configuration"}, {Head: "stages", List: true}, {Head: "sum", Right: true}, {Head: "iterations\nper run", Right: true},
		{Head: "calls", Right: true}, {Head: "tokens", Right: true}, {Head: "cost", Right: true},
	}}
	for i := range planned.Configurations {
		c := &planned.Configurations[i]
		t.Rows = append(t.Rows, []string{
			page.Visible(c.Name), stages(c.Loop), sumOfLimits(c.Loop), limitOf(c.Loop),
			fmt.Sprint(each[i].Calls), tokens(each[i]), cost(each[i]),
		})
	}
	return t
}

// stages are the phases or strategies with their limits: planning 1, execution 5.
func stages(l *spec.Loop) string {
	var parts []string
	for _, s := range l.Stages() {
		switch {
		case s.Name == "":
		case s.Limit == 0:
			parts = append(parts, page.Visible(s.Name))
		default:
			parts = append(parts, fmt.Sprintf("%s %d", page.Visible(s.Name), s.Limit))
		}
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

// sumOfLimits is the bare sum of the limits of phases or strategies.
func sumOfLimits(l *spec.Loop) string {
	_, _, sum := l.EffectiveMax()
	if sum == 0 {
		return "-"
	}
	return fmt.Sprint(sum)
}

// limitOf is the limit of a run that is in force.
func limitOf(l *spec.Loop) string {
	if limit := plan.MaxIterations(l); limit > 0 {
		return fmt.Sprint(limit)
	}
	return "none"
}

// bound marks a number that is no upper bound.
func bound(w plan.Worst, number string) string {
	if w.Unbounded > 0 || w.Programs > 0 || w.Open > 0 {
		return "≥ " + number
	}
	return number
}

func tokens(w plan.Worst) string {
	if w.Calls == 0 && w.Programs > 0 {
		return "unknown"
	}
	return bound(w, fmt.Sprint(w.Tokens))
}

func cost(w plan.Worst) string {
	switch {
	case w.Unpriced > 0:
		return "unpriced"
	case w.Calls == 0 && w.Programs > 0:
		return "unknown"
	}
	return bound(w, page.USD(w.Cost.Dollars()))
}

func spending(w plan.Worst) string {
	switch {
	case w.Calls == 0 && w.Programs > 0:
		return "tokens and cost unknown"
	case w.Unpriced > 0:
		return tokens(w) + " tokens, cost unknown"
	}
	return tokens(w) + " tokens, " + cost(w)
}

// planNotes say what configurations share, what the numbers leave out, whether the
// budget covers them, and which parameters of tune need runs of their own.
func planNotes(s *spec.Suite, planned *plan.Plan, w *worstCase) []string {
	runs, scores := w.runs(), w.scores()
	return slices.Concat(sharedNotes(runs, w.paid), leftOut(s, runs, scores), budgetNotes(s, planned, w.paid.Plus(scores.Worst)), tuneNotes(s))
}

func sharedNotes(total, paid plan.Worst) []string {
	if paid.Calls >= total.Calls {
		return nil
	}
	return []string{fmt.Sprintf("configurations that begin alike share calls: at most %d of the %d are made and paid (%s), "+
		"fewer where runs stop early; with --cache off all of them", paid.Calls, total.Calls, spending(paid))}
}

// tellNotes prints notes below a table, in lines that fit.
func (p *program) tellNotes(notes []string) {
	if len(notes) > 0 {
		fmt.Fprintln(p.out)
	}
	for _, note := range notes {
		for i, line := range page.Wrap(note, p.width(p.out)-2) {
			fmt.Fprintln(p.out, []string{"- ", "  "}[min(i, 1)]+line)
		}
	}
}

func leftOut(s *spec.Suite, runs plan.Worst, scores plan.Scoring) []string {
	notes, total := scoringNotes(scores), runs.Plus(scores.Worst)
	if total.Unbounded > 0 {
		notes = append(notes, page.Plural(int(total.Unbounded), "call has", "calls have")+" no max_output_tokens: tokens and cost are lower bounds")
	}
	if total.Unpriced > 0 {
		notes = append(notes, page.Plural(int(total.Unpriced), "call has", "calls have")+" no price: the cost is unknown")
	}
	if total.Programs > 0 {
		notes = append(notes, page.Plural(int(total.Programs), "run of a program is", "runs of programs are")+" not in the tokens and the cost")
	}
	if runs.Open > 0 {
		notes = append(notes, page.Plural(int(runs.Open), "call sends", "calls send")+" along what tools gave: tokens and cost are lower bounds")
	}
	if total.Handed > 0 {
		notes = append(notes, "one task to each delegate in every step is counted, "+page.Plural(int(total.Handed), "task", "tasks")+"; an agent may hand out more")
	}
	if s.PricesAsOf != "" {
		notes = append(notes, "prices as of "+s.PricesAsOf+", from "+page.Visible(s.Prices))
	}
	return notes
}

// budgetNotes say whether the budget of the suite covers the worst case, and
// whether it may be exceeded. Only what is paid counts against it.
func budgetNotes(s *spec.Suite, planned *plan.Plan, total plan.Worst) (notes []string) {
	short := func(is bool, what string) {
		if is {
			notes = append(notes, "the worst case exceeds the budget of "+what+": the suite may stop before its end")
		}
	}
	b := &s.Budget
	short(b.CostUSD > 0 && total.Cost > stop.Dollars(b.CostUSD), page.USD(b.CostUSD))
	short(b.Tokens > 0 && total.Tokens > b.Tokens, fmt.Sprintf("%d tokens", b.Tokens))
	short(b.Calls > 0 && total.Calls > b.Calls, fmt.Sprintf("%d calls", b.Calls))
	if note := overshootNote(s, plan.OvershootOf(planned, plan.AskingOf(s), modelsOf(s), workers(s))); note != "" {
		notes = append(notes, note)
	}
	return notes
}

// overshootNote tells by how much the budget may be exceeded, where replies have
// no limit that could be reserved.
func overshootNote(s *spec.Suite, o plan.Overshoot) string {
	longer := ""
	switch {
	case o.Calls == 0:
	case s.Budget.CostUSD > 0 && o.Per1000 > 0:
		longer = page.USD(o.Per1000.Dollars())
	case s.Budget.Tokens > 0:
		longer = fmt.Sprintf("%d tokens", 1000*o.Calls)
	}
	if longer == "" {
		return ""
	}
	return fmt.Sprintf("without max_output_tokens, %d tokens are reserved for a reply: %s in flight may exceed the budget by %s for each 1000 tokens that replies are longer",
		pace.DefaultMaxOutput, page.Plural(o.Calls, "call", "calls"), longer)
}

func modelsOf(s *spec.Suite) map[string]*spec.Model {
	models := map[string]*spec.Model{}
	for i := range s.Models {
		models[s.Models[i].Key] = &s.Models[i].Value
	}
	return models
}

// powerFlags ask how large a suite has to be.
type powerFlags struct {
	difference string // as it was written
	detect     float64
	from       []string
	changed    func(flag string) bool
}

func (f *powerFlags) declare(c *cobra.Command) {
	c.Flags().StringVar(&f.difference, "detect", "", "say how many tasks or trials it takes to show such a difference of the score, for example 0.05 or 5%")
	c.Flags().StringArrayVar(&f.from, "from", nil, "earlier results or a baseline by whose variance to go: of two configurations or more, or twice, as diff BASE NEW")
	f.changed = c.Flags().Changed
}

func (f *powerFlags) validate() (err error) {
	if len(f.from) > 2 {
		return exit.Usage("agentbench plan SUITE --from BASE --from NEW", "--from is given %d times", len(f.from))
	}
	if !f.changed("detect") {
		return nil
	}
	number, isShare := strings.CutSuffix(f.difference, "%")
	if f.detect, err = strconv.ParseFloat(number, 64); isShare {
		f.detect /= 100
	}
	if err != nil || !(f.detect > 0 && f.detect < 1) {
		return exit.Usage("0.05 or 5% is 5 points", "--detect %s: want a number between 0 and 1", f.difference)
	}
	return nil
}

// power is what tests are planned for: a level of 5 % and a power of 80 %.
var power = stats.Power{Alpha: 0.05, Power: 0.8}

// powerNotes say which differences a plan can show, and what others would take.
func (p *program) powerNotes(o *opened, planned *plan.Plan, f *powerFlags) ([]string, error) {
	if f.from == nil && (len(o.Suite.Scorers) == 0 || planned.Tasks < 1 || planned.Part != nil) {
		return nil, nil
	}
	if f.from != nil {
		return p.measuredPower(planned, f)
	}
	notes := []string{assumedPower(planned.Tasks, planned.Trials)}
	if f.detect > 0 {
		notes = append(notes, assumedNeed(f.detect))
	}
	return notes, nil
}

// shares of the tasks at which two configurations may end differently: what
// decides how sure a difference of success rates is.
var discordance = []float64{0.05, 0.10, 0.15, 0.25}

// assumedPower is the smallest difference that so many tasks can show, by the
// share of them that come out differently. No difference is larger than that
// share.
func assumedPower(tasks, trials int) string {
	head := page.Plural(tasks, "task", "tasks") + " can show "
	least := leastDifference(tasks)
	if least >= 1 {
		return head + "no difference of success rates"
	}
	var parts []string
	for _, share := range discordance {
		if smallest, ok := power.Detectable(share, float64(tasks)); ok && smallest <= share {
			parts = append(parts, fmt.Sprintf("%s where %s of them come out differently", points(smallest), percent(share)))
		}
	}
	if len(parts) == 0 {
		return head + "no difference of success rates below " + points(least) + atLevel
	}
	text := head + "a difference of success rates of " + strings.Join(shortened(parts), ", ") + ", none below " + points(least) + atLevel
	if trials > 1 {
		text += fmt.Sprintf("; %d trials of each make that %.0f%% of it at best", trials, 100/math.Sqrt(float64(trials)))
	}
	return text
}

const atLevel = " (at 5%, with a power of 80%)"

// leastDifference is the one that shows where only tasks that make it come out
// differently: then it equals their share.
func leastDifference(tasks int) float64 {
	at1, ok := power.Detectable(1, float64(tasks))
	if !ok {
		return 1
	}
	return at1 * at1
}

// assumedNeed is how many tasks it takes to show a difference of success rates,
// by the share of them that come out differently, at least six of them.
func assumedNeed(difference float64) string {
	shares := slices.DeleteFunc(slices.Clone(discordance), func(share float64) bool { return share < difference })
	if len(shares) == 0 {
		shares = []float64{difference}
	}
	var parts []string
	for _, share := range shares {
		needed, ok := power.NeededMcNemar((share+difference)/2, (share-difference)/2)
		parts = append(parts, fmt.Sprintf("%s where %s of them come out differently", manyOf(max(needed, fewestDiffering/share), ok, "task", "tasks"), percent(share)))
	}
	return fmt.Sprintf("to show a difference of %s takes %s", points(difference), strings.Join(shortened(parts), ", "))
}

// fewestDiffering is how many tasks have to come out differently before any test
// shows a difference at 5 %.
const fewestDiffering = 6

// mostToTell is the number from which on a suite is beyond reach.
const mostToTell = 1_000_000

// manyOf is a number rounded up; ok is false where it is too large to be one.
func manyOf(n float64, ok bool, one, many string) string {
	if !ok || n > mostToTell {
		return "more than a million " + many
	}
	return page.Plural(roundUp(n), one, many)
}

// shortened says once what all parts repeat.
func shortened(parts []string) []string {
	for i := 1; i < len(parts); i++ {
		number, share, _ := strings.Cut(strings.TrimSuffix(parts[i], " of them come out differently"), " where ")
		parts[i] = strings.TrimSuffix(strings.TrimSuffix(number, " points"), " tasks") + " at " + share
	}
	return parts
}

func points(difference float64) string { return fmt.Sprintf("%.1f points", 100*difference) }

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }

// measuredPower goes by the variance of earlier records.
func (p *program) measuredPower(planned *plan.Plan, f *powerFlags) ([]string, error) {
	v, err := p.variation(f.from)
	if err != nil {
		return nil, err
	}
	notes := []string{measuredDifference(v, planned.Tasks, planned.Trials)}
	if f.detect > 0 {
		notes = append(notes, measuredNeed(v, f.detect, planned.Tasks, planned.Trials))
	}
	return notes, nil
}

// variation measures that of one place with several configurations, or that
// between two places.
func (p *program) variation(from []string) (*reports.Variation, error) {
	defer leanly()()
	at, first, err := p.readFrom(from[0])
	if err != nil {
		return nil, err
	}
	if len(from) == 2 {
		return p.variationTo(at, first, from[1])
	}
	if at.configuration != "" {
		return nil, exit.Usage("name "+exit.ShellWord(at.Path)+" alone, or two results: --from BASE --from NEW", "--from %s is one configuration, and a difference takes two", from[0])
	}
	v, err := first.Variation()
	if err != nil {
		return nil, exit.Usage("name results of two configurations with scores, or two results: --from BASE --from NEW", "--from %s: %v", from[0], err)
	}
	return v, nil
}

// variationTo measures that between a place and another one.
func (p *program) variationTo(base *place, before *reports.Report, text string) (*reports.Variation, error) {
	at, after, err := p.readFrom(text)
	if err != nil {
		return nil, err
	}
	if sameFile(base.Path, at.Path) {
		if err := (&sides{base: base, new: at}).distinct(); err != nil {
			return nil, err
		}
	}
	v, err := reports.VariationBetween(before, after, reports.DiffOptions{
		BaseName: base.text, NewName: at.text, BaseConfiguration: base.configuration, NewConfiguration: at.configuration,
	})
	if err != nil {
		return nil, exit.Usage("name two results of the same tasks, with scores", "--from %s --from %s: %v", base.text, text, err)
	}
	return v, nil
}

func (p *program) readFrom(text string) (*place, *reports.Report, error) {
	at, err := p.openPlace(text, baselineFolder)
	if err != nil {
		return nil, nil, err
	}
	r, err := collectResults(at.Results, neededRecords)
	return at, r, err
}

// measuredDifference is the smallest one of the score that a plan can show.
func measuredDifference(v *reports.Variation, tasks, trials int) string {
	size := page.Plural(tasks, "task", "tasks") + " × " + page.Plural(trials, "trial", "trials")
	by := fmt.Sprintf(" by the variance of %s on %s%s%s", page.Plural(v.Pairs, "pair", "pairs"), page.Plural(v.Tasks, "task", "tasks"), clustersOf(v), atLevel)
	variance, ok := v.Variance(trials)
	smallest, shows := power.Detectable(variance, float64(tasks))
	switch {
	case !ok || !shows:
		return size + ": nothing can be said" + by
	case smallest == 0:
		return size + " show any difference of " + page.Visible(v.Score) + ": none was seen from task to task," + by
	}
	return fmt.Sprintf("%s can show a difference of %s of %.3f%s", size, page.Visible(v.Score), smallest, by)
}

// clustersOf says that tasks depend on each other, and counts on others that do.
func clustersOf(v *reports.Variation) string {
	if v.ClusterSize <= 1 {
		return ""
	}
	return fmt.Sprintf(" in clusters of %.3g", v.ClusterSize)
}

// measuredNeed is how many tasks, or how many trials, it takes.
func measuredNeed(v *reports.Variation, difference float64, tasks, trials int) string {
	variance, _ := v.Variance(trials)
	of := page.Plural(trials, "trial", "trials")
	text := fmt.Sprintf("to show a difference of %v takes %s of %s%s", difference, neededTasks(v, variance, difference), of, clustersOf(v))
	if v.OneTrial {
		return text + "; what more trials would do is unknown, for records have one of each task"
	}
	if enough, ok := enoughTrials(v, difference, tasks); ok {
		return fmt.Sprintf("%s, or %s of %s", text, page.Plural(tasks, "task", "tasks"), manyOf(enough, true, "trial", "trials"))
	}
	return fmt.Sprintf("%s; with fewer than %s no number of trials is enough", text, neededTasks(v, v.Paired.Between, difference))
}

// neededTasks is how many tasks show a difference, at least as many as any test
// needs, however little they vary.
func neededTasks(v *reports.Variation, variance, difference float64) string {
	if variance == 0 {
		return manyOf(fewestTasks(v), true, "task", "tasks")
	}
	needed, ok := power.Needed(variance, difference)
	return manyOf(max(needed, fewestTasks(v)), ok, "task", "tasks")
}

// fewestTasks are those of as many clusters as have to come out differently.
func fewestTasks(v *reports.Variation) float64 { return fewestDiffering * v.ClusterSize }

// enoughTrials is how many trials of so many tasks show the difference.
func enoughTrials(v *reports.Variation, difference float64, tasks int) (trials float64, ok bool) {
	most, ok := power.Needed(1, difference) // tasks for a variance of 1
	left := float64(tasks)/most - v.Paired.Between
	if !ok || left <= 0 || float64(tasks) < fewestTasks(v) {
		return 0, false
	}
	return max(1, (v.Paired.WithinA+v.Paired.WithinB)/left), true
}

func roundUp(n float64) int { return int(math.Ceil(n - 1e-9)) }

// worstCase is the worst case of all runs of a plan, and of their scores.
type worstCase struct {
	each []plan.Worst // of each configuration
	// paid is what of them is to be paid where configurations share calls.
	paid    plan.Worst
	asking  []plan.Asking
	scoring []plan.Scoring // of each of them
}

// runs is the worst case of all runs together.
func (w *worstCase) runs() (total plan.Worst) {
	for i := range w.each {
		total = total.Plus(w.each[i])
	}
	return total
}

// scores is the worst case of all scores together.
func (w *worstCase) scores() (total plan.Scoring) {
	for i := range w.scoring {
		total = total.Plus(w.scoring[i])
	}
	return total
}

// tellScoring prints what scores cost at most, where scorers ask others.
func (p *program) tellScoring(w *worstCase) error {
	if len(w.asking) == 0 {
		return nil
	}
	total := w.scores()
	fmt.Fprintf(p.out, "\nscores: at most %s, %s:\n\n", page.Plural(int(total.Calls), "call", "calls"), spending(total.Worst))
	if _, err := page.Terminal(p.out, scoringTable(w), page.Screen{Width: p.width(p.out)}); err != nil {
		return exit.Unmeasured(err)
	}
	return nil
}

func scoringTable(w *worstCase) page.Grid {
	t := page.Grid{Columns: []page.GridColumn{
		{Head: "scorer"}, {Head: "asks"}, {Head: "scores", Right: true}, {Head: "calls", Right: true}, {Head: "tokens", Right: true}, {Head: "cost", Right: true},
	}}
	for i := range w.asking {
		a, s := &w.asking[i], w.scoring[i]
		known := s.Worst
		known.Programs += s.Posts // what an endpoint uses is as little known
		t.Rows = append(t.Rows, []string{page.Visible(a.Name), whoIsAsked(a), fmt.Sprint(s.Scores), fmt.Sprint(s.Calls), tokens(known), cost(known)})
	}
	return t
}

// whoIsAsked are those whom a scorer asks for one score: 2 models × 3 votes × 4 criteria.
func whoIsAsked(a *plan.Asking) string {
	switch a.Type {
	case "command":
		return "a program"
	case "http":
		return "an endpoint"
	}
	asked := page.Plural(len(a.Models), "model", "models")
	if a.Votes > 1 {
		asked += fmt.Sprintf(" × %d votes", a.Votes)
	}
	switch {
	case a.Type == "pairwise":
		asked += " × 2 orders"
	case len(a.Criteria) > 1:
		asked += fmt.Sprintf(" × %d criteria", len(a.Criteria))
	}
	return asked
}

// scoringNotes say what the numbers of scores hold, and what they leave out.
func scoringNotes(s plan.Scoring) (notes []string) {
	if s.Calls > 0 {
		notes = append(notes, fmt.Sprintf("half of the %s for scores only ask again where an answer cannot be read", page.Plural(int(s.Calls), "call", "calls")))
	}
	if s.Open > 0 {
		notes = append(notes, page.Plural(int(s.Open), "call shows", "calls show")+" a judge an output whose length nothing limits: tokens and cost are lower bounds")
	}
	if s.Posts > 0 {
		notes = append(notes, page.Plural(int(s.Posts), "request to an endpoint is", "requests to endpoints are")+" not in the tokens and the cost, nor are those that are tried again")
	}
	return notes
}

// answerableBy says why results have no answer, if they have none, of which so many
// runs are expected.
func answerableBy(b *results.Bounds, dir string, m *record.Manifest, expected int, report *reports.Report) error {
	if covered, least := measured(m), b.MinCoverage; covered == 0 || float64(covered) < least*float64(expected) {
		return exit.With(exit.NotMeasured, "agentbench show "+exit.ShellWord(dir)+" lists the runs",
			"%d of %s could be measured; min_coverage is %v", covered, page.Plural(expected, "run", "runs"), least)
	}
	return cmp.Or(agentFailedError(dir, report), unscoredError(dir, report))
}

// openPlan loads a suite and plans its runs.
func (p *program) openPlan(path string, f *selectionFlags) (*opened, *plan.Plan, error) {
	o, err := p.openSuite(path, f.set)
	if err != nil {
		return nil, nil, err
	}
	if f.trials > 0 {
		o.Suite.Trials = f.trials
	}
	tasks, faults := o.CountTasks()
	faults.Print(p.err)
	if faults.Err() != nil {
		return nil, nil, exit.Quiet(exit.WrongSpec)
	}
	if err := o.knowsTasks(f.tasks); err != nil {
		return nil, nil, err
	}
	planned, err := plan.New(o.Suite, tasks, plan.Selection{Configurations: f.configurations, Tasks: f.tasks, Limit: f.limit})
	if err != nil {
		return nil, nil, unknown(err)
	}
	return o, planned, p.dealPlan(o, planned, &f.shardFlags)
}

// knowsTasks refuses the ids of tasks that the suite does not have.
func (o *opened) knowsTasks(wanted []string) error {
	if len(wanted) == 0 {
		return nil
	}
	var known []string
	for task, err := range o.Tasks() {
		if err != nil {
			return exit.With(exit.WrongSpec, "", "%w", err)
		}
		known = append(known, task.ID)
	}
	for _, id := range wanted {
		if !slices.Contains(known, id) {
			return unknown(&plan.UnknownError{What: "task", Name: id, Known: known})
		}
	}
	return nil
}

// unknown turns a name that does not exist into wrong usage with a hint.
func unknown(err error) error {
	var missing *plan.UnknownError
	if !errors.As(err, &missing) {
		return err
	}
	return exit.Usage(exit.DidYouMean(missing.Name, missing.Known, "there are: "+exit.Some(missing.Known)), "%w", err)
}
