package reports

import (
	"github.com/agentbench/agentbench/engine/record"
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
	// Thresholds are those that were judged, if any.
	Thresholds []Verdict `json:"thresholds,omitempty"`
	// Volatile may differ where all else is the same; nil: there is nothing to tell.
	Volatile *Effort `json:"volatile,omitempty"`

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
	Tasks     int            `json:"tasks"`    // with a run that counts
	Runs      int            `json:"runs"`     // that count
	Expected  int            `json:"expected"` // tasks x trials of the suite
	Coverage  page.Value     `json:"coverage"` // runs / expected
	Faults    []Count        `json:"faults"`   // runs by the class of their error
	Cancelled int            `json:"cancelled"`
	// Failures are runs that count and in which the agent failed: it ended the
	// run, or no iteration went well. They are by the class of the last error.
	Failures []Count `json:"failures"`

	Scores []Score `json:"scores"` // in the order of the report's scorers
	// Declared are the metrics that the suite declares, in their order.
	Declared []Metric `json:"metrics,omitempty"`
	// Judges are the scorers that asked others, in the order of the scores.
	Judges []Judges `json:"judges,omitempty"`
	// Success is the share of the runs in which the loop believed to have
	// succeeded, missing where nothing was evaluated.
	Success         page.Value `json:"success"`
	SuccessInterval page.Range `json:"success_interval"`
	Iterations      Spread     `json:"iterations"`
	Limits          []Limit    `json:"limits"`
	Stops           []Stop     `json:"stops"`

	Calls                page.Value `json:"calls"`
	CallsInterval        page.Range `json:"calls_interval"`
	ToolCalls            page.Value `json:"tool_calls"`
	ToolCallsInterval    page.Range `json:"tool_calls_interval"`
	Tokens               page.Value `json:"tokens"`
	TokensInterval       page.Range `json:"tokens_interval"`
	InputTokens          page.Value `json:"input_tokens"`
	InputTokensInterval  page.Range `json:"input_tokens_interval"`
	OutputTokens         page.Value `json:"output_tokens"`
	OutputTokensInterval page.Range `json:"output_tokens_interval"`
	Judging              Judging    `json:"judging"` // part of the numbers above and below
	User                 Judging    `json:"user"`    // so is what the one used who answers the agents
	Cost                 Cost       `json:"cost_usd"`
	Latency              Spread     `json:"latency_s"` // as-if seconds
	// Totals over the runs that count, missing where the means are.
	TotalCalls     page.Value `json:"total_calls"`
	TotalToolCalls page.Value `json:"total_tool_calls"`
	TotalTokens    page.Value `json:"total_tokens"`

	Curve       []CurvePoint `json:"curve"`
	Calibration *Calibration `json:"calibration,omitempty"`
	// Residue has a part for each score, where tasks have several trials.
	Residue  []Part    `json:"residue"`
	Warnings []Warning `json:"warnings"`
}

// Count is how often something of that name occurred.
type Count struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// Spread is the mean and two quantiles (type 7) of a number over the runs.
type Spread struct {
	Mean         page.Value `json:"mean"`
	MeanInterval page.Range `json:"mean_interval"`
	P50          page.Value `json:"p50"`
	P50Interval  page.Range `json:"p50_interval"`
	P95          page.Value `json:"p95"`
}

// Judging is what the evaluations inside the loop, or the users, used, per run.
type Judging struct {
	Calls          page.Value `json:"calls"`
	CallsInterval  page.Range `json:"calls_interval"`
	Tokens         page.Value `json:"tokens"`
	TokensInterval page.Range `json:"tokens_interval"`
	Cost           page.Value `json:"cost_usd"`
	CostInterval   page.Range `json:"cost_usd_interval"`
}

// Cost is in USD, as if nothing were cached.
type Cost struct {
	Mean         page.Value `json:"mean"` // per run
	MeanInterval page.Range `json:"mean_interval"`
	Total        page.Value `json:"total"`
	// PerSuccess is the cost of the scored runs divided by the successes among
	// them.
	PerSuccess         page.Value `json:"per_success"`
	PerSuccessInterval page.Range `json:"per_success_interval"`
}
