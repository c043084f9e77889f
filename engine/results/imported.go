package results

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Import makes a result folder of the logs of another tool.
type Import struct {
	*imports.Importer
	Writer
	Dir   string
	Stdin io.Reader // the log "-"
	Now   func() time.Time
	// Problem gets what cannot be read.
	Problem func(*imports.Problem)
	// Manifest, once Made, is that of the folder.
	Manifest   record.Manifest
	Made       bool // a run was read, and there is a folder
	Iterations int

	mapping   *spec.Import
	beside    map[string]bool // files that are read with others
	data      []record.DataFile
	journal   *record.Journal
	tasksFile *os.File
	tasks     *bufio.Writer
}

// NewImport reads logs by a mapping.
func NewImport(mapping *spec.Import) *Import {
	return &Import{Importer: imports.New(mapping), mapping: mapping}
}

// Label reads scores of runs that the log does not have.
func (im *Import) Label(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if im.Labels, err = imports.ReadLabels(path, file); err != nil {
		return err
	}
	return im.note(path)
}

// note notes the hash of a file that was read.
func (im *Import) note(path string) error {
	sum, err := hashOf(path)
	im.data = append(im.data, record.DataFile{Name: path, Hash: sum})
	return err
}

func hashOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return shortSum(sum), nil
}

func shortSum(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)[:16]) }

// Read reads files until they end, or the context does, and closes the folder. It returns
// what could not be read or written.
func (im *Import) Read(ctx context.Context, files []string) (err error) {
	im.beside = map[string]bool{}
	for _, file := range files {
		for _, other := range im.filesBeside(file) {
			im.beside[other] = true
		}
	}
	for _, file := range files {
		if err == nil && ctx.Err() == nil && !im.beside[filepath.Clean(file)] {
			err = im.readFile(ctx, file)
		}
	}
	if errors.Is(err, imports.ErrLabels) {
		return errors.Join(exit.With(exit.WrongSpec, "", "--scores: %w", err), im.discard())
	}
	if !im.Made {
		return err
	}
	state := record.StateComplete
	switch {
	case err != nil:
		state = record.StateFailed
	case ctx.Err() != nil:
		state = record.StateStopped
	}
	return exit.Unmeasured(errors.Join(err, im.finish(state)))
}

// filesBeside are the files that are read together with one.
func (im *Import) filesBeside(file string) (beside []string) {
	folder := strings.TrimSuffix(file, filepath.Ext(file))
	if im.mapping.Beside == nil || folder == file {
		return nil
	}
	found, _ := fs.Glob(os.DirFS(folder), im.mapping.Beside.Files) // the pattern was checked
	for _, name := range found {
		beside = append(beside, filepath.Join(folder, filepath.FromSlash(name)))
	}
	return beside
}

func (im *Import) readFile(ctx context.Context, path string) error {
	stdin := sha256.New()
	from := io.TeeReader(im.Stdin, stdin)
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		from = file
	}
	var beside []imports.File
	for _, other := range im.filesBeside(path) {
		file, err := os.Open(other)
		if err != nil {
			return err
		}
		defer file.Close()
		beside = append(beside, imports.File{Name: other, Reader: file})
	}
	for imported, err := range im.Importer.Read(path, from, beside...) {
		var problem *imports.Problem
		switch {
		case errors.As(err, &problem):
			im.Problem(problem)
			continue
		case err != nil:
			return err
		}
		if err := im.add(path, imported); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil // its hash would be that of the whole file
		}
	}
	if path == "-" {
		im.data = append(im.data, record.DataFile{Name: path, Hash: shortSum(stdin)})
	} else if err := im.note(path); err != nil {
		return err
	}
	for _, other := range beside {
		if err := im.note(other.Name); err != nil {
			return err
		}
	}
	return nil
}

