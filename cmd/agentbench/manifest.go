package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// manifest says under which spec the results of a job come to be.
func (p *program) manifest(j *job) (record.Manifest, error) {
	resolved, err := resolvedSpec(j.Suite, j.plan.Configurations)
	if err != nil {
		return record.Manifest{}, err
	}
	m := record.Manifest{
		Suite: j.Suite.Name, Agentbench: version(), Seed: j.Suite.Seed, Status: record.StateRunning,
		Spec:     p.secrets.Redact(resolved), // a new key is no other spec
		Baseline: j.baseline(), Tasks: j.plan.Tasks, Trials: j.plan.Trials, Scorers: []string{},
		PricesAsOf: j.Suite.PricesAsOf,
		Totals:     record.Totals{Planned: j.plan.Runs()},
		Volatile:   record.ManifestVolatile{Started: p.now().UTC(), Shards: shardsOf(j.plan)},
	}
	m.Incomplete = m.Volatile.Shards.Incomplete()
	for i := range j.Suite.Scorers {
		m.Scorers = append(m.Scorers, j.Suite.Scorers[i].Name)
	}
	m.Metrics = metricHeads(j.Suite.SingleMetrics())
	for i := range j.Suite.Models {
		if j.Suite.Models[i].Value.Provider == "simulate" {
			m.Simulated = append(m.Simulated, j.Suite.Models[i].Key)
		}
	}
	for i := range j.plan.Configurations {
		head, err := configurationHead(&j.plan.Configurations[i])
		if err != nil {
			return m, err
		}
		m.Configurations = append(m.Configurations, head)
	}
	if m.Data, err = j.data(); err != nil {
		return m, err
	}
	m.SpecHash, err = specHash(&m)
	return m, err
}

// metricHeads are the metrics as manifests have them.
func metricHeads(all []spec.SingleMetric) (heads []record.MetricHead) {
	for _, m := range all {
		heads = append(heads, record.MetricHead{Name: m.Name, Score: m.Score, Reduce: m.Reduce, K: m.K, Threshold: m.Threshold, By: m.By})
	}
	return heads
}

// data are the files that tasks and recorded answers come from.
func (j *job) data() ([]record.DataFile, error) {
	files, err := j.DataFiles()
	if err != nil {
		return nil, fmt.Errorf("hashing the data: %w", err)
	}
	var data []record.DataFile
	for _, f := range files {
		data = append(data, record.DataFile(f))
	}
	return data, nil
}

// baseline is the suite's, where its configuration is part of the plan.
func (j *job) baseline() string {
	for i := range j.plan.Configurations {
		if c := &j.plan.Configurations[i]; c.Name == j.Suite.Baseline || slices.Contains(c.Aliases, j.Suite.Baseline) {
			return c.Name
		}
	}
	return ""
}

func configurationHead(c *spec.Resolved) (record.ConfigurationHead, error) {
	limit, derived, _ := c.Loop.EffectiveMax()
	head := record.ConfigurationHead{Name: c.Name, Aliases: c.Aliases, Loop: c.Hash, EffectiveMax: limit}
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
