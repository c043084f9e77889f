package results

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Writer says who writes manifests, and what they leave out.
type Writer struct {
	Version string // of agentbench
	Started time.Time
	// Redact takes secrets out, so that a new key is no other spec.
	Redact func([]byte) []byte
}

// Manifest says under which spec the runs of a plan come to be.
func (w Writer) Manifest(d *spec.Document, planned *plan.Plan) (record.Manifest, error) {
	m := record.Manifest{
		Suite: d.Suite.Name, Agentbench: w.Version, Seed: d.Suite.Seed, Status: record.StateRunning,
		Baseline: PlannedBaseline(d.Suite, planned), Tasks: planned.Tasks, Trials: planned.Trials, Scorers: []string{},
		Metrics: Metrics(d.Suite.SingleMetrics()), PricesAsOf: d.Suite.PricesAsOf,
		Totals:   record.Totals{Planned: planned.Runs()},
		Volatile: record.ManifestVolatile{Started: w.Started.UTC(), Shards: shardsOf(planned)},
	}
	m.Incomplete = m.Volatile.Shards.Incomplete()
	for i := range d.Suite.Scorers {
		m.Scorers = append(m.Scorers, d.Suite.Scorers[i].Name)
	}
	for i := range d.Suite.Models {
		if d.Suite.Models[i].Value.Provider == "simulate" {
			m.Simulated = append(m.Simulated, d.Suite.Models[i].Key)
		}
	}
	for i := range planned.Configurations {
		head, err := configurationHead(&planned.Configurations[i])
		if err != nil {
			return m, err
		}
		m.Configurations = append(m.Configurations, head)
	}
	files, err := d.DataFiles()
	if err != nil {
		return m, fmt.Errorf("hashing the data: %w", err)
	}
	for _, f := range files {
		m.Data = append(m.Data, record.DataFile(f))
	}
	m.SpecHash, err = w.hash(d.Suite, &m)
	return m, err
}

// hash identifies what the runs of a manifest are made of.
func (w Writer) hash(s *spec.Suite, m *record.Manifest) (string, error) {
	b, err := w.Binding(s, m)
	if err != nil {
		return "", err
	}
	return b.Hash()
}

// Metrics are the metrics as manifests have them.
func Metrics(all []spec.SingleMetric) (heads []record.MetricHead) {
	for _, m := range all {
		heads = append(heads, record.MetricHead{Name: m.Name, Score: m.Score, Reduce: m.Reduce, K: m.K, Threshold: m.Threshold, By: m.By})
	}
	return heads
}

// PlannedBaseline is the suite's baseline, where its configuration is part of the plan.
func PlannedBaseline(s *spec.Suite, planned *plan.Plan) string {
	for i := range planned.Configurations {
		if c := &planned.Configurations[i]; c.Called(s.Baseline) {
			return c.Name
		}
	}
	return ""
}

func configurationHead(c *spec.Resolved) (record.ConfigurationHead, error) {
	limit, derived, _ := c.Loop.EffectiveMax()
	head := record.ConfigurationHead{Name: c.Name, Of: c.Of, Aliases: c.Aliases, Loop: c.Hash, Contents: c.Loop.Contents(), EffectiveMax: limit}
	if !derived {
		head.MaxIterations = limit
	}
	for _, phase := range c.Loop.Phases {
		head.Phases = append(head.Phases, record.PhaseHead{Name: phase.Name, Limit: phase.MaxIterations})
	}
	for _, limit := range c.Loop.StepLimits() {
		head.Steps = append(head.Steps, record.StepsHead(limit))
	}
	head.Completes = slices.ContainsFunc(c.Loop.Stages(), func(s spec.Stage) bool { return len(s.Agent.Completing()) > 0 })
	for _, param := range c.Params {
		value, err := json.Marshal(param.Value)
		if err != nil {
			return head, fmt.Errorf("writing the parameter %s of %s: %w", param.Path, c.Name, err)
		}
		head.Params = append(head.Params, record.Param{Path: param.Path, Value: value})
	}
	return head, nil
}

// Count puts into a manifest what the runs of its folder come to, and its ledger. That of a
// session which was killed does not say it.
func Count(dir string, m *record.Manifest) error {
	balance, err := record.ReadLedger(dir, m)
	if err != nil {
		return exit.Unmeasured(err)
	}
	if balance.Kept {
		m.Volatile.Ledger = new(balance.Spent())
	}
	m.Totals = record.Totals{Planned: m.Totals.Planned}
	for r, err := range record.ReadLight(dir) {
		if err != nil {
			return exit.Unmeasured(fmt.Errorf("counting the runs: %w", err))
		}
		m.Totals.Add(r.Outcome.Status, r.Usage, r.Judging, r.User)
	}
	return nil
}