// begin makes the folder.
func (im *Import) begin() (err error) {
	im.Manifest = record.Manifest{
		Suite: im.mapping.Name, Agentbench: im.Version, Status: record.StateRunning, Scorers: []string{}, Configurations: []record.ConfigurationHead{},
		PricesAsOf: im.Manifest.PricesAsOf, Volatile: record.ManifestVolatile{Started: im.Now().UTC()},
	}
	if err := MakeFolder(im.Dir); err != nil {
		return err
	}
	im.journal, err = record.Create(im.Dir, im.Manifest, record.Options{Redact: im.Redact})
	switch {
	case errors.Is(err, record.ErrExists):
		return exit.Usage("name another folder with --out", "%s holds results already", im.Dir)
	case err != nil:
		return exit.With(exit.NotMeasured, "name a folder that can be written to with --out", "making the results: %w", err)
	}
	tasks := filepath.Join(im.Dir, specFolder, "1", importedTasks)
	if err = os.MkdirAll(filepath.Dir(tasks), 0o755); err == nil {
		im.tasksFile, err = os.Create(tasks)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing the tasks: %w", err), im.journal.Close())
	}
	im.tasks, im.Made = bufio.NewWriter(im.tasksFile), true
	return nil
}

// discard removes what was made of the folder, and the folder where it is empty then.
func (im *Import) discard() error {
	if !im.Made {
		return nil
	}
	im.Made = false
	err := errors.Join(im.tasksFile.Close(), im.journal.Close())
	for _, name := range ownFiles {
		err = errors.Join(err, os.RemoveAll(filepath.Join(im.Dir, name)))
	}
	_ = os.Remove(im.Dir) // it may hold hidden files
	return err
}

// add writes a run of a file, into a folder that is made for the first one. One that is too long is left out.
func (im *Import) add(path string, i *imports.Imported) error {
	if !im.Made {
		if err := im.begin(); err != nil {
			return err
		}
	}
	err := im.journal.Append(i.Run, i.Scores, nil)
	if errors.Is(err, record.ErrTooLong) {
		im.Problem(&imports.Problem{File: path, What: fmt.Sprintf("run %s is left out: %v", i.Run.ID, err)})
		return im.addTask(i)
	}
	if err != nil {
		return err
	}
	m := &im.Manifest
	m.Totals.Planned++
	m.Totals.Add(i.Run.Outcome.Status, i.Run.Usage, record.Usage{}, record.Usage{})
	m.Trials = max(m.Trials, i.Run.Trial)
	im.Iterations += len(i.Run.Iterations)
	for k := range i.Scores {
		if name := i.Scores[k].Name; !slices.Contains(m.Scorers, name) {
			m.Scorers = append(m.Scorers, name)
		}
	}
	return im.addTask(i)
}

// addTask writes the task of a run, if it is the first one of it.
func (im *Import) addTask(i *imports.Imported) error {
	if !i.NewTask {
		return nil
	}
	im.Manifest.Tasks++
	t, line := i.Task, expr.NewObject(5)
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
	_, err = im.tasks.Write(append(im.Redact(text), '\n'))
	return err
}

// finish writes what is known only at the end, with the suite that would have made the runs:
// its loops cannot be run, but replayed. It closes the folder.
func (im *Import) finish(state record.State) error {
	m := &im.Manifest
	m.Status, m.Data = state, im.data
	m.Volatile.Finished = im.Now().UTC()
	m.Volatile.Wall = m.Volatile.Finished.Sub(m.Volatile.Started)
	err := im.tasks.Flush()
	if err == nil {
		err = im.conclude(m)
	}
	err = errors.Join(err, im.tasksFile.Close())
	if err == nil {
		err = im.journal.WriteManifest(*m)
	}
	return errors.Join(err, im.journal.Close())
}

// importedTasks is the file of a suite that was imported which has its tasks.
const importedTasks = "tasks.jsonl"

