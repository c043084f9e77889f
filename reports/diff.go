package reports

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// DiffSchema names the form of a comparison in JSON.
const DiffSchema = "agentbench/diff/1"

// Comparison is what a report says beside another one, or its configurations
// beside its baseline. Its JSON form is documented by the tags; numbers that are
// missing are null.
type Comparison struct {
	Schema string `json:"schema"`
	Suite  string `json:"suite"` // of the new side
	// Alpha, ScoreMargin and RatioMargin are what was asked for or the defaults.
	Alpha       float64 `json:"alpha"`
	ScoreMargin float64 `json:"score_margin"`
	RatioMargin float64 `json:"ratio_margin"`
	// Primary is the score that counts first, "" where none is compared.
	Primary string `json:"primary,omitempty"`
	// Incomplete and Simulated are those of both sides together.
	Incomplete string   `json:"incomplete,omitempty"`
	Simulated  []string `json:"simulated,omitempty"`
	// Correction is how p values were adjusted over the pairs: "", holm or
	// benjamini_hochberg.
	Correction compare.Correction `json:"correction,omitempty"`
	Pairs      []Pair             `json:"pairs"`
	// Front is which configurations of both sides no other beats, as in a Report;
	// absent within one.
	Front    *Front           `json:"front,omitempty"`
	Spec     []SpecDifference `json:"spec"`
	Warnings []Warning        `json:"warnings"` // on the comparison as a whole
	// FailOn is what gated differences fail on: worse, cannot-tell (both), none;
	// "" is none.
	FailOn string `json:"fail_on,omitempty"`
	// Unanswered says why no threshold was judged, as in a Report.
	Unanswered string    `json:"unanswered,omitempty"`
	Thresholds []Verdict `json:"thresholds,omitempty"` // those that were judged, if any
	// Again is the command line that made it, "" where there is none.
	Again string `json:"-"`

	margins   map[string]float64 // of single quantities, in place of the two above
	base, new *Report
	couples   []couple          // of the Pairs
	fronted   bool              // Front was looked for
	flipped   map[string]string // before they were dropped
}

// Pair is two configurations beside each other.
type Pair struct {
	Name string            `json:"name"` // of the new configuration
	Base PairSide          `json:"base"`
	New  PairSide          `json:"new"`
	How  compare.PairedHow `json:"pairing"`
	// Differences has one line for each quantity: the scores in the order
	// declared, then cost_usd, tokens, latency_s, iterations, calls.
	Differences []compare.Difference `json:"differences"`
	// Flips are empty within a report, which has the tasks.
	Flips []Flip `json:"flips"`
	// Tasks have the primary score of both sides, what got worse first. They are in JSON, and none
	// within a report, which has the tasks.
	Tasks    []TaskChange `json:"tasks,omitempty"`
	Warnings []Warning    `json:"warnings"`
}

// PairSide is one of the configurations of a pair.
type PairSide struct {
	// Where is the folder or file as it was named, "" for a configuration of the
	// report itself.
	Where         string     `json:"where,omitempty"`
	Configuration string     `json:"configuration"`
	Tasks         int        `json:"tasks"` // with a run that counts
	Runs          int        `json:"runs"`  // that count
	Expected      int        `json:"expected"`
	Coverage      page.Value `json:"coverage"`
	// Aliases are other names of the configuration.
	Aliases []string `json:"aliases,omitempty"`
}

// DropFlips leaves out which tasks flipped, as a report does: it lists them all.
func (c *Comparison) DropFlips() {
	c.flipped = c.Flipped()
	for i := range c.Pairs {
		c.Pairs[i].Flips = []Flip{}
	}
}

// Flipped are the runs of the new side whose task's success by the primary score was
// "lost" or "won", by their ids.
func (c *Comparison) Flipped() map[string]string {
	if c.flipped != nil {
		return c.flipped
	}
	flipped := map[string]string{}
	for i := range c.Pairs {
		for _, flip := range c.Pairs[i].Flips {
			if flip.Score != c.Primary {
				continue
			}
			how := "won"
			if flip.New < flip.Base {
				how = "lost"
			}
			for _, run := range flip.NewRuns {
				flipped[run] = how
			}
		}
	}
	return flipped
}

// Flip is a task whose mean of a binary score changed.
type Flip struct {
	Score string `json:"score"`
	compare.Flip
	// BaseRuns and NewRuns are the ids of the task's runs, for
	// `agentbench show DIR RUN`.
	BaseRuns []string `json:"base_runs"`
	NewRuns  []string `json:"new_runs"`
}

// SpecDifference is a difference between the specs of both sides.
type SpecDifference struct {
	Path     string `json:"path"`
	Base     string `json:"base"` // as JSON, "" where the side does not have it
	New      string `json:"new"`
	Declared bool   `json:"declared"` // by --vary
}