// Measured is how many runs of a folder count.
func Measured(m *record.Manifest) int { return m.Totals.Completed + m.Totals.Failed }

// Rescored is how the runs of a folder are judged from now on.
type Rescored struct {
	Writer
	*Folder          // as it was
	Scorers []string // of the suite, in its order
	Judging []string // those that judged now
	Removed []string // those whose scores were taken back
	// Suite has the scorers that judged, of which Copies are kept; nil: they are the recorded ones.
	Suite  *spec.Document
	Copies *Copies
	// Whole means that the suite takes the place of the recorded one with all that it says of results.
	Whole bool
}

// Into puts into a manifest by which scorers its runs are judged, and keeps a copy of the suite that has them.
func (r *Rescored) Into(m *record.Manifest) (err error) {
	known, declared := m.Scorers, r.Declared()
	m.Scorers = []string{}
	for _, name := range r.Scorers {
		if !slices.Contains(r.Removed, name) && (slices.Contains(r.Judging, name) || slices.Contains(known, name)) {
			m.Scorers = append(m.Scorers, name)
		}
	}
	for _, name := range known {
		if !slices.Contains(m.Scorers, name) && !slices.Contains(r.Removed, name) {
			m.Scorers = append(m.Scorers, name)
		}
	}
	m.Metrics = r.metrics(m, declared)
	if r.Suite != nil {
		if err := r.take(m, declared); err != nil {
			return err
		}
	}
	for i := range m.Specs {
		m.Specs[i].Scorers = slices.DeleteFunc(slices.Clone(m.Specs[i].Scorers), func(name string) bool { return slices.Contains(r.Removed, name) })
	}
	if r.Suite == nil && len(r.Removed) == 0 {
		return nil
	}
	now, err := Open(&record.Results{Path: r.Path, Manifest: *m}, nil)
	if err != nil {
		return err
	}
	m.SpecHash, err = r.hash(now.Document.Suite, m)
	return err
}

// take has the scorers of the suite that judged, and those that were not declared before, judge as the suite says.
func (r *Rescored) take(m *record.Manifest, declared []string) error {
	taken, err := r.Copies.Keep(r.Path, m.Specs)
	if err != nil {
		return err
	}
	for i := range r.Suite.Suite.Scorers {
		name := r.Suite.Suite.Scorers[i].Name
		if slices.Contains(m.Scorers, name) && (slices.Contains(r.Judging, name) || !slices.Contains(declared, name)) {
			taken.Scorers = append(taken.Scorers, name)
		}
	}
	specs, at := slices.Clone(m.Specs), 0
	for i := range specs {
		specs[i].Scorers = slices.DeleteFunc(slices.Clone(specs[i].Scorers), func(name string) bool { return slices.Contains(taken.Scorers, name) })
	}
	if same := slices.IndexFunc(specs, func(s record.Spec) bool { return s.Dir == taken.Dir }); same >= 0 {
		at, taken.Configurations, taken.Scorers = same, specs[same].Configurations, append(taken.Scorers, specs[same].Scorers...)
		specs = slices.Delete(specs, same, same+1)
	}
	if r.Whole { // the last one has the thresholds
		at = len(specs)
	}
	specs = slices.Insert(specs, at, taken)
	last := specs[len(specs)-1].Dir
	m.Specs = slices.DeleteFunc(specs, func(s record.Spec) bool { return len(s.Configurations)+len(s.Scorers) == 0 && s.Dir != last })
	for _, f := range r.Copies.data { // of recorded answers that were not there
		if !slices.ContainsFunc(m.Data, func(d record.DataFile) bool { return d.Name == f.Name }) {
			m.Data = append(m.Data, record.DataFile(f))
		}
	}
	return nil
}

// metrics are those of the suite, and those of other scorers that there are.
func (r *Rescored) metrics(m *record.Manifest, declared []string) []record.MetricHead {
	heads := slices.Clone(m.Metrics)
	if r.Suite != nil && r.Whole {
		heads = Metrics(r.Suite.Suite.SingleMetrics())
		for _, head := range m.Metrics {
			same := func(h record.MetricHead) bool { return h.Name == head.Name }
			if !slices.Contains(declared, head.Score) && !slices.ContainsFunc(heads, same) {
				heads = append(heads, head)
			}
		}
	}
	known := func(name string) bool { return name == "" || slices.Contains(m.Scorers, name) }
	return slices.DeleteFunc(heads, func(h record.MetricHead) bool { return !known(h.Score) || !known(h.By) })
}

// Declared are the scorers that the suite of the folder declares, those that judged the log of another tool not among them.
func (f *Folder) Declared() (names []string) {
	for i := range f.Document.Suite.Scorers {
		names = append(names, f.Document.Suite.Scorers[i].Name)
	}
	return names
}
