package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
)

// keepEarlier leaves in a manifest what the folder holds already: who selects or
// declares less than before does not make it smaller.
func keepEarlier(before, m *record.Manifest) error {
	m.Tasks, m.Trials = max(m.Tasks, before.Tasks), max(m.Trials, before.Trials)
	if err := keepConfigurations(before, m); err != nil {
		return err
	}
	for _, hash := range before.Mixed {
		if hash != m.SpecHash && !slices.Contains(m.Mixed, hash) {
			m.Mixed = append(m.Mixed, hash)
		}
	}
	m.Totals = before.Totals
	m.Totals.Planned = m.Tasks * m.Trials * len(m.Configurations)
	return nil
}

// keepConfigurations adds those that only former sessions ran.
func keepConfigurations(before, m *record.Manifest) error {
	var resolved struct{ Configurations map[string]json.RawMessage }
	if err := readSpec(before.Spec, &resolved); err != nil {
		return err
	}
	for i := range before.Configurations {
		head := before.Configurations[i]
		same := func(c record.ConfigurationHead) bool { return c.Name == head.Name }
		if slices.ContainsFunc(m.Configurations, same) {
			continue
		}
		name, err := json.Marshal(head.Name)
		if err != nil {
			return fmt.Errorf("writing the resolved spec: %w", err)
		}
		loop := resolved.Configurations[head.Name]
		if loop == nil {
			return fmt.Errorf("the resolved spec has no configuration %q, which the manifest names", head.Name)
		}
		m.Configurations = append(m.Configurations, head)
		m.Spec = slices.Concat(m.Spec[:len(m.Spec)-len("}}")], []byte{','}, name, []byte{':'}, loop, []byte("}}"))
		if head.Name == before.Baseline && m.Baseline == "" {
			m.Baseline = head.Name
		}
	}
	var err error
	m.SpecHash, err = specHash(m)
	return err
}

// countLeft counts the planned runs that are still to be made.
func (j *job) countLeft() (left int, err error) {
	for item, err := range j.plan.Items(j.Tasks()) {
		if err != nil {
			return 0, fmt.Errorf("counting what is to be done: %w", err)
		}
		if !j.earlier.done(item.ID) {
			left++
		}
	}
	return left, nil
}
