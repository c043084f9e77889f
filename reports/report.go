// Package reports decides what the records of a suite say: it groups them by
// configuration and task, compares, warns, and lays out the tables.
//
// The stages of the data, in order: Collect reads the signals and scores of a
// result folder into a Report, which holds numbers and warnings and no text of
// any run; Diff lays two of them beside each other in a Comparison; each table is
// built from either as cells (configurationsTable and its siblings, one file
// each). Both are a page.Page, which page.Write puts into a format. Missing
// numbers stay missing through all of it: they are never 0.
//
// Two reports on the same records are equal byte for byte, in whatever order
// the records come: sums are of integers, or of sorted values.
//
// It is no stable API.
package reports

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// Schema names the form of a report in JSON. Its number rises when a field
// changes its meaning or goes away, not when one is added.
const Schema = "agentbench/report/1"

// Report is what the records of a suite say. Its JSON form is documented by the
// tags; numbers that are missing are null.
type Report struct {
	Schema string `json:"schema"`
	// Incomplete says what of the suite is not here, because only some of its
	// shards are; a report begins with it. "" means that nothing is known to lack.
	Incomplete string       `json:"incomplete,omitempty"`
	Suite      string       `json:"suite"`
	Status     record.State `json:"status"`
	SpecHash   string       `json:"spec_hash,omitempty"`
	Seed       int64        `json:"seed"`
	Baseline   string       `json:"baseline,omitempty"`
	TaskCount  int          `json:"task_count"` // tasks of the suite
	Trials     int          `json:"trials"`
	// Clusters is how many groups of tasks that depend on each other the runs are
	// of, where the suite declares them; 0: each task stands for itself.
	Clusters int `json:"clusters,omitempty"`
	// PricesAsOf is the day of the prices, "" where none is known.
	PricesAsOf string `json:"prices_as_of,omitempty"`
	// Scorers are in the order declared. The first is the primary one: it says
	// what a success is, and the curve and the tasks are told in its terms.
	Scorers        []string        `json:"scorers"`
	Simulated      []string        `json:"simulated,omitempty"` // models
	Configurations []Configuration `json:"configurations"`
	// Differences compares the other configurations with the baseline. Where it is
	// nil and the suite declares one, the first format that is written compares
	// them by default options.
	Differences *Comparison `json:"differences,omitempty"`
	// Front is which configurations no other beats. Where it is nil, the first format
	// that is written looks for it; it stays nil with fewer than two to compare.
	Front    *Front    `json:"front,omitempty"`
	Warnings []Warning `json:"warnings"` // on the report as a whole
	// Unanswered says why the results have no answer, so that no threshold was
	// judged: the suite was stopped, or too few runs could be measured.
	Unanswered string `json:"unanswered,omitempty"`
	// NothingToRun says why no run was to be made, which is a success: no task failed before. "" where runs were.
	NothingToRun string `json:"nothing_to_run,omitempty"`
	// Thresholds are those that were judged, if any.
	Thresholds []Verdict `json:"thresholds,omitempty"`
	// Volatile may differ where all else is the same; nil: there is nothing to tell.
	Volatile *Effort `json:"volatile,omitempty"`
	// Where is the place of the results as a word of a shell, for commands that say more; "":
	// they are nowhere. From is that of the suite's file, which such a command may change; "":
	// there is none.
	Where string `json:"-"`
	From  string `json:"-"`
	// Named is how a command names the suite, as a word of a shell; "": it is not known.
	Named string `json:"-"`
	// Silent is set if programs did not report their usage.
	Silent bool `json:"-"`
	// OutputsOnly is set if all scorers ask models or endpoints: none can judge what programs left at their steps.
	OutputsOnly bool `json:"-"`
	// Options are how configurations are compared where none are given.
	Options compare.Options `json:"-"`

	runs     *runs
	compared bool // Differences was looked for
	fronted  bool // Front was looked for
}

// Primary is the name of the scorer that says what a success is: a score of 1
// or more. It is "" where nothing is scored; then the loop's own belief stands
// in its place.
func (r *Report) Primary() string {
	if len(r.Scorers) == 0 {
		return ""
	}
	return r.Scorers[0]
}

