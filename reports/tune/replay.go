package tune

import (
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

// Schema names the form of a replay in JSON. Its number rises when a field
// changes its meaning or goes away, not when one is added.
const ReplaySchema = "agentbench/replay/1"

// Replay is what recorded runs say of other configurations. Its JSON form is
// documented by the tags; numbers that are missing are null.
type Replay struct {
	Schema   string `json:"schema"`
	Suite    string `json:"suite"`
	Tasks    int    `json:"tasks"`
	Runs     int    `json:"runs"` // recorded ones that count
	Clusters int    `json:"clusters,omitempty"`
	// Recordings are the configurations that the runs were recorded under, each with
	// as many tasks and runs.
	Recordings []string `json:"recordings"`
	// Scorers are in the order declared; the first says what a success is.
	Scorers        []string        `json:"scorers"`
	Simulated      []string        `json:"simulated,omitempty"` // models
	PricesAsOf     string          `json:"prices_as_of,omitempty"`
	Configurations []Configuration `json:"configurations"`
	Warnings       []ReplayNote    `json:"warnings"` // on the replay as a whole
}

// Configuration is what the recorded runs say of one configuration.
type Configuration struct {
	Name   string         `json:"name"`
	Params []record.Param `json:"params,omitempty"` // those that were set
	// Recording is the configuration on whose runs it was replayed: lost, gained and
	// saved are against these.
	Recording string `json:"recording"`
	// Recorded says that this is what was recorded itself, not replayed.
	Recorded bool `json:"recorded"`
	// Label is recorded, exact, bounded, needs calls or counterfactual: that of
	// the worst of the runs.
	Label string `json:"label"`
	Runs  int    `json:"runs"`
	Exact int    `json:"exact"`
	// Faults are runs that would end with a fault, for example because a condition
	// cannot be evaluated on them. As after a live run they are in no number, nor
	// among the exact ones; saved is against the other runs as recorded.
	Faults   int `json:"faults"`
	Censored int `json:"censored"`
	Branches int `json:"branches"`
	Told     int `json:"told"` // of those that branch: the agent was told a limit

	Scores     []Score `json:"scores"` // in the order of the scorers
	Iterations Amount  `json:"iterations"`
	Calls      Amount  `json:"calls"`
	Tokens     Amount  `json:"tokens"`
	Cost       Amount  `json:"cost_usd"`
	Latency    Amount  `json:"latency_s"`
	// Stops are the ways in which the exact runs stopped, the most frequent first.
	Stops []StopCount `json:"stops"`
	// Unknown says why runs are not exact, the worst first, and why others would have
	// a fault.
	Unknown  []Unknown    `json:"unknown"`
	Warnings []ReplayNote `json:"warnings"`
}

// Score is what is known of a score.
type Score struct {
	Name string `json:"name"`
	// Mean is the mean over tasks of the mean over their runs, and Interval its
	// 95 % interval, whose ends may lie beyond the scale of the scores. They are
	// missing unless all scored runs are exact.
	Mean     page.Value `json:"mean"`
	Interval page.Range `json:"interval"`
	// Bounds are between which numbers the mean lies where it is no point: there
	// is no chance in them.
	Bounds page.Range `json:"bounds"`
	Scored int        `json:"scored"` // runs with a score, or with bounds of one
	// Unscored are runs of which the recording has a score, but not of the
	// iteration that would be returned.
	Unscored int `json:"unscored"`
	// Successes, Lost and Gained are exact runs with a score of 1 or more: all of
	// them; those that had it as recorded, and have it no more; the other way round.
	Successes int `json:"successes"`
	Lost      int `json:"lost"`
	Gained    int `json:"gained"`

	unit bool           // all scores are from 0 to 1
	whys [len(whys)]int // how many are unscored for each reason
}

// Amount is a mean per run of something that is spent.
type Amount struct {
	// Mean is missing where it is not known, or is no point.
	Mean page.Value `json:"mean"`
	// Bounds are between which numbers the mean lies where it is no point.
	Bounds page.Range `json:"bounds"`
	// Saved is the share of what the same runs took as recorded, SavedBounds its
	// bounds where it is no point.
	Saved       page.Value `json:"saved"`
	SavedBounds page.Range `json:"saved_bounds"`
}

// StopCount is how many runs stopped in one way.
type StopCount struct {
	Name   string        `json:"name"`
	Reason record.Reason `json:"reason"`
	Fired  string        `json:"fired,omitempty"`
	Runs   int           `json:"runs"`
	Share  page.Value    `json:"share"` // of the runs whose stop is known
}

// Unknown is one reason why runs are not exact, or would have a fault.
type Unknown struct {
	Label string `json:"label"` // of these runs: that of a configuration, or fault
	Why   string `json:"why"`
	Runs  int    `json:"runs"`
	// First and Last are the iterations, from 1, from which the runs are not known
	// any more: those of the first and of the last such run.
	First int `json:"first_iteration"`
	Last  int `json:"last_iteration"`
}
