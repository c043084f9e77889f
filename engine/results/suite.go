package results

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// resolved is the resolved spec of a manifest.
type resolved struct {
	Suite          map[string]json.RawMessage `json:"suite"`
	Import         *imported                  `json:"import"`
	Configurations map[string]json.RawMessage `json:"configurations"`
	Delegates      map[string]json.RawMessage `json:"delegates"` // loops, by the names of their files
}

// imported is what of a mapping matters for replay.
type imported struct {
	Announced []string `json:"announced"`
}

// tasksFile is the file of an imported folder that holds its tasks.
const tasksFile = "tasks.jsonl"

// suiteFile is the name of the suite in what faults print.
const suiteFile = "manifest.json"

// unused are the keys of a suite that name what is not in the folder, or that
// say nothing of recorded runs.
var unused = []string{"prices", "baseline", "thresholds", "budget"}

// optional are the keys without which runs can still be replayed.
var optional = []string{"scorers", "tune", "cluster", "metrics", "group_by", "margin"}

// whole is the suite of a manifest as it was recorded, with its models and its
// budget: its scorers can ask others. That takes that everything that the suite
// names is in the manifest.
func (r *resolved) whole(dir string, m *record.Manifest, env func(string) string) (*spec.Document, error) {
	at := files{texts: map[string][]byte{}, beneath: os.DirFS(dir)}
	suite, err := r.suite(dir, m, at.texts)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"prices", "budget"} {
		if value, ok := r.Suite[key]; ok {
			suite[key] = value
		}
	}
	if at.texts[suiteFile], err = json.Marshal(suite); err != nil {
		return nil, fmt.Errorf("writing the recorded suite: %w", err)
	}
	d, faults := spec.LoadFS(at, suiteFile, spec.Options{Env: env, Recorded: true})
	if d == nil {
		return nil, fmt.Errorf("reading the recorded spec: %w", faults.Err())
	}
	return d, nil
}

// document makes the suite of a manifest again, with the recorded loops for its
// configurations. What cannot be read of optional keys is left out.
func (r *resolved) document(dir string, m *record.Manifest) (*spec.Document, error) {
	at := files{texts: map[string][]byte{}, beneath: os.DirFS(dir)}
	suite, err := r.suite(dir, m, at.texts)
	if err == nil {
		err = r.withModels(suite)
	}
	if err != nil {
		return nil, err
	}
	for {
		if at.texts[suiteFile], err = json.Marshal(suite); err != nil {
			return nil, fmt.Errorf("writing the recorded suite: %w", err)
		}
		d, faults := spec.LoadFS(at, suiteFile, spec.Options{Env: func(string) string { return "" }, Recorded: true})
		if d != nil {
			return d, nil
		}
		if !drop(suite) {
			return nil, fmt.Errorf("reading the recorded spec: %w", faults.Err())
		}
	}
}

// drop takes the optional keys out, and says whether there was one.
func drop(suite map[string]any) (dropped bool) {
	for _, key := range optional {
		if _, ok := suite[key]; ok {
			delete(suite, key)
			dropped = true
		}
	}
	return dropped
}

// suite is the suite as JSON, and the loops as files.
func (r *resolved) suite(dir string, m *record.Manifest, texts map[string][]byte) (map[string]any, error) {
	suite := map[string]any{}
	for key, value := range r.Suite {
		suite[key] = value
	}
	for _, key := range unused {
		delete(suite, key)
	}
	var configurations []map[string]string
	for i := range m.Configurations {
		name := m.Configurations[i].Name
		loop, ok := r.Configurations[name]
		if !ok {
			return nil, fmt.Errorf("the manifest has no loop of the configuration %q", name)
		}
		file := fmt.Sprintf("loop-%d", i+1)
		texts[file] = loop
		configurations = append(configurations, map[string]string{"name": name, "loop": file})
	}
	for file, loop := range r.Delegates {
		texts[file] = loop
	}
	suite["configurations"] = configurations
	suite["tasks"] = r.tasks(dir)
	if m.Baseline != "" {
		suite["baseline"] = m.Baseline
	}
	return suite, nil
}

// tasks are those that stand in the suite or in the folder; else one that no run
// is of.
func (r *resolved) tasks(dir string) any {
	var inline []json.RawMessage
	if json.Unmarshal(r.Suite["tasks"], &inline) == nil {
		return inline
	}
	if r.tasksBeside(dir) {
		return tasksFile
	}
	return []map[string]string{{"id": "unknown", "input": "unknown"}}
}

// tasksBeside says that the tasks stand in a file of the folder.
func (r *resolved) tasksBeside(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, tasksFile))
	return r.Import != nil && err == nil
}

// knowsTasks says that the tasks of the runs are at hand.
func (r *resolved) knowsTasks(dir string) bool {
	var inline []json.RawMessage
	return json.Unmarshal(r.Suite["tasks"], &inline) == nil || r.tasksBeside(dir)
}

// withModels puts models of the same names in the place of those that would call
// something: nothing is run.
func (r *resolved) withModels(suite map[string]any) error {
	if r.Suite["models"] == nil {
		return nil
	}
	var models map[string]json.RawMessage
	if err := json.Unmarshal(r.Suite["models"], &models); err != nil {
		return fmt.Errorf("reading the recorded models: %w", err)
	}
	stand := map[string]any{}
	for name := range models {
		stand[name] = map[string]any{"provider": "script", "responses": []string{"recorded"}, "price": "free"}
	}
	suite["models"] = stand
	return nil
}