// DiffOptions say what is compared and how. The zero value has all defaults.
type DiffOptions struct {
	compare.Options
	// BaseName and NewName are the places as the user named them.
	BaseName, NewName string
	// BaseConfiguration and NewConfiguration choose one configuration each; "":
	// those of the same name, else the only one of each side.
	BaseConfiguration, NewConfiguration string
	// Spec are the differences between the specs of both sides. One that is not
	// declared is a warning.
	Spec []SpecDifference
}

// Diff compares two reports. It is an error that wraps ErrNoPair that no
// configurations belong together, and one that wraps compare.ErrNoCommonTask
// that no pair of them has a task in common.
func Diff(base, new *Report, options DiffOptions) (*Comparison, error) {
	couples, err := coupled(base, new, &options)
	if err != nil {
		return nil, err
	}
	c := newComparison(base, new, &options)
	if err := c.compare(base, new, couples, &options); err != nil {
		return nil, err
	}
	c.warn(base, new, couples, &options)
	return c, nil
}

// DiffBaseline compares the other configurations of a report with its baseline,
// or with options.BaseConfiguration. It is nil where nothing is compared:
// no baseline, no other configuration, or no run.
func DiffBaseline(r *Report, options DiffOptions) (*Comparison, error) {
	options.BaseConfiguration = cmp.Or(options.BaseConfiguration, r.Baseline)
	if options.BaseConfiguration == "" || r.runCount() == 0 {
		return nil, nil
	}
	at, ok := r.named(options.BaseConfiguration)
	if !ok {
		return nil, r.noConfiguration(options.BaseConfiguration, "")
	}
	var couples []couple
	for i := range r.Configurations {
		if i != at && r.Configurations[i].Runs > 0 {
			couples = append(couples, couple{at, i})
		}
	}
	if len(couples) == 0 || r.Configurations[at].Runs == 0 {
		return nil, nil
	}
	c := newComparison(r, r, &options)
	if err := c.compare(r, r, couples, &options); err != nil {
		return nil, err
	}
	return c, nil
}

// ErrNoPair says that no configurations of two reports belong together, or that
// there is none of a name.
var ErrNoPair = errors.New("nothing to compare")

// couple are the numbers of two configurations that are compared.
type couple struct{ base, new int }

// coupled finds the configurations that belong together: the chosen ones, else
// those of the same name, else the only one of each side.
func coupled(base, new *Report, options *DiffOptions) ([]couple, error) {
	x, err := base.choice(options.BaseConfiguration, options.BaseName)
	if err != nil {
		return nil, err
	}
	y, err := new.choice(options.NewConfiguration, options.NewName)
	if err != nil {
		return nil, err
	}
	if options.BaseConfiguration != "" && options.NewConfiguration != "" {
		return []couple{{x[0], y[0]}}, nil
	}
	var couples []couple
	for _, j := range y {
		for _, i := range x {
			if alike(&base.Configurations[i], &new.Configurations[j]) {
				couples = append(couples, couple{i, j})
				break
			}
		}
	}
	switch {
	case len(couples) > 0:
		return couples, nil
	case len(x) == 1 && len(y) == 1:
		return []couple{{x[0], y[0]}}, nil
	}
	return nil, fmt.Errorf("%w: no configuration of %s (%s) has the name of one of %s (%s); choose them by folder:configuration",
		ErrNoPair, place(options.BaseName, "the base"), base.names(x), place(options.NewName, "the new side"), new.names(y))
}

// choice are the numbers of the configurations to choose from: one that is
// named, else all.
func (r *Report) choice(name, where string) ([]int, error) {
	if name != "" {
		at, ok := r.named(name)
		if !ok {
			return nil, r.noConfiguration(name, where)
		}
		return []int{at}, nil
	}
	return spaced(len(r.Configurations), len(r.Configurations)), nil
}

// named is the number of the configuration with that name or alias.
func (r *Report) named(name string) (at int, ok bool) {
	at = slices.IndexFunc(r.Configurations, func(c Configuration) bool {
		return c.Name == name || slices.Contains(c.Aliases, name)
	})
	return at, at >= 0
}

func (r *Report) noConfiguration(name, where string) error {
	all, _ := r.choice("", "")
	return fmt.Errorf("%w: %s has no configuration %q, it has %s", ErrNoPair, place(where, "the suite"), name, r.names(all))
}

func place(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return fmt.Sprintf("%q", name)
}

func (r *Report) names(of []int) string {
	names := make([]string, len(of))
	for i, at := range of {
		names[i] = fmt.Sprintf("%q", r.Configurations[at].Name)
	}
	return strings.Join(names, ", ")
}

