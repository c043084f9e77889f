package record

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"
)

// Manifest says under which spec the records of a folder came to be. It is
// manifest.json.
type Manifest struct {
	Version    int    `json:"v"`
	Suite      string `json:"suite"`
	Agentbench string `json:"agentbench"` // the version that made it
	// SpecHash identifies the resolved spec; only runs of the same one may be
	// added to the folder.
	SpecHash string          `json:"spec_hash"`
	Spec     json.RawMessage `json:"spec,omitempty"` // the resolved spec
	// Mixed are the hashes of other specs under which runs of the folder were
	// made, because the user wanted so.
	Mixed  []string   `json:"mixed_specs,omitempty"`
	Data   []DataFile `json:"data,omitempty"` // the files that tasks and recorded answers came from
	Seed   int64      `json:"seed"`
	Status State      `json:"status"`
	// Brief says that the results are a baseline's: of iterations little more
	// than their number is known.
	Brief bool `json:"brief,omitempty"`

	Configurations []ConfigurationHead `json:"configurations"`
	Baseline       string              `json:"baseline,omitempty"`
	Tasks          int                 `json:"tasks"`
	Trials         int                 `json:"trials"`
	Scorers        []string            `json:"scorers"`             // their names, in the order declared
	Metrics        []MetricHead        `json:"metrics,omitempty"`   // in the order declared
	Simulated      []string            `json:"simulated,omitempty"` // the models that are simulated
	// PricesAsOf is the date of the prices, "" where none is known.
	PricesAsOf string `json:"prices_as_of,omitempty"`

	// Incomplete says what of the suite is not here, because only some of its
	// shards are; "" where nothing was dealt, or all is here.
	Incomplete string `json:"incomplete,omitempty"`

	Totals Totals `json:"totals"`
	// Volatile is left out where manifests are compared byte for byte.
	Volatile ManifestVolatile `json:"volatile,omitzero"`
}

// ManifestVolatile is what the manifests of two equal results may differ in.
type ManifestVolatile struct {
	Started  time.Time     `json:"started,omitzero"`
	Finished time.Time     `json:"finished,omitzero"`
	Wall     time.Duration `json:"wall_ns,omitempty"` // of all sessions together
	Shards   *Shards       `json:"shards,omitempty"`  // nil: the suite was not dealt
	Effort
}

// State is how far a result folder has come.
type State string

// The states.
const (
	StateRunning  State = "running" // or killed while it did
	StateComplete State = "complete"
	StateStopped  State = "stopped" // by a budget or a signal; can be resumed
	StateFailed   State = "failed"  // the results could not be measured or written
)

// DataFile is a file that a suite names, and the hash of its bytes.
type DataFile struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
}

// ConfigurationHead is what reports need to know of a configuration.
type ConfigurationHead struct {
	Name    string      `json:"name"`
	Aliases []string    `json:"aliases,omitempty"` // equal configurations, run once
	Loop    string      `json:"loop"`              // the hash of the resolved loop
	Params  []Param     `json:"params,omitempty"`  // those set, in the order declared
	Phases  []PhaseHead `json:"phases,omitempty"`
	// MaxIterations is the explicit limit, 0 where there is none; EffectiveMax
	// the one that is in force.
	MaxIterations int `json:"max_iterations,omitempty"`
	EffectiveMax  int `json:"effective_max,omitempty"`
	// Steps are the limits of the steps that agents make within one iteration.
	Steps []StepsHead `json:"steps,omitempty"`
	// Completes says that an agent may end a run as a success of the loop.
	Completes bool `json:"completes,omitempty"`
}

// MetricHead is a number that is made of a score of many runs.
type MetricHead struct {
	Name  string `json:"name"`
	Score string `json:"score"` // the scorer's name
	// Reduce is how the trials of a task become one number.
	Reduce string `json:"reduce"`
	// K is how many trials that takes, 0 where it takes all.
	K int `json:"k,omitempty"`
	// Threshold is the least score of a success, 0 where none is asked for.
	Threshold float64 `json:"threshold,omitempty"`
	// By is the scorer that chooses among trials.
	By string `json:"by,omitempty"`
}

// Param is a parameter of a configuration and its value as JSON.
type Param struct {
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

// PhaseHead is a phase of a configuration. Limit 0 means none.
type PhaseHead struct {
	Name  string `json:"name"`
	Limit int    `json:"limit,omitempty"`
}

// StepsHead is a limit of steps within one iteration. Stage is the phase or
// strategy whose iterations it limits, "" for all of the configuration.
type StepsHead struct {
	Path  string `json:"path"` // of the parameter
	Stage string `json:"stage,omitempty"`
	Limit int    `json:"limit"`
}

// Totals are sums over the runs of a folder, each run counted once.
type Totals struct {
	Planned   int   `json:"planned"`
	Completed int   `json:"completed"`
	Failed    int   `json:"failed"`
	Faults    int   `json:"faults"`
	Cancelled int   `json:"cancelled"`
	Usage     Usage `json:"usage"` // as if nothing were cached
	Judging   Usage `json:"judging,omitzero"`
	User      Usage `json:"user,omitzero"`
}

// Used is the usage of all ledgers together.
func (t *Totals) Used() Usage { return t.Usage.Plus(t.Judging).Plus(t.User) }

// Runs is how many runs have ended, in whatever way.
func (t *Totals) Runs() int { return t.Completed + t.Failed + t.Faults + t.Cancelled }

// Add counts a run.
func (t *Totals) Add(s *Signals) {
	switch s.Outcome.Status {
	case Completed:
		t.Completed++
	case Failed:
		t.Failed++
	case Faulted:
		t.Faults++
	case Cancelled:
		t.Cancelled++
	}
	t.Usage = t.Usage.Plus(s.Usage)
	t.Judging = t.Judging.Plus(s.Judging)
	t.User = t.User.Plus(s.User)
}

// ReadManifest reads the manifest of a result folder.
func ReadManifest(dir string) (Manifest, error) {
	var m Manifest
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return m, fmt.Errorf("reading the manifest: %w", err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("reading %s: %w", filepath.Join(dir, manifestFile), err)
	}
	switch {
	case m.Version > Version:
		return m, fmt.Errorf("%s was written by a newer agentbench (format %d, this one knows %d)",
			filepath.Join(dir, manifestFile), m.Version, Version)
	case m.Version < oldest:
		return m, fmt.Errorf("%s was written by an older agentbench (format %d, this one knows %d and later), or is no manifest",
			filepath.Join(dir, manifestFile), m.Version, oldest)
	}
	if shards := m.Volatile.Shards; shards != nil && !shards.valid() {
		return m, fmt.Errorf("%s tells of shards that cannot be", filepath.Join(dir, manifestFile))
	}
	if err := m.countable(); err != nil {
		return m, fmt.Errorf("reading %s: %w", filepath.Join(dir, manifestFile), err)
	}
	return m, nil
}

// countable refuses numbers of tasks and trials that no suite has, which would
// make nonsense of the coverage.
func (m *Manifest) countable() error {
	if min(m.Tasks, m.Trials) < 0 || max(m.Tasks, m.Trials) > math.MaxInt32 {
		return fmt.Errorf("there are no suites of %d tasks with %d trials", m.Tasks, m.Trials)
	}
	return nil
}

func encodeManifest(m *Manifest) ([]byte, error) {
	m.Version = Version
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the manifest: %w", err)
	}
	return append(text, '\n'), nil
}
