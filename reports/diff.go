package reports

import (
	"cmp"

	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
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

	margins   map[string]float64 // of single quantities, in place of the two above
	base, new *Report
	couples   []couple // of the Pairs
	fronted   bool     // Front was looked for
}

// Pair is two configurations beside each other.
type Pair struct {
	Name string    `json:"name"` // of the new configuration
	Base PairSide  `json:"base"`
	New  PairSide  `json:"new"`
	How  PairedHow `json:"pairing"`
	// Differences has one line for each quantity: the scores in the order
	// declared, then cost_usd, tokens, latency_s, iterations, calls.
	Differences []Difference `json:"differences"`
	// Flips are empty within a report, which has the tasks.
	Flips    []Flip    `json:"flips"`
	Warnings []Warning `json:"warnings"`
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

// PairedHow says which runs were compared.
type PairedHow struct {
	Paired bool   `json:"paired"`
	Why    string `json:"why,omitempty"` // why they are not paired
	Tasks  int    `json:"tasks"`         // common
	Runs   int    `json:"runs"`          // paired
	// BaseOnly and NewOnly are tasks of one side; LoneBase and LoneNew runs of
	// common tasks without a partner.
	BaseOnly int `json:"base_only"`
	NewOnly  int `json:"new_only"`
	LoneBase int `json:"lone_base"`
	LoneNew  int `json:"lone_new"`
}

// Difference compares a pair in one quantity.
type Difference struct {
	Quantity string     `json:"quantity"`
	Score    bool       `json:"score"` // else an amount, of which less is better
	Base     page.Value `json:"base"`
	New      page.Value `json:"new"`
	// Change is new - base, or where Relative the geometric mean of the tasks'
	// ratios, less 1; Low and High are the ends of its 95 % interval.
	Change   page.Value `json:"change"`
	Low      page.Value `json:"low"`
	High     page.Value `json:"high"`
	Relative bool       `json:"relative"`
	P        page.Value `json:"p"`
	Adjusted page.Value `json:"p_adjusted"`
	// Test is mcnemar, sign_flip, t, welch or mann_whitney; Method says whether
	// its p is exact, "Monte Carlo" or approximate.
	Test   compare.Test `json:"test,omitempty"`
	Method stats.Method `json:"method,omitempty"`
	Paired bool         `json:"paired"`
	// Tasks are those of the new side that were compared, BaseTasks those of the
	// base: as many where they are paired.
	Tasks     int `json:"tasks"`
	BaseTasks int `json:"base_tasks"`
	// Runs and LeftOut are pairs of runs; runs of either side where not paired.
	Runs    int `json:"runs"`
	LeftOut int `json:"left_out"` // without a value on a side
	Wins    int `json:"wins"`     // tasks at which the new side is better
	Losses  int `json:"losses"`
	Ties    int `json:"ties"`
	// Gated says that the comparison fails if this difference does.
	Gated    bool            `json:"gated"`
	Verdict  compare.Verdict `json:"verdict"` // better, worse, same or cannot_tell
	Margin   float64         `json:"margin"`
	NotWorse bool            `json:"not_worse"`
	// Needed is how many tasks a change of the size seen would take, 0 where it is
	// shown or nothing is known, -1 where it is more than a million.
	Needed int `json:"tasks_needed"`
	// Clusters are those of the tasks of the new side, 0 where each task is its
	// own; ClustersNeeded is Needed in clusters of the present size.
	Clusters       int  `json:"clusters,omitempty"`
	ClustersNeeded int  `json:"clusters_needed,omitempty"`
	TooFew         bool `json:"too_few"` // tasks that differ, for any test to show something
	// Sequential is the evidence that may be looked at at any time, of scores where it
	// was asked for.
	Sequential *Sequential `json:"sequential,omitempty"`
	// Contrary says that the test points another way than the change.
	Contrary bool `json:"contrary,omitempty"`

	few Warning // of TooFew
}

// Sequential is evidence of a difference that may be looked at again and again while
// tasks come in.
type Sequential struct {
	Evidence page.Value `json:"evidence"`
	// Needed is the evidence that shows a difference: 1/alpha times the comparisons.
	Needed float64 `json:"needed"`
	// Units are the tasks, or clusters, that were weighed, in the order of their ids;
	// After is after how many the evidence first was as much as needed, 0: never.
	Units   int             `json:"units"`
	After   int             `json:"after"`
	Verdict compare.Verdict `json:"verdict"` // what it showed then, else cannot_tell
}

// DropFlips leaves out which tasks flipped, as a report does: it lists them all.
func (c *Comparison) DropFlips() {
	for i := range c.Pairs {
		c.Pairs[i].Flips = []Flip{}
	}
}

// Flip is a task whose mean of a binary score changed.
type Flip struct {
	Score string     `json:"score"`
	Task  string     `json:"task"`
	Base  page.Value `json:"base"`
	New   page.Value `json:"new"`
	// BaseRuns and NewRuns are the ids of the task's runs, for
	// `agentbench show DIR RUN`.
	BaseRuns []string `json:"base_runs"`
	NewRuns  []string `json:"new_runs"`
	worse    bool
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
// or with options.BaseConfiguration. It is nil where there is nothing to compare:
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