func (im *Import) conclude(m *record.Manifest) error {
	m.Metrics = Metrics(im.mapping.SingleMetrics(m.Scorers))
	models, configurations := &source.Object{}, []any{}
	files := map[string]any{"mapping.yaml": im.mapping.Tree.Plain()}
	made := record.Spec{Suite: "suite.yaml", Import: "mapping.yaml", Files: map[string]string{}, Data: map[string]string{importedTasks: ""}}
	for i, name := range im.Configurations() {
		recorded, err := im.Recorded(name)
		if err != nil {
			return err
		}
		head, err := configurationHead(&spec.Resolved{Name: name, Loop: recorded.Loop, Hash: recorded.Loop.Hash()})
		if err != nil {
			return err
		}
		m.Configurations, made.Configurations = append(m.Configurations, head), append(made.Configurations, name)
		loop := fmt.Sprintf("loop-%d.yaml", i+1)
		files[loop] = recorded.Loop.Tree.Plain()
		models.Set(name, source.ObjectOf("provider", "script", "responses", []any{"recorded"}, "price", "free")) // nothing is called
		configurations = append(configurations, source.ObjectOf("name", name, "loop", loop))
	}
	files[made.Suite] = source.ObjectOf("suite", im.mapping.Name, "tasks", importedTasks, "models", models, "configurations", configurations)
	copies := &Copies{spec: made, files: map[string][]byte{}}
	for name, plain := range files {
		text, err := json.MarshalIndent(plain, "", "  ")
		if err != nil {
			return fmt.Errorf("writing the suite: %w", err)
		}
		made.Files[name], copies.files[name] = "", im.Redact(spec.JSONAsYAML(text))
	}
	copies.hash()
	var err error
	if made.Data[importedTasks], err = hashOf(im.tasksFile.Name()); err != nil {
		return err
	}
	if made, err = copies.Keep(im.Dir, nil); err != nil {
		return err
	}
	m.Specs = []record.Spec{made}
	folder, err := Open(&record.Results{Path: im.Dir, Manifest: *m}, nil)
	if err != nil {
		return err
	}
	m.SpecHash, err = im.hash(folder.Document.Suite, m)
	return err
}

// Warnings are what needs to be known of what was imported. Quote makes texts of the log fit to
// be shown.
func (im *Import) Warnings(mapping *spec.Import, quote func(string) string) (lines []string) {
	m, notes := &im.Manifest, im.Notes()
	note := func(n int, format string, args ...any) {
		if n > 0 {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	note(notes.Renamed, "%s had the id of another task, and got the file's name before it", exit.Plural(notes.Renamed, "run", "runs"))
	note(notes.Retried, "%s had a trial that was there already, and became the next trial", exit.Plural(notes.Retried, "run", "runs"))
	note(notes.Regrouped, "%s gave another cluster or group than the first run of the task, which holds", exit.Plural(notes.Regrouped, "run", "runs"))
	note(len(notes.Parted), "runs of %s were recorded under several limits, and are several configurations: NAME@LIMIT=VALUE", quote(strings.Join(notes.Parted, ", ")))
	note(notes.Restarts, "counters fell %s: they were restarted there, and what they say is counted from there", exit.Plural(notes.Restarts, "time", "times"))
	limits := "the limits of recorded_under"
	if mapping.RecordedUnder == nil {
		limits = "an iteration that passed"
	}
	note(notes.Contradicted, "%s continued after %s; the first: %s", exit.Plural(notes.Contradicted, "run", "runs"), limits, notes.First)
	if n := notes.Untimed; n == m.Totals.Runs() {
		note(n, "the log has no times: the latency is unknown")
	} else {
		note(n, "the time of %s is unknown, so the latency is unknown", exit.Plural(n, "run", "runs"))
	}
	note(notes.Replaced, "%s of zip files had the name of a later one, which is read", exit.Plural(notes.Replaced, "member", "members"))
	note(notes.Orphans, "%s of tools named a call that is missing", exit.Plural(notes.Orphans, "result", "results"))
	for _, w := range notes.Warnings {
		note(w.Runs, "%s: %s; the first: %s", exit.Plural(w.Runs, "run", "runs"), quote(w.What), quote(w.First))
	}
	note(notes.Uncut, "the score after a stop before the end is unknown for %s, so lower limits cannot be judged; import with --when-cut 0 if a stopped run has failed, or write iterations.scores in the mapping", exit.Plural(notes.Uncut, "run", "runs"))
	note(len(notes.Unpriced), "no price of %s: their costs are unknown", quote(exit.Some(notes.Unpriced)))
	if l := im.Labels; l != nil {
		unused := l.Unused()
		note(len(unused), "--scores: no run or task has the id %s", quote(exit.Some(unused)))
		note(l.Unlabelled, "--scores has no row of %s, which are unscored; the first: %s", exit.Plural(l.Unlabelled, "run", "runs"), quote(l.FirstUnlabelled))
	}
	return lines
}