// Configuration is what was measured of one configuration. Means are per run;
// only runs that count are in them, those without a fault.
type Configuration struct {
	Name      string         `json:"name"`
	Aliases   []string       `json:"aliases,omitempty"`
	Params    []record.Param `json:"params,omitempty"`
	Simulated bool           `json:"simulated,omitempty"`
	Tasks     int            `json:"tasks" col:",,machines"`                // with a run that counts
	Runs      int            `json:"runs" col:",,machines"`                 // that count
	Expected  int            `json:"expected" col:",,machines"`             // tasks x trials of the suite
	Coverage  page.Value     `json:"coverage" col:"coverage,percent,minor"` // runs / expected
	Faults    []Count        `json:"faults"`                                // runs by the class of their error
	Cancelled int            `json:"cancelled"`
	// Failures are runs that count and in which the agent failed: it ended the
	// run, or no iteration went well. They are by the class of the last error.
	Failures []Count `json:"failures"`

	Scores []Score `json:"scores"` // in the order of the report's scorers
	// Declared are the metrics that the suite declares, in their order.
	Declared []Metric `json:"metrics,omitempty"`
	// Judges tell how far those agree whom the scorers asked, in the order of the scores.
	Judges []Judges `json:"judges,omitempty"`
	// Success is the share of the runs in which the loop believed to have
	// succeeded, missing where nothing was evaluated.
	Success    page.Estimate `json:"success" col:"loop says\nsuccess,percent,optional"`
	Iterations Spread        `json:"iterations" col:"iterations,whole"`
	Limits     []Limit       `json:"limits"`
	Stops      []Stop        `json:"stops"`

	Calls       page.Estimate `json:"calls" col:"calls,whole" warn:"unreported"`
	ToolCalls   page.Estimate `json:"tool_calls" col:"tool\ncalls,whole,rare"`
	Tokens      page.Estimate `json:"tokens" col:"tokens,whole" warn:"cut_calls,estimated,uncounted,unreported"`
	InputTokens page.Estimate `json:"input_tokens" col:"tokens in,whole,between"`
	// CachedInput is the share of the input tokens that was read from providers' caches.
	CachedInput  page.Value    `json:"cached_input" col:"cached\ninput,percent,rare"`
	OutputTokens page.Estimate `json:"output_tokens" col:"tokens out,whole,between"`
	Judging      Judging       `json:"judging" col:"judging"` // part of the numbers above and below
	User         Judging       `json:"user" col:"user"`       // so is what the one used who answers the agents
	Cost         Cost          `json:"cost_usd" col:""`
	Latency      Spread        `json:"latency_s" col:"latency,seconds"` // as-if seconds
	// Totals over the runs that count, missing where the means are.
	TotalCalls     page.Value `json:"total_calls"`
	TotalToolCalls page.Value `json:"total_tool_calls"`
	TotalTokens    page.Value `json:"total_tokens"`

	Curve []CurvePoint `json:"curve"`
	// Steps are the points of programs that call models.
	Steps []StepPoint `json:"step_curve,omitempty"`
	// KeptSteps says that the states of their workspaces were kept at steps.
	KeptSteps   bool         `json:"kept_steps,omitempty"`
	Calibration *Calibration `json:"calibration,omitempty"`
	Warnings    []Warning    `json:"warnings"`
}

// Count is how often something of that name occurred.
type Count struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// Spread is the mean and two quantiles (type 7) of a number over the runs.
type Spread struct {
	Mean page.Estimate `json:"mean" col:",,machines"`
	P50  page.Estimate `json:"p50" col:"p50,,between"`
	P95  page.Value    `json:"p95" col:",,machines"`
}

// Judging is what the evaluations inside the loop, or the users, used, per run.
type Judging struct {
	Calls  page.Estimate `json:"calls" col:"calls,whole,rare"`
	Tokens page.Estimate `json:"tokens" col:"tokens,whole,rare"`
	Cost   page.Estimate `json:"cost_usd" col:",whole,machines"`
}

// Cost is in USD, as if nothing were cached.
type Cost struct {
	Mean  page.Estimate `json:"mean" key:"cost_usd_per_run" col:"cost\nper run,dollars" warn:"cut_calls,unpriced,unreported"`
	Total page.Value    `json:"total" key:"cost_usd_total" col:",dollars,machines"`
	// PerSuccess is the cost of the scored runs divided by the successes among
	// them.
	PerSuccess page.Estimate `json:"per_success" key:"cost_usd_per_success" col:"cost per\nsuccess,dollars" warn:"unpriced,unreported"`
}

// allSimulated reports whether no number comes from a real model.
func (r *Report) allSimulated() bool {
	return !slices.ContainsFunc(r.Configurations, func(c Configuration) bool { return c.Runs > 0 && !c.Simulated }) &&
		slices.ContainsFunc(r.Configurations, func(c Configuration) bool { return c.Simulated })
}

// nameCell names a configuration, with the warnings that are about all of its
// numbers.
func (r *Report) nameCell(c *Configuration) page.Cell {
	warnings := c.warningsOf("", MixedLoops, OtherProgram, OtherSeed)
	if len(c.Aliases) > 0 {
		warnings = append(warnings, Warning{Kind: SameAs, Name: c.Name, More: strings.Join(c.Aliases, ", ")})
	}
	if !r.allSimulated() {
		warnings = append(warnings, c.warningsOf("", SimulatedModel)...)
	}
	return page.Name(c.Name, page.Warnings(warnings)...)
}

// nameFields name a row's configuration and, for machines, the simulated models
// that its numbers come from.
func nameFields[T any](r *Report, of func(T) *Configuration) page.Fields[T] {
	return append(page.Of(page.Column{Head: "configuration", Key: "configuration"}, func(row T) page.Cell { return r.nameCell(of(row)) }),
		page.Named("", "simulated", func(row T) string { return of(row).simulatedBy() }).ForMachines()...)
}

