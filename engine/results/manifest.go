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
	resolved, err := Resolve(d.Suite, planned.Configurations)
	if err != nil {
		return m, err
	}
	if err := w.describe(&m, resolved, planned.Configurations); err != nil {
		return m, err
	}
	files, err := d.DataFiles()
	if err != nil {
		return m, fmt.Errorf("hashing the data: %w", err)
	}
	for _, f := range files {
		m.Data = append(m.Data, record.DataFile(f))
	}
	m.SpecHash, err = Hash(&m)
	return m, err
}

// describe puts a resolved spec and its configurations into a manifest.
func (w Writer) describe(m *record.Manifest, resolved *Resolved, configurations []spec.Resolved) error {
	for i := range configurations {
		head, err := configurationHead(&configurations[i])
		if err != nil {
			return err
		}
		m.Configurations = append(m.Configurations, head)
	}
	text, err := json.Marshal(resolved)
	if err != nil {
		return fmt.Errorf("writing the resolved spec: %w", err)
	}
	m.Spec = w.Redact(text)
	return nil
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
	head := record.ConfigurationHead{Name: c.Name, Aliases: c.Aliases, Loop: c.Hash, Contents: c.Loop.Contents(), EffectiveMax: limit}
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
	m.Volatile.Ledger = record.SealOf(dir, m)
	m.Totals = record.Totals{Planned: m.Totals.Planned}
	for s, err := range record.Sound(record.ReadSignals(dir)) {
		if err != nil {
			return exit.Unmeasured(fmt.Errorf("counting the runs: %w", err))
		}
		m.Totals.Add(s.Outcome.Status, s.Usage, s.Judging, s.User)
	}
	return nil
}

// Measured is how many runs of a folder count.
func Measured(m *record.Manifest) int { return m.Totals.Completed + m.Totals.Failed }

// Rescored is how the runs of a folder are judged from now on.
type Rescored struct {
	Writer
	Scorers []string // of the suite, in its order
	Judging []string // those that judged now
	Removed []string // those whose scores were taken back
	// Suite was edited since the runs were made; nil: its scorers are the recorded ones.
	Suite *spec.Document
	// Added has scorers that no suite declares; nil: there are none.
	Added *Resolved
	// Whole means that all scorers of the suite judge, and not only some.
	Whole bool
}

// Into puts into a manifest by which scorers its runs are judged.
func (r *Rescored) Into(m *record.Manifest) (err error) {
	known := m.Scorers
	m.Scorers = []string{}
	for _, name := range r.Scorers { // first those of the suite
		if !slices.Contains(r.Removed, name) && (slices.Contains(r.Judging, name) || slices.Contains(known, name)) {
			m.Scorers = append(m.Scorers, name)
		}
	}
	for _, name := range known {
		if !slices.Contains(m.Scorers, name) && !slices.Contains(r.Removed, name) {
			m.Scorers = append(m.Scorers, name)
		}
	}
	m.Metrics = r.metrics(m)
	if r.Suite == nil && r.Added == nil && len(r.Removed) == 0 {
		return nil
	}
	now := r.Added
	if r.Suite != nil { // without secrets, as manifests have it
		if now, err = Resolve(r.Suite.Suite, nil); err != nil {
			return err
		}
		var clean record.Manifest
		if err = r.describe(&clean, now, nil); err == nil {
			now, err = ReadResolved(&clean)
		}
		if err != nil {
			return err
		}
	}
	if err := TakeOverScorers(m, now, r.Judging, r.Whole); err != nil {
		return err
	}
	if r.Suite != nil { // files of recorded answers that were not there
		files, err := r.Suite.DataFiles()
		if err != nil {
			return fmt.Errorf("hashing the data: %w", err)
		}
		for _, f := range files {
			if !slices.ContainsFunc(m.Data, func(d record.DataFile) bool { return d.Name == f.Name }) {
				m.Data = append(m.Data, record.DataFile(f))
			}
		}
	}
	m.SpecHash, err = Hash(m)
	return err
}

// metrics are those of the suite, and those of other scorers that there are.
func (r *Rescored) metrics(m *record.Manifest) []record.MetricHead {
	heads := slices.Clone(m.Metrics)
	if r.Suite != nil && r.Whole {
		heads = Metrics(r.Suite.Suite.SingleMetrics())
		declared := DeclaredScorers(m)
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

// DeclaredScorers are the scorers that the recorded suite declares, those that judged the
// log of another tool not among them.
func DeclaredScorers(m *record.Manifest) (names []string) {
	var recorded struct {
		Suite struct{ Scorers []struct{ Name string } }
	}
	if json.Unmarshal(m.Spec, &recorded) != nil {
		return nil // it declares none that can be read
	}
	for _, scorer := range recorded.Suite.Scorers {
		names = append(names, scorer.Name)
	}
	return names
}
