package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// importedTasks is the file of an imported folder that holds its tasks.
const importedTasks = "tasks.jsonl"

// importFolder is a result folder that runs of a log are written to.
type importFolder struct {
	journal    *record.Journal
	manifest   record.Manifest
	tasksFile  *os.File
	tasks      *bufio.Writer
	redact     func([]byte) []byte
	iterations int
}

// makeFolder begins a result folder.
func (im *importing) makeFolder() (*importFolder, error) {
	f := &importFolder{redact: im.secrets.Redact, manifest: record.Manifest{
		Suite: im.mapping.Name, Agentbench: version(), Status: record.StateRunning, Scorers: []string{}, Configurations: []record.ConfigurationHead{},
		Volatile: record.ManifestVolatile{Started: im.now().UTC()},
	}}
	if err := newFolder(im.dir); err != nil {
		return nil, err
	}
	var err error
	f.journal, err = record.Create(im.dir, f.manifest, im.recording())
	switch {
	case errors.Is(err, record.ErrExists):
		return nil, usage("name another folder with --out", "there are results in %s already", im.dir)
	case err != nil:
		return nil, fail(notMeasured, "name a folder that can be written to with --out", "making the results: %w", err)
	}
	if f.tasksFile, err = os.Create(filepath.Join(im.dir, importedTasks)); err != nil {
		return nil, errors.Join(fail(notMeasured, "", "writing the tasks: %w", err), f.journal.Close())
	}
	f.tasks = bufio.NewWriter(f.tasksFile)
	return f, nil
}

// add writes a run.
func (f *importFolder) add(i *imports.Imported) error {
	if err := f.journal.Append(i.Run, i.Scores, nil); err != nil {
		return err
	}
	m := &f.manifest
	m.Totals.Planned++
	m.Totals.Add(&record.Signals{Outcome: i.Run.Outcome, Usage: i.Run.Usage})
	m.Trials = max(m.Trials, i.Run.Trial)
	f.iterations += len(i.Run.Iterations)
	for k := range i.Scores {
		if name := i.Scores[k].Name; !slices.Contains(m.Scorers, name) {
			m.Scorers = append(m.Scorers, name)
		}
	}
	if !i.NewTask {
		return nil
	}
	m.Tasks++
	return f.addTask(i.Task)
}

func (f *importFolder) addTask(t *spec.Task) error {
	line := expr.NewObject(5)
	line.Set("id", t.ID)
	line.Set("input", t.Input)
	if t.Input == nil {
		line.Set("input", "")
	}
	for _, part := range []struct {
		key   string
		value any
	}{{"target", t.Target}, {"vars", t.Vars}, {"metadata", t.Metadata}} {
		if part.value != nil {
			line.Set(part.key, part.value)
		}
	}
	text, err := expr.AppendJSON(nil, line)
	if err != nil {
		return fmt.Errorf("writing the tasks: %w", err)
	}
	_, err = f.tasks.Write(append(f.redact(text), '\n'))
	return err
}

// finish writes what is known only at the end, and closes the folder.
func (im *importing) finish(state record.State) error {
	f := im.folder
	m := &f.manifest
	m.Status, m.Data = state, im.data
	m.Volatile.Finished = im.now().UTC()
	m.Volatile.Wall = m.Volatile.Finished.Sub(m.Volatile.Started)
	err := im.describe(m)
	if err == nil {
		err = f.tasks.Flush()
	}
	err = errors.Join(err, f.tasksFile.Close())
	if err == nil {
		err = f.journal.WriteManifest(*m)
	}
	if err = errors.Join(err, f.journal.Close()); err != nil {
		return fail(notMeasured, "", "%w", err)
	}
	return nil
}

// describe puts into a manifest the suite that would have made the runs: its
// loops cannot be run, but replayed.
func (im *importing) describe(m *record.Manifest) error {
	m.Metrics = metricHeads(im.mapping.SingleMetrics(m.Scorers))
	var loops []spec.Resolved
	for _, name := range im.importer.Configurations() {
		recorded, err := im.importer.Recorded(name)
		if err != nil {
			return err
		}
		loops = append(loops, spec.Resolved{Name: name, Loop: recorded.Loop, Hash: recorded.Loop.Hash()})
		head, err := configurationHead(&loops[len(loops)-1])
		if err != nil {
			return err
		}
		m.Configurations = append(m.Configurations, head)
	}
	resolved, err := importedSpec(im.mapping, loops)
	if err != nil {
		return err
	}
	m.Spec = im.secrets.Redact(resolved)
	m.SpecHash, err = specHash(m)
	return err
}

// importedSpec is the resolved spec of imported runs: a suite, the mapping, and
// the loop of each configuration.
func importedSpec(m *spec.Import, loops []spec.Resolved) (json.RawMessage, error) {
	models, configurations := &source.Object{}, []any{}
	for i := range loops {
		models.Keys = append(models.Keys, loops[i].Name)
		models.Values = append(models.Values, plainObject("provider", "script", "responses", []any{"recorded"}))
		configurations = append(configurations, plainObject("name", loops[i].Name, "loop", loops[i].Name))
	}
	suite := plainObject("suite", m.Name, "tasks", importedTasks, "models", models, "configurations", configurations)
	b, err := appendKey([]byte{'{'}, "suite", suite)
	if err != nil {
		return nil, err
	}
	if b, err = appendKey(append(b, ','), "import", m.Tree.Plain()); err != nil {
		return nil, err
	}
	b = append(b, `,"configurations":{`...)
	for i := range loops {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendKey(b, loops[i].Name, loops[i].Loop.Tree.Plain()); err != nil {
			return nil, err
		}
	}
	return append(b, "}}"...), nil
}

func plainObject(pairs ...any) *source.Object {
	o := &source.Object{}
	for i := 0; i < len(pairs); i += 2 {
		key, _ := pairs[i].(string)
		o.Keys, o.Values = append(o.Keys, key), append(o.Values, pairs[i+1])
	}
	return o
}