func (c *Configuration) simulatedBy() string {
	for _, w := range c.warningsOf("", SimulatedModel) {
		return w.Name
	}
	return ""
}

// warningsOf are the configuration's warnings of some kinds; about one scorer
// where that is named.
func (c *Configuration) warningsOf(scorer string, kinds ...WarningKind) (found []Warning) {
	for _, w := range c.Warnings {
		if slices.Contains(kinds, w.Kind) && (scorer == "" || scorer == w.Name) {
			found = append(found, w)
		}
	}
	return found
}

// notesOf are the warnings of some kinds, as warningsOf has them, for a cell.
func (c *Configuration) notesOf(scorer string, kinds ...WarningKind) (notes []page.Warning) {
	for _, w := range c.warningsOf(scorer, kinds...) {
		notes = append(notes, w.about(c.Name, []string{page.Term("config", c.Name)}))
	}
	return notes
}

// naturally compares names as people sort them: task-2 comes before task-10.
func naturally(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		p, q := digits(x), digits(y)
		if p == 0 || q == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		if c := compareNumbers(x[:p], y[:q]); c != 0 {
			return c
		}
		x, y = x[p:], y[q:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

func digits(s string) (n int) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func (r *Report) scoreDigits() int {
	return 2 + number(slices.ContainsFunc(r.Configurations, func(c Configuration) bool { return c.Runs >= 100 }))
}

// shownScore shows means of the primary score and the ends of their intervals:
// where all scores are from 0 to 1 their means are, too.
func (r *Report) shownScore() func(page.Value) string {
	digits, unit := r.scoreDigits(), true
	for i := range r.Configurations {
		scores := r.Configurations[i].Scores
		unit = unit && len(scores) > 0 && scores[0].unit
	}
	return func(v page.Value) string {
		if unit {
			v.Number = min(1, max(0, v.Number))
		}
		return page.Score(v, digits)
	}
}

func (r *Report) dollarDigits() int {
	return digitsOf(r.each(), func(c *Configuration) page.Value { return c.Cost.Mean.Value })
}

// digitsOf is how many digits the amounts of money of some rows have.
func digitsOf[T any](rows iter.Seq[T], of func(T) page.Value) int {
	return page.DollarDigits(func(yield func(page.Value) bool) {
		for row := range rows {
			if !yield(of(row)) {
				return
			}
		}
	})
}

func (r *Report) dollars(v page.Value) string { return page.Dollars(v, r.dollarDigits()) }

func (r *Report) extraDollars(v page.Value) string { return page.ExtraDollars(v, r.dollarDigits()) }

// Effort compares what the runs cost as if nothing were cached with what the ledger
// says was spent, all attempts and judges together. Two results of the same runs may
// differ in it: it is in no table, and stands in JSON under "volatile", which is
// left out where reports are compared.
type Effort struct {
	Cached int64        `json:"cached"`   // calls that the cache answered
	Made   int64        `json:"made"`     // calls that it did not
	Waited page.Value   `json:"waited_s"` // for rate limits, and to try again
	AsIf   Spent        `json:"as_if"`
	Spent  Spent        `json:"spent"`
	Judges Spent        `json:"judges"` // of Spent
	Ledger record.Spent `json:"-"`
}

// Spent are the totals of usages.
type Spent struct {
	Calls  int64      `json:"calls"`
	Tokens int64      `json:"tokens"`
	Cost   page.Value `json:"cost_usd"`
}

// EffortOf is the effort of the manifest's runs; nil where no ledger is known, and where
// nothing was cached and what was spent is what the runs show.
func EffortOf(m *record.Manifest) *Effort {
	asIf, e, seal := m.Totals.Used(), &m.Volatile.Effort, m.Volatile.Ledger
	if seal == nil || e.Cached == 0 && spentOf(asIf) == spentOf(seal.Total) {
		return nil
	}
	return &Effort{
		Cached: e.Cached, Made: e.Made, Waited: page.Known(e.Waited.Seconds()),
		AsIf: spentOf(asIf), Spent: spentOf(seal.Total), Judges: spentOf(seal.Judges), Ledger: *seal,
	}
}

func spentOf(u record.Usage) Spent {
	return Spent{Calls: u.Calls, Tokens: u.Tokens(), Cost: totalCost(u, 1)}
}

// Text tells of the calls for people, in a line.
func (e *Effort) Text() string {
	text := fmt.Sprintf("cache: %s, %s; %s sent", page.Plural(int(e.Cached), "hit", "hits"), page.Plural(int(e.Made), "miss", "misses"),
		page.Plural(int(e.Spent.Calls), "request", "requests"))
	if e.Waited.Number > 0 {
		text += ", " + page.Seconds(e.Waited) + " waited"
	}
	return text
}

// Uncached says what the runs cost as if nothing were cached, where that is not what was spent.
func (e *Effort) Uncached() string {
	if e.AsIf == e.Spent {
		return ""
	}
	cost := e.AsIf.Cost.Missing
	if cost == "" {
		cost = page.USD(e.AsIf.Cost.Number) // as what was spent
	}
	return "; uncached cost of the runs " + cost
}