// alike holds for configurations that share a name.
func alike(a, b *Configuration) bool {
	names := append([]string{b.Name}, b.Aliases...)
	return slices.Contains(names, a.Name) || slices.ContainsFunc(a.Aliases, func(alias string) bool { return slices.Contains(names, alias) })
}

func newComparison(base, new *Report, options *DiffOptions) *Comparison {
	filled := options.Filled()
	c := &Comparison{
		Schema: DiffSchema, Suite: new.Suite, Alpha: filled.Alpha, ScoreMargin: max(0, filled.ScoreMargin), RatioMargin: max(0, filled.RatioMargin),
		Pairs: []Pair{}, Spec: options.Spec, Warnings: []Warning{}, margins: options.Margins,
		base: base, new: new,
	}
	if c.Spec == nil {
		c.Spec = []SpecDifference{}
	}
	if primary := new.Primary(); slices.Contains(base.Scorers, primary) {
		c.Primary = primary
	}
	c.Incomplete = new.Incomplete
	if base.Incomplete != "" && base != new {
		c.Incomplete = strings.Join(slices.DeleteFunc([]string{"base: " + base.Incomplete, new.Incomplete}, func(text string) bool { return text == "" }), "; ")
	}
	c.Simulated = slices.Compact(slices.Sorted(slices.Values(slices.Concat(base.Simulated, new.Simulated))))
	return c
}

// compare fills the pairs. The values of one base and one new configuration at
// a time are in columns.
func (c *Comparison) compare(base, new *Report, couples []couple, options *DiffOptions) error {
	c.couples = couples
	results := make([]*compare.Result, len(couples))
	var x *compare.Side
	for i, of := range couples {
		if i == 0 || of.base != couples[i-1].base {
			x = base.side(of.base)
		}
		y := new.side(of.new)
		var err error
		if results[i], err = compare.Sides(x, y, options.Options); err != nil && !errors.Is(err, compare.ErrNoCommonTask) {
			return err
		}
		c.Pairs = append(c.Pairs, newPair(base, new, of, options))
		c.Pairs[i].How, c.Pairs[i].Flips = results[i].Pairing, flipsOf(x, y, results[i])
	}
	if !slices.ContainsFunc(results, func(r *compare.Result) bool { return len(r.Differences) > 0 }) {
		return nothingCommon(base, new, couples[0], options)
	}
	c.Correction = compare.Correct(results, options.Options)
	for i, of := range couples {
		c.Pairs[i].Differences = append(c.Pairs[i].Differences, results[i].Differences...)
		c.Pairs[i].warn(base, new, of)
	}
	return nil
}

func nothingCommon(base, new *Report, of couple, options *DiffOptions) error {
	x, y := &base.Configurations[of.base], &new.Configurations[of.new]
	for _, side := range []struct {
		of    *Configuration
		where string
	}{{x, place(options.BaseName, "the base")}, {y, place(options.NewName, "the new side")}} {
		if side.of.Runs == 0 {
			return fmt.Errorf("%w: configuration %q of %s has no run that counts", compare.ErrNoCommonTask, side.of.Name, side.where)
		}
	}
	return fmt.Errorf("%w: %d of suite %q, %d of suite %q", compare.ErrNoCommonTask, x.Tasks, base.Suite, y.Tasks, new.Suite)
}

func newPair(base, new *Report, of couple, options *DiffOptions) Pair {
	x, y := &base.Configurations[of.base], &new.Configurations[of.new]
	return Pair{
		Name: y.Name, Base: pairSide(x, options.BaseName), New: pairSide(y, options.NewName),
		Differences: []compare.Difference{}, Warnings: []Warning{},
	}
}

func pairSide(c *Configuration, where string) PairSide {
	return PairSide{
		Where: where, Configuration: c.Name, Aliases: c.Aliases,
		Tasks: c.Tasks, Runs: c.Runs, Expected: c.Expected, Coverage: c.Coverage,
	}
}

// flipsOf tells the tasks that changed, score by score, and the ids of their
// runs, which follow from what they are of.
func flipsOf(base, new *compare.Side, result *compare.Result) []Flip {
	flips := []Flip{}
	for d := range page.EachOf(result.Differences) {
		for _, f := range d.Flips {
			flips = append(flips, Flip{Score: d.Name, Flip: f, BaseRuns: runIDs(base, f.BaseAt), NewRuns: runIDs(new, f.NewAt)})
		}
		d.Flips = nil
	}
	return flips
}

func runIDs(s *compare.Side, task int32) []string {
	trials := s.Trials[s.Starts[task]:s.Starts[task+1]]
	ids := make([]string, len(trials))
	for i, trial := range trials {
		ids[i] = record.RunID(s.Name, s.Tasks[task], int(trial))
	}
	return ids
}

