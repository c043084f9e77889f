package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
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
	SpecHash string `json:"spec_hash"`
	// Specs are the copies of what the runs were made of, and judged by; the last one has the thresholds and the budget. None:
	// it is not known how the records came to be.
	Specs []Spec `json:"specs,omitempty"`
	// Mixed are the hashes of other specs under which runs of the folder were
	// made, because the user wanted so.
	Mixed  []string   `json:"mixed_specs,omitempty"`
	Data   []DataFile `json:"data,omitempty"` // the files that tasks and recorded answers came from
	Seed   int64      `json:"seed"`
	Status State      `json:"status"`
	// Brief means that the results are a baseline's: of iterations little more
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
	// shards are; "" where the suite has no shards, or all is here.
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
	Shards   *Shards       `json:"shards,omitempty"`  // nil: the suite has no shards
	Effort
	// Ledger is the sum of the ledger when the manifest was written; nil: the folder has no ledger.
	Ledger *Spent `json:"ledger,omitempty"`
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

// Spec is the copy of a suite in a result folder: its YAML with the files that it names.
type Spec struct {
	Dir   string `json:"dir"`   // below the result folder
	Suite string `json:"suite"` // the file in it
	// Import is the file of the mapping that made the runs of the log of another tool; "": they were run.
	Import string `json:"import,omitempty"`
	// Set is what was set in all configurations over what the suite says.
	Set []Setting `json:"set,omitempty"`
	// Configurations are those of the results that are as this suite has them, Scorers those that judge as it says.
	Configurations []string `json:"configurations,omitempty"`
	Scorers        []string `json:"scorers,omitempty"`
	// Files are the hashes of what makes the suite, and Data those of the data sets and images that are copied; Programs those
	// of files that programs were given, which are not copied.
	Files    map[string]string `json:"files"`
	Data     map[string]string `json:"data,omitempty"`
	Programs map[string]string `json:"programs,omitempty"`
}

// Setting is a parameter, and its value as YAML.
type Setting struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

// DataFile is a file that a suite names, and the hash of its bytes.
type DataFile struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
}

// ConfigurationHead is what reports need to know of a configuration.
type ConfigurationHead struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"` // equal configurations, run once
	Loop    string   `json:"loop"`              // the hash of the resolved loop
	// Contents identifies the contents of the files that its programs are given.
	Contents string  `json:"contents,omitempty"`
	Params   []Param `json:"params,omitempty"` // those set, in the order declared
	// Of is the configuration of the suite in which the parameters are set; "": the suite has this one itself.
	Of     string      `json:"of,omitempty"`
	Phases []PhaseHead `json:"phases,omitempty"`
	// MaxIterations is the explicit limit, 0 without one; EffectiveMax
	// the one that is in force.
	MaxIterations int `json:"max_iterations,omitempty"`
	EffectiveMax  int `json:"effective_max,omitempty"`
	// Steps are the limits of the steps that agents make within one iteration.
	Steps []StepsHead `json:"steps,omitempty"`
	// Completes means that an agent may end a run as a success of the loop.
	Completes bool `json:"completes,omitempty"`
	// Programs are the versions of the coding agents that have a recipe, as they print them. Of several versions of one, whose runs
	// were mixed, the latest is the last.
	Programs []ProgramHead `json:"programs,omitempty"`
	// LeftRace is after how many tasks, or clusters of them, it left a race: it has no
	// runs of the others. 0: it did not.
	LeftRace int `json:"left_race_after,omitempty"`
}

