package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
)

// takeOver puts into the manifest by which scorers the runs are judged now.
func (s *scoring) takeOver() error {
	s.manifest.Scorers = s.standing()
	s.manifest.Metrics = s.metrics()
	if !s.edited && len(s.remove) == 0 {
		return nil
	}
	if err := s.takeOverSpec(); err != nil {
		return err
	}
	if s.edited {
		if err := s.takeOverData(); err != nil {
			return err
		}
	}
	var err error
	s.manifest.SpecHash, err = specHash(&s.manifest)
	return err
}

// standing are the names of the scorers that have judged: those of the suite in
// its order, then the others.
func (s *scoring) standing() []string {
	names := []string{}
	for _, v := range s.set.Versions() {
		if !slices.Contains(s.remove, v.Name) && (slices.Contains(s.judging, v.Name) || slices.Contains(s.manifest.Scorers, v.Name)) {
			names = append(names, v.Name)
		}
	}
	for _, name := range s.manifest.Scorers {
		if !slices.Contains(names, name) && !slices.Contains(s.remove, name) {
			names = append(names, name)
		}
	}
	return names
}

// metrics are those of the suite, and those of other scorers that there are.
func (s *scoring) metrics() []record.MetricHead {
	heads := slices.Clone(s.manifest.Metrics)
	if s.edited && len(s.flags.scorers) == 0 {
		heads = metricHeads(s.suite.Suite.SingleMetrics())
		for _, head := range s.manifest.Metrics {
			same := func(h record.MetricHead) bool { return h.Name == head.Name }
			if !slices.Contains(s.declared(), head.Score) && !slices.ContainsFunc(heads, same) {
				heads = append(heads, head)
			}
		}
	}
	known := func(name string) bool { return name == "" || slices.Contains(s.manifest.Scorers, name) }
	return slices.DeleteFunc(heads, func(h record.MetricHead) bool { return !known(h.Score) || !known(h.By) })
}

// taken are the keys of a suite that go with its scorers.
var taken = []string{"metrics", "thresholds", "budget"}

// takeOverSpec puts the scorers that judge now in the place of the recorded ones,
// with what goes with them.
func (s *scoring) takeOverSpec() error {
	var whole, was, is map[string]json.RawMessage
	if err := json.Unmarshal(s.manifest.Spec, &whole); err != nil {
		return fmt.Errorf("reading the recorded spec: %w", err)
	}
	if err := json.Unmarshal(whole["suite"], &was); err != nil {
		return fmt.Errorf("reading the recorded spec: %w", err)
	}
	if s.edited {
		text, err := resolvedSpec(s.suite.Suite, nil)
		if err != nil {
			return err
		}
		now := struct{ Suite map[string]json.RawMessage }{}
		if err := json.Unmarshal(s.secrets.Redact(text), &now); err != nil {
			return fmt.Errorf("writing the spec: %w", err)
		}
		is = now.Suite
	}
	if err := s.takeOverScorers(was, is); err != nil {
		return err
	}
	if s.edited && len(s.flags.scorers) == 0 {
		for _, key := range taken {
			put(was, key, is[key])
		}
	}
	if err := s.takeOverModels(was, is, whole["configurations"]); err != nil {
		return err
	}
	var err error
	if whole["suite"], err = json.Marshal(was); err == nil {
		s.manifest.Spec, err = json.Marshal(whole)
	}
	return err
}

// put sets a key, or takes it out.
func put(object map[string]json.RawMessage, key string, value json.RawMessage) {
	if value == nil {
		delete(object, key)
		return
	}
	object[key] = value
}

// takeOverScorers makes the list of scorers: each as the suite has it that judges
// now, else as it was recorded.
func (s *scoring) takeOverScorers(was, is map[string]json.RawMessage) error {
	old, err := namedScorers(was["scorers"])
	if err != nil {
		return err
	}
	now, err := namedScorers(is["scorers"])
	if err != nil {
		return err
	}
	var list []json.RawMessage
	for _, name := range s.manifest.Scorers {
		declared, ok := now[name]
		if !ok || !slices.Contains(s.judging, name) {
			if before, recorded := old[name]; recorded {
				declared, ok = before, true
			}
		}
		if ok {
			list = append(list, declared)
		}
	}
	if list == nil {
		delete(was, "scorers")
		return nil
	}
	was["scorers"], err = json.Marshal(list)
	return err
}

func namedScorers(text json.RawMessage) (map[string]json.RawMessage, error) {
	var list []json.RawMessage
	if len(text) > 0 {
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("reading the scorers of the spec: %w", err)
		}
	}
	named := map[string]json.RawMessage{}
	for _, declared := range list {
		var head struct{ Name string }
		if err := json.Unmarshal(declared, &head); err != nil {
			return nil, fmt.Errorf("reading the scorers of the spec: %w", err)
		}
		named[head.Name] = declared
	}
	return named, nil
}

// takeOverModels adds the models that the scorers of the suite ask, and replaces
// those that no recorded loop asks.
func (s *scoring) takeOverModels(was, is map[string]json.RawMessage, loops json.RawMessage) error {
	if is["models"] == nil {
		return nil
	}
	old, now := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if len(was["models"]) > 0 {
		if err := json.Unmarshal(was["models"], &old); err != nil {
			return fmt.Errorf("reading the recorded models: %w", err)
		}
	}
	if err := json.Unmarshal(is["models"], &now); err != nil {
		return fmt.Errorf("reading the models: %w", err)
	}
	for name, declared := range now {
		quoted, err := json.Marshal(name)
		if err != nil {
			return err
		}
		if _, recorded := old[name]; !recorded || !bytes.Contains(loops, append([]byte(`"model":`), quoted...)) {
			old[name] = declared
		}
	}
	var err error
	was["models"], err = json.Marshal(old)
	return err
}

// takeOverData adds files of recorded answers that were not there.
func (s *scoring) takeOverData() error {
	files, err := s.suite.DataFiles()
	if err != nil {
		return fmt.Errorf("hashing the data: %w", err)
	}
	for _, f := range files {
		if !slices.ContainsFunc(s.manifest.Data, func(d record.DataFile) bool { return d.Name == f.Name }) {
			s.manifest.Data = append(s.manifest.Data, record.DataFile(f))
		}
	}
	return nil
}