// amount is a quantity of a run of which less is better.
type amount struct {
	name string
	of   func(*run) float64
	// missing is why a run has no such number, "" where it has.
	missing func(*run) string
}

// amounts are the quantities besides scores.
var amounts = []amount{
	{"cost_usd", func(r *run) float64 { return r.cost.Dollars() }, func(r *run) string { return costOr(r.cost, r.lacks(unpriced), r.lacks(unreported)).Missing }},
	{"tokens", func(r *run) float64 { return float64(r.tokens) }, func(r *run) string { return unknownIf(r.lacks(uncounted)) }},
	{"latency_s", func(r *run) float64 { return r.elapsed.Seconds() }, func(r *run) string { return unknownIf(r.lacks(untimed)) }},
	{"iterations", func(r *run) float64 { return float64(r.iterations) }, func(r *run) string { return "" }},
	{"calls", func(r *run) float64 { return float64(r.calls) }, func(r *run) string { return unknownIf(r.lacks(unreported)) }},
}

func amountNamed(name string) *amount {
	return &amounts[slices.IndexFunc(amounts, func(a amount) bool { return a.name == name })]
}

func unknownIf(is bool) string {
	if is {
		return page.Unknown
	}
	return ""
}

// side is what is compared of the i-th configuration: its runs that count, in
// the natural order of their tasks.
func (r *Report) side(i int) *compare.Side {
	s, ordered := r.bareSide(i), r.runs.ordered[i]
	for _, scores := range r.runs.scores {
		s.Columns = append(s.Columns, scores.column(ordered))
	}
	for i := range amounts {
		s.Columns = append(s.Columns, r.runs.column(i, ordered))
	}
	return s
}

// primarySide has the first score alone.
func (r *Report) primarySide(i int) *compare.Side {
	s := r.bareSide(i)
	s.Columns = []compare.Column{r.runs.scores[0].column(r.runs.ordered[i])}
	return s
}

// bareSide has no column.
func (r *Report) bareSide(i int) *compare.Side {
	ordered := r.runs.ordered[i]
	s := &compare.Side{Name: r.Configurations[i].Name, Trials: make([]int32, len(ordered))}
	var start int32
	for group := range r.runs.byTask(i) {
		task := r.runs.all[group[0]].task
		s.Tasks = append(s.Tasks, r.runs.tasks.all[task])
		if r.runs.clusters != nil {
			s.Clusters = append(s.Clusters, r.runs.clusterOf(task))
		}
		s.Starts = append(s.Starts, start)
		start += int32(len(group))
	}
	s.Starts = append(s.Starts, start)
	for at, run := range ordered {
		s.Trials[at] = r.runs.all[run].trial
	}
	return s
}

func (s *scores) column(ordered []int32) compare.Column {
	c := compare.Column{Quantity: compare.Quantity{Name: s.name, Score: true}, Values: make([]float64, len(ordered))}
	for i, run := range ordered {
		value, ok := s.of(run)
		if !ok {
			value, c.Missing = math.NaN(), page.Unscored
		}
		c.Values[i] = value
	}
	return c
}

// column is the amount of that number in the list.
func (r *runs) column(amount int, ordered []int32) compare.Column {
	of := &amounts[amount]
	c := compare.Column{Quantity: compare.Quantity{Name: of.name}, Values: make([]float64, len(ordered))}
	for i, at := range ordered {
		run := &r.all[at]
		if why := of.missing(run); why != "" {
			c.Values[i], c.Missing = math.NaN(), max(c.Missing, why)
		} else {
			c.Values[i] = of.of(run)
		}
	}
	return c
}

// TaskChange is the mean primary score of a task on both sides.
type TaskChange struct {
	Task string  `json:"task"`
	Base float64 `json:"base"`
	New  float64 `json:"new"`
}

func (t TaskChange) change() float64 { return t.New - t.Base }

// changes are those of the tasks that both sides have a score of, what got worse first.
func (c *Comparison) changes(of couple) (all []TaskChange) {
	before := map[string]float64{}
	for group := range c.base.runs.byTask(of.base) {
		if mean, ok := c.base.runs.meanSuccess(group); ok {
			before[c.base.runs.tasks.all[c.base.runs.all[group[0]].task]] = mean
		}
	}
	for group := range c.new.runs.byTask(of.new) {
		task := c.new.runs.tasks.all[c.new.runs.all[group[0]].task]
		base, known := before[task]
		if mean, ok := c.new.runs.meanSuccess(group); ok && known {
			all = append(all, TaskChange{task, base, mean})
		}
	}
	slices.SortStableFunc(all, func(a, b TaskChange) int { return cmp.Compare(a.change(), b.change()) })
	return all
}