// ProgramHead is a coding agent and its version.
type ProgramHead struct {
	Program string `json:"program"` // its recipe
	Version string `json:"version"` // the first line of what it prints for --version
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
	Main  bool   `json:"main,omitempty"` // the main conversation of a program alone counts
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
func (t *Totals) Add(status Status, agent, judging, user Usage) {
	switch status {
	case Completed:
		t.Completed++
	case Failed:
		t.Failed++
	case Faulted:
		t.Faults++
	case Cancelled:
		t.Cancelled++
	}
	t.Usage = t.Usage.Plus(agent)
	t.Judging = t.Judging.Plus(judging)
	t.User = t.User.Plus(user)
}

// ReadManifest reads the manifest of a result folder. One that is not as it was written, or is missing beside records, is a
// *[Damage]. The error is an fs.ErrNotExist where there are no results.
func ReadManifest(dir string) (Manifest, error) {
	path := filepath.Join(dir, manifestFile)
	m, err := readManifest(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, beside := os.Stat(filepath.Join(dir, recordsFile)); beside == nil {
			return m, &Damage{File: path, What: "it is missing"}
		}
	}
	return m, err
}

func readManifest(path string) (m Manifest, err error) {
	text, err := readWhole(path)
	if err != nil {
		return m, fmt.Errorf("reading the manifest: %w", err)
	}
	object, err := checkedManifest(text)
	if err == nil {
		err = decode(object, &m)
	}
	if err == nil {
		err = m.valid()
	}
	if err != nil {
		return m, &Damage{File: path, What: err.Error()}
	}
	switch {
	case m.Version > Version:
		return m, fmt.Errorf("%s was written by a newer agentbench (format %d, this one knows %d)",
			path, m.Version, Version)
	case m.Version < oldest:
		return m, fmt.Errorf("%s was written by an older agentbench (format %d, this one knows %d and later), or is no manifest",
			path, m.Version, oldest)
	}
	return m, nil
}

func (m *Manifest) valid() error {
	if shards := m.Volatile.Shards; shards != nil && !shards.valid() {
		return errors.New("invalid shards")
	}
	return m.countable()
}

// countable refuses numbers of tasks and trials that no suite has, which would
// make nonsense of the coverage.
func (m *Manifest) countable() error {
	if min(m.Tasks, m.Trials) < 0 || max(m.Tasks, m.Trials) > math.MaxInt32 {
		return fmt.Errorf("invalid numbers of tasks (%d) or trials (%d)", m.Tasks, m.Trials)
	}
	return nil
}

// manifestHead begins a manifest, which is indented for its readers: the checksum, as lines have it, of all that follows.
const manifestHead = "{\n  \"crc\": \"%08x\","

// encodeManifest writes a manifest without what redact hides; nil hides nothing.
func encodeManifest(m *Manifest, redact func([]byte) []byte) ([]byte, error) {
	m.Version = Version
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the manifest: %w", err)
	}
	if redact != nil {
		text = redact(text)
	}
	return sealManifest(append(text, '\n')), nil
}

// sealManifest puts the checksum into a manifest.
func sealManifest(text []byte) []byte {
	text = text[1:] // behind the brace
	return append(fmt.Appendf(nil, manifestHead, crc32.Checksum(text, castagnoli)), text...)
}

// checkedManifest is the object in a manifest, without its checksum.
func checkedManifest(text []byte) ([]byte, error) {
	begin, _, _ := strings.Cut(manifestHead, "%")
	head := len(begin) + len(`00000000",`)
	if len(text) < head || !bytes.HasPrefix(text, []byte(begin)) {
		return nil, errors.New("this is not a manifest of agentbench, or its beginning is damaged")
	}
	rest := text[head:]
	if string(text[:head]) != fmt.Sprintf(manifestHead, crc32.Checksum(rest, castagnoli)) {
		return nil, errChecksum
	}
	return append([]byte("{"), rest...), nil
}

// Effort is what runs really took, all attempts at them together: unlike their
// usage, which is as if nothing came from a cache and nothing was done twice. What was
// spent is in the ledger.
type Effort struct {
	Cached int64         `json:"cached,omitempty"`    // calls that the cache answered
	Made   int64         `json:"made,omitempty"`      // calls that it did not
	Waited time.Duration `json:"waited_ns,omitempty"` // rate limits and back-off
}

// Add counts a run.
func (e *Effort) Add(r *Run) {
	v := &r.Volatile
	e.Cached += int64(v.Cached)
	e.Made += r.Total().Calls - int64(v.Cached)
	e.Waited += v.Waited
}

// Plus is the sum of both.
func (e Effort) Plus(f Effort) Effort {
	e.Cached += f.Cached
	e.Made += f.Made
	e.Waited += f.Waited
	return e
}
