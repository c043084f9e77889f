package tune

import (
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// Schema names the form of a tuning in JSON. Its number rises when a field
// changes its meaning or goes away, not when one is added.
const Schema = "agentbench/tuning/1"

// Tuning is what came of choosing among candidates by what they make of recorded
// runs. Its JSON form is documented by the tags; numbers that are missing are
// null. Intervals are of Level, by task, or by cluster where tasks have one.
type Tuning struct {
	Schema string `json:"schema"`
	Suite  string `json:"suite"`
	Tuned  string `json:"tuned,omitempty"` // the configuration whose parameters are tried; "": there are several
	// Simulated are models, PricesAsOf is the day of the prices; see ReplayOptions.
	Simulated  []string `json:"simulated,omitempty"`
	PricesAsOf string   `json:"prices_as_of,omitempty"`
	Tasks      int      `json:"tasks"`
	Clusters   int      `json:"clusters,omitempty"` // 0: tasks are independent
	Runs       int      `json:"runs"`               // recorded ones
	Level      float64  `json:"level"`
	Seed       uint64   `json:"seed"`
	Terms      Terms    `json:"terms"`
	Tried      Tried    `json:"tried"`
	// Recommended is the candidate to take; nil: none, and WhyNone says why.
	Recommended *Choice `json:"recommended"`
	// Why says by which rule and numbers, in a sentence; "" where none is.
	Why     string `json:"why,omitempty"`
	WhyNone string `json:"why_none,omitempty"`
	// Reference is the recorded configuration that losses are counted against: the one
	// with the best objective, of References.
	Reference  string `json:"reference"`
	References int    `json:"references"`
	// Bound is what the recommended configuration may lose; nil where nothing is
	// recommended or scored. Guess is what looks best where nothing is recommended;
	// it is never applied.
	Bound *Bound `json:"bound"`
	Guess *Guess `json:"best_guess,omitempty"`
	// Unchanged reports whether the recommended configuration is today's.
	Unchanged bool `json:"unchanged,omitempty"`
	// Changes are the parameters in which the recommended configuration differs
	// from today's, or from the recording where today's is no candidate.
	Changes []Change `json:"changes"`
	// Recording is the runs as they were recorded; Today is today's configuration,
	// nil where it is no candidate; Best has the best objective of all that are
	// exact, whatever it costs.
	Recording *Choice `json:"recording"`
	Today     *Choice `json:"today"`
	Best      *Choice `json:"best"`
	// Alternatives are what the rule would have taken next, the cheapest first.
	Alternatives []Choice `json:"alternatives"`
	// Against compares the recommended configuration with today's and with the
	// recording.
	Against []Versus `json:"against"`
	// Again is the command line that tunes the same runs, "" where there is none, and
	// AgainInShort replaces a long one: "" for "the same command". Applies says what
	// --apply can change with it.
	Again        string  `json:"-"`
	AgainInShort string  `json:"-"`
	Applies      Applies `json:"-"`

	Validation *Validation `json:"validation"` // nil: none, a note says why
	Luck       *Luck       `json:"luck"`       // nil where Validation is, or chose nothing
	Front      []FrontRow  `json:"front"`      // the cheapest first
	// Beaten are candidates that the front beats, the cheapest first: of BeatenInAll with distinct numbers
	// 100 at most, evenly.
	Beaten      []BeatenRow `json:"beaten,omitempty"`
	BeatenInAll int         `json:"beaten_in_all,omitempty"`
	Map         *Map        `json:"map,omitempty"` // nil: fewer than two candidates differ in a parameter
	// Unpriced counts exact candidates that the front leaves out since their cost
	// is not known.
	Unpriced int `json:"unpriced,omitempty"`
	// All are the configurations that can be chosen, the cheapest first; only where
	// they are asked for.
	All []AllRow `json:"all,omitempty"`
	// Limits are how much of their limits today's and the recommended
	// configuration use, with advice.
	Limits []LimitUse  `json:"limits"`
	Curve  []CurveStep `json:"curve"` // of the recording
	// Ranges are limits of phases that lie outside what is recommended for their kind.
	Ranges []RangeHint `json:"ranges"`
	Notes  []Note      `json:"notes"` // on the tuning as a whole
}

// Applies is what --apply can change.
type Applies int

// What --apply can change: nothing, the files of the suite, a loop file that is named.
const (
	AppliesToNothing Applies = iota
	AppliesToSuite
	AppliesToLoop
)

// Terms are what was asked for, in the words of the suite.
type Terms struct {
	Objective string `json:"objective"` // CEL over metrics
	Minimize  bool   `json:"minimize,omitempty"`
	// Score is the score that lost successes are of.
	Score string `json:"score"`
	Cost  string `json:"cost"` // CEL over metrics
	// WhyCost says why the cost is not money; "" where it is, or was asked for.
	WhyCost     string   `json:"why_cost,omitempty"`
	Rule        string   `json:"rule"`
	Number      float64  `json:"number,omitempty"` // max_loss, or share
	Constraints []string `json:"constraints,omitempty"`
	Folds       int      `json:"folds"` // 0: none
	FoldsBy     string   `json:"folds_by,omitempty"`
}

// Tried counts the candidates. Only those that are exact and scored, of a known
// cost, and within the constraints can be recommended.
type Tried struct {
	Candidates     int `json:"candidates"`
	Exact          int `json:"exact"`
	Bounded        int `json:"bounded"`
	NeedsCalls     int `json:"needs_calls"`
	Counterfactual int `json:"counterfactual"`
	// Faulty are exact ones of which some runs would have a fault.
	Faulty int `json:"faulty"`
	// Unscored, Costless and Unmeasured are exact ones that cannot be chosen: the
	// score of a stop is not known; the cost is not; the objective is not.
	Unscored   int `json:"unscored"`
	Costless   int `json:"costless"`
	Unmeasured int `json:"unmeasured"`
	// Within are those that are left and satisfy the constraints.
	Within int `json:"within"`
	// WhyNotExact is why most runs of the candidate that is nearest to being exact are not.
	WhyNotExact string `json:"why_not_exact,omitempty"`
}

// Bound is the most that the recommended configuration loses against the reference,
// with the certainty of Level, after it was taken among many.
type Bound struct {
	// Most is a share of the runs; where Net, of what the mean of the score falls by.
	Most   page.Value  `json:"most"`
	Net    bool        `json:"net,omitempty"`
	Method BoundMethod `json:"method"`
	Tests  int         `json:"tests"` // configurations that differ in some run
	// AssumesNoRareLoss is true if the score has no scale from 0 to 1: the bound is Student's.
	AssumesNoRareLoss bool `json:"assumes_no_rare_loss,omitempty"`
}

// BoundMethod is how a bound holds after the choice.
type BoundMethod string

// The methods.
const (
	// InSteps: limits were tested from the loosest to tighter ones; see docs/tune.md.
	InSteps BoundMethod = "in_steps"
	// Corrected: the error rate is divided by the number of tests (C. E. Bonferroni).
	Corrected BoundMethod = "corrected"
)

// Guess is a configuration that looks best, and is not shown to be.
type Guess struct {
	Candidate int    `json:"candidate"` // below 0: a recording
	Name      string `json:"name"`
	Recorded  bool   `json:"recorded,omitempty"`  // it is what was recorded
	Unchanged bool   `json:"unchanged,omitempty"` // it is today's: it takes at least Tasks to prove another one
	Kept      bool   `json:"kept,omitempty"`      // it is today's, which is cheaper than what was recorded
	Cheapest  bool   `json:"cheapest,omitempty"`  // it is today's, and nothing that can be judged is cheaper
	Unjudged  int    `json:"unjudged,omitempty"`  // others that are not exact, or whose score or cost is unknown
	// Value is its objective, Least that this is a lower bound, and Best the best
	// objective of what could be recommended.
	Value page.Value `json:"objective"`
	Least bool       `json:"objective_is_lower_bound,omitempty"`
	Best  page.Value `json:"best_objective"`
	// Lost and Gained are its runs against the reference, of Runs.
	Lost   int `json:"lost,omitempty"`
	Gained int `json:"gained,omitempty"`
	Runs   int `json:"runs,omitempty"`
	Tasks  int `json:"tasks_needed"` // would prove it; 0: unknown
}

// Change is a parameter that differs.
type Change struct {
	Path string `json:"path"`
	From string `json:"from"` // "" where nothing is known of it
	To   string `json:"to"`
}

// Choice is a configuration with its numbers over all recorded runs.
type Choice struct {
	Configuration
	// Candidate is its number in the Source, -1 that of the recording.
	Candidate int        `json:"candidate"`
	Objective page.Value `json:"objective"`
	// ChoiceCost is what the rule takes for the cost.
	ChoiceCost page.Value `json:"choice_cost"`
	Intervals
	// Loss is by the score of the terms.
	Loss
}

// Intervals are of the terms and of the mean latency, by the jackknife over tasks or clusters. They are
// missing of what is no point, has no value, or is a quantile.
type Intervals struct {
	ObjectiveInterval page.Range `json:"objective_interval"`
	CostInterval      page.Range `json:"choice_cost_interval"`
	LatencyInterval   page.Range `json:"latency_interval"`
}

// scored is how many of its runs have a score.
func (c *Choice) scored(score string) int {
	for i := range c.Scores {
		if c.Scores[i].Name == score {
			return c.Scores[i].Scored
		}
	}
	return 0
}

// Versus compares the recommended configuration with another, paired by task.
type Versus struct {
	What string               `json:"what"` // "today" or "recording"
	Name string               `json:"name"`
	All  []compare.Difference `json:"differences"`
	// Lost and Gained are runs, by the score of the terms.
	Lost   int `json:"lost"`
	Gained int `json:"gained"`
	// Saved is how much less 1,000 runs take.
	Saved []Saving `json:"saved_per_1000_runs"`
}

// Saving is what is saved of one amount, with its interval by task or cluster.
type Saving struct {
	Quantity string     `json:"quantity"` // cost_usd, latency_s, tokens, calls or iterations
	Saved    page.Value `json:"saved"`
	Interval page.Range `json:"interval"`
}

// Validation is the rule tried on tasks that it did not choose by: chosen on all
// folds but one, reported on that one.
type Validation struct {
	Folds []Fold `json:"folds"`
	// HeldOut is the sum over the folds of what their choices make of the tasks
	// left out: the honest estimate. InSample is the recommended configuration on
	// all runs; Today and Recording are those configurations on the runs of HeldOut.
	HeldOut   Counted  `json:"held_out"`
	InSample  Counted  `json:"in_sample"`
	Today     *Counted `json:"today"`
	Recording Counted  `json:"recording"`
	// Agree is how many folds choose what is recommended.
	Agree int `json:"agree"`
}

// Fold is one part of the tasks, which is left out of the choice.
type Fold struct {
	Fold  int `json:"fold"`
	Tasks int `json:"tasks"` // left out
	// Chosen is the number of the candidate in the Source, -1 where the rule finds
	// none on the other folds; then Why says so and the fold is in no sum.
	Chosen  int            `json:"candidate"`
	Name    string         `json:"name"`
	Params  []record.Param `json:"params,omitempty"`
	Why     string         `json:"why,omitempty"`
	Train   Counted        `json:"train"`
	HeldOut Counted        `json:"held_out"`
}

// Counted is what a configuration makes of a part of the runs.
type Counted struct {
	Tasks      int        `json:"tasks"`
	Runs       int        `json:"runs"`
	Hits       int        `json:"hits"`
	Score      page.Value `json:"score"` // mean over tasks
	Iterations int64      `json:"iterations"`
	Tokens     page.Value `json:"tokens"`
	Cost       page.Value `json:"cost_usd"`
	Seconds    page.Value `json:"latency_s"`
}

// Luck is how much of what the choice seems to gain over today's configuration,
// or over the recording, it owes to having been looked for on the same runs.
type Luck struct {
	Over      string `json:"over"` // "today" or "recording"
	Objective Gain   `json:"objective"`
	Cost      Gain   `json:"cost"` // what is saved, in the unit of the choice's cost
}

// Gain is how much better a choice is, as it looks in the sample and as it is on
// tasks that were left out.
type Gain struct {
	Apparent page.Value `json:"apparent"`
	Honest   page.Value `json:"honest"`
	// HonestInterval is by task or cluster, given what the folds chose.
	HonestInterval page.Range `json:"honest_interval"`
	Luck           page.Value `json:"luck"` // Apparent - Honest
}

// FrontRow is a candidate that none beats: none is as cheap, as good and as fast,
// and better in one of these.
type FrontRow struct {
	Candidate  int            `json:"candidate"`
	Name       string         `json:"name"`
	Params     []record.Param `json:"params,omitempty"`
	Objective  page.Value     `json:"objective"`
	ChoiceCost page.Value     `json:"choice_cost"`
	Seconds    page.Value     `json:"latency_s"` // per run
	Intervals                 // where it was drawn
	Counted    Counted        `json:"counted"`
	Loss
	// Share is how often it is on the front when the tasks, or clusters, are drawn
	// anew: how sure it is to belong there.
	Share page.Value `json:"share"`
	// P is that of the paired test of the objective against the recommended candidate, or, where there is none,
	// against the best, adjusted for all that are tested.
	P page.Value `json:"p"`
	// Same counts the other candidates with the same numbers.
	Same        int  `json:"same"`
	Recommended bool `json:"recommended,omitempty"`
	Today       bool `json:"today,omitempty"`
}

// BeatenRow is a candidate that one on the front beats: that is as cheap, as good and as fast.
type BeatenRow struct {
	Candidate  int            `json:"candidate"`
	Name       string         `json:"name"`
	Params     []record.Param `json:"params,omitempty"`
	Objective  page.Value     `json:"objective"`
	ChoiceCost page.Value     `json:"choice_cost"`
	Seconds    page.Value     `json:"latency_s"` // per run
	BeatenBy   string         `json:"beaten_by"` // the cheapest that does
	Same       int            `json:"same"`      // others with the same numbers
}

// AllRow is a configuration that can be chosen, with what it is chosen by.
type AllRow struct {
	Candidate  int            `json:"candidate"`
	Name       string         `json:"name"`
	Params     []record.Param `json:"params,omitempty"`
	Objective  page.Value     `json:"objective"`
	ChoiceCost page.Value     `json:"choice_cost"`
	Counted    Counted        `json:"counted"`
	Within     bool           `json:"within"` // it satisfies the constraints
	Loss
	// Alpha is the error rate that max_loss tests it with.
	Alpha       float64 `json:"alpha"`
	Recommended bool    `json:"recommended,omitempty"`
	Today       bool    `json:"today,omitempty"`
}

// Loss is what a configuration loses against the reference. LostMost is the one-sided
// upper bound of one configuration that is named beforehand: see [Bound].
type Loss struct {
	Lost      int        `json:"lost"`
	Gained    int        `json:"gained"`
	LostMost  page.Value `json:"lost_most"`
	LossIsNet bool       `json:"loss_is_net,omitempty"`
}

// Step is a candidate against the configuration that it differs from in one parameter.
type Step struct {
	Candidate int    `json:"candidate"`
	Value     string `json:"value"`
	Label     string `json:"label"`
	// Objective and Cost are the changes of the objective and of the choice's cost.
	Objective page.Value `json:"objective"`
	Cost      page.Value `json:"cost"`
}

// LimitUse is how much of one iteration limit a configuration uses.
type LimitUse struct {
	Of    string `json:"of"` // "recommended" or "today"
	Path  string `json:"path"`
	Limit int    `json:"limit"`
	// Derived reports whether the loop has no such limit of its own: it follows from
	// those of the phases.
	Derived bool       `json:"derived,omitempty"`
	Used    page.Value `json:"used"`     // mean iterations per run; of agent.max_steps the steps of its longest iteration
	Share   page.Value `json:"share"`    // of the limit
	Reached page.Value `json:"reached"`  // share of the runs that come up to it
	OfAll   page.Value `json:"of_all"`   // share of all iterations; missing for steps
	OfCost  page.Value `json:"of_cost"`  // share of all cost
	Largest int        `json:"largest"`  // what the longest run uses
	Advice  Advice     `json:"advice"`   // "" where there is none
	To      int        `json:"to"`       // the limit advised; 0: none
	Step    *Step      `json:"one_more"` // what it brings, where replay knows

	fixed bool // nothing but the limit ends the phase
}

// Advice is what the use of a limit suggests.
type Advice string

// The advices.
const (
	NoAdvice  Advice = ""
	Raise     Advice = "raise"     // most runs reach it
	Lower     Advice = "lower"     // hardly any run comes near it
	Rebalance Advice = "rebalance" // one phase takes most of the iterations or cost
)

// CurveStep is what the recorded runs gain and pay for one iteration more.
type CurveStep struct {
	Iteration int        `json:"iteration"`
	Reached   int        `json:"reached"` // runs that came so far
	Hits      int        `json:"hits"`    // runs with a success had they stopped here
	Extra     int        `json:"extra"`   // more than one iteration before
	Score     page.Value `json:"score"`
	Cost      page.Value `json:"cost"`       // sum up to here, in the unit of the choice's cost
	ExtraCost page.Value `json:"extra_cost"` // of this iteration
	// The intervals are of Score and Cost, by the jackknife over tasks or clusters; that of the sum is of as many runs.
	ScoreInterval page.Range `json:"score_interval"`
	CostInterval  page.Range `json:"cost_interval"`
	// Cut are runs that a guard or a budget ended before: what they would have made of this iteration is unknown.
	Cut int `json:"cut,omitempty"`
	// Hazard is the chance that a run without a success so far has its first here,
	// of those that come so far.
	Hazard page.Value `json:"hazard"`
	// PerSuccess is the cost of a success up to here, PerExtra that of one gained
	// by this iteration: going on for it pays where a success is worth more.
	PerSuccess page.Value `json:"cost_per_success"`
	PerExtra   page.Value `json:"cost_per_extra_success"`
	// Ahead is the least cost of an extra success over this and any number of
	// iterations after it, AheadTo the last of these: steps that pay only later.
	Ahead   page.Value `json:"ahead"`
	AheadTo int        `json:"ahead_to"`
}

// RangeHint is a phase limit outside the values that are recommended for its kind.
type RangeHint struct {
	Of    string `json:"of"`
	Path  string `json:"path"`
	Limit int    `json:"limit"`
	Hint  string `json:"hint"`
}
