// Package results opens result folders. Open loads what a folder was made of: the suite, from its copy in the folder, by the
// loader that run uses, with the loops under which runs were recorded. Read gives these runs with their tasks and scores.
//
// The stages of the data, in order: a Session copies the suite and its files below spec/ (copies.go); Open loads the copies
// again (folder.go); Read reads runs as records or, where no text is needed, without their texts (read.go), and what they were worth.
// What cannot be used is counted in Notes, never silently left out.
//
// It is no stable API.
package results

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"reflect"
	"slices"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Folder is a result folder, or a baseline, with the suite that it was made of.
type Folder struct {
	Path     string
	Manifest record.Manifest
	// Document is the suite with the recorded configurations, and the scorers that judged. Its programs are where the suite was,
	// and not in the folder.
	Document *spec.Document
	// Announced are the paths of parameters that the agents of imported runs were
	// told.
	Announced []string
	// Imported means that the runs come from the log of another tool.
	Imported bool

	files fs.FS
	run   *spec.Document // that was run last
	tasks *spec.Document // whose tasks the runs are of: run, unless the user names another one
}

// Open loads what results were made of. Tasks has their tasks; nil: those of the copy.
func Open(r *record.Results, tasks *spec.Document) (*Folder, error) {
	f := &Folder{Path: r.Path, Manifest: r.Manifest, files: r.Files(), tasks: tasks}
	if len(r.Manifest.Specs) == 0 {
		return nil, errors.New("it is not known of which suite it was made")
	}
	var documents []*spec.Document
	for i := range r.Manifest.Specs {
		d, err := f.load(&r.Manifest.Specs[i])
		if err != nil {
			return nil, fmt.Errorf("reading the copy of the suite: %w", err)
		}
		documents = append(documents, d)
	}
	if err := f.join(documents); err != nil {
		return nil, err
	}
	return f, nil
}

// load loads a copy.
func (f *Folder) load(s *record.Spec) (*spec.Document, error) {
	options := spec.Options{Recorded: &spec.Recorded{ProgramFiles: s.Programs}, Env: func(string) string { return "" }}
	for _, set := range s.Set {
		options.Set = append(options.Set, spec.Setting(set))
	}
	files := &copied{f.files, s}
	d, faults := spec.LoadFS(files, s.Suite, options)
	if d == nil {
		return nil, faults.Err()
	}
	if s.Import == "" {
		return d, nil
	}
	f.Imported = true
	mapping, faults := spec.LoadFS(files, s.Import, options)
	if mapping == nil {
		return nil, faults.Err()
	}
	f.Announced = mapping.Import.Announced
	return d, nil
}

// join makes one suite of those that the results were made of: the last one, with the configurations and scorers of all.
func (f *Folder) join(documents []*spec.Document) error {
	m := &f.Manifest
	document, run := *documents[len(documents)-1], documents[len(documents)-1] // run has the tasks
	suite := *document.Suite
	document.Suite, suite.Baseline, suite.Resolved, suite.Scorers = &suite, m.Baseline, nil, nil
	for i := range m.Configurations {
		of := slices.IndexFunc(m.Specs, func(s record.Spec) bool { return slices.Contains(s.Configurations, m.Configurations[i].Name) })
		if of < 0 {
			return fmt.Errorf("the manifest has no suite of the configuration %q", m.Configurations[i].Name)
		}
		c, err := configurationOf(documents[of].Suite, &m.Configurations[i])
		if err != nil {
			return err
		}
		suite.Resolved = append(suite.Resolved, *c)
	}
	asked := map[string]bool{}
	for i := range suite.Resolved {
		for _, model := range suite.Resolved[i].Loop.Models() {
			asked[model] = true
		}
	}
	models, judging := map[string]source.Pair[spec.Model]{}, map[string]source.Pair[spec.Model]{}
	for i, d := range documents {
		for _, scorer := range d.Suite.Scorers {
			if slices.Contains(m.Specs[i].Scorers, scorer.Name) {
				suite.Scorers = append(suite.Scorers, scorer)
			}
		}
		to := judging
		if len(m.Specs[i].Configurations) > 0 {
			to = models
			run = d
		}
		for _, model := range d.Suite.Models {
			to[model.Key] = model
		}
	}
	for name, model := range judging {
		if _, known := models[name]; !known || !asked[name] {
			models[name] = model
		}
	}
	place := func(s spec.Scorer) int { return slices.Index(m.Scorers, s.Name) }
	slices.SortStableFunc(suite.Scorers, func(a, b spec.Scorer) int { return cmp.Compare(place(a), place(b)) })
	suite.Models = nil
	for _, name := range slices.Sorted(maps.Keys(models)) {
		suite.Models = append(suite.Models, models[name])
	}
	f.Document, f.run, f.tasks = &document, run, cmp.Or(f.tasks, run)
	return nil
}

// configurationOf is a configuration as it was recorded, of the suite that has it or the one in which its parameters are set.
func configurationOf(s *spec.Suite, head *record.ConfigurationHead) (*spec.Resolved, error) {
	of := s.Configuration(cmp.Or(head.Of, head.Name))
	if of == nil {
		return nil, fmt.Errorf("the suite of the folder has no configuration %q", cmp.Or(head.Of, head.Name))
	}
	if head.Of == "" {
		return of.As(head.Name), nil
	}
	var set []spec.Assignment
	for _, p := range head.Params {
		a, faults := (spec.Setting{Path: p.Path, Value: string(p.Value)}).Assign("set") // JSON is YAML
		if faults.Err() != nil {
			return nil, faults
		}
		set = append(set, a)
	}
	loop, faults := of.Loop.With(set...)
	if loop == nil {
		return nil, faults
	}
	return &spec.Resolved{Name: head.Name, Of: head.Of, Aliases: head.Aliases, Loop: loop, Params: spec.ParamsOf(set), Hash: loop.Hash()}, nil
}

// Loop is the loop of a configuration, by its name or an alias; nil without one.
func (f *Folder) Loop(configuration string) *spec.Loop {
	head, ok := f.Manifest.Configuration(configuration)
	if !ok {
		return nil
	}
	return f.Document.Suite.Configuration(head.Name).Loop
}

// Alone is the suite with these scorers alone, and a copy of it. The error is a source.Faults where a scorer is wrong.
func (f *Folder) Alone(scorers ...*source.Object) (*spec.Document, *Copies, error) {
	last := f.Manifest.Specs[len(f.Manifest.Specs)-1]
	dir := last.Dir
	text, err := fs.ReadFile(f.files, path.Join(dir, last.Suite))
	if err != nil {
		return nil, nil, err
	}
	tree, faults := source.Parse(source.NewFile(last.Suite, text))
	if tree == nil {
		return nil, nil, faults
	}
	for _, key := range []string{"metrics", "thresholds", "margin", "tune"} {
		tree.Delete(key)
	}
	var list []any
	for _, scorer := range scorers {
		list = append(list, scorer)
	}
	tree.Set("scorers", source.New(tree, list))
	suite, err := json.Marshal(tree.Plain())
	if err != nil {
		return nil, nil, fmt.Errorf("writing the scorers: %w", err)
	}
	last.Files = maps.Clone(last.Files)
	last.Dir, last.Data, last.Configurations, last.Scorers = ".", nil, nil, nil
	made := &Copies{spec: last, files: map[string][]byte{}}
	for name := range last.Files {
		if made.files[name], err = fs.ReadFile(f.files, path.Join(dir, name)); err != nil {
			return nil, nil, err
		}
	}
	made.files[last.Suite] = spec.JSONAsYAML(suite)
	made.hash()
	d, err := (&Folder{files: made}).load(&made.spec)
	return d, made, err
}

// Declares reports whether the recorded suite has this scorer, as it is written.
func (f *Folder) Declares(scorer *source.Object) bool {
	name, _ := scorer.Get("name")
	known := f.scorer(fmt.Sprint(name))
	return known != nil && reflect.DeepEqual(known.Node.Plain(), any(scorer))
}

// Tasks are those of the runs.
func (f *Folder) Tasks() iter.Seq2[*spec.Task, error] { return f.tasks.Tasks() }

// OtherData are the names of the files of a suite whose bytes are no longer those
// that the runs were made of.
func (f *Folder) OtherData(suite *spec.Document) ([]string, error) {
	return f.others(suite.DataFiles())
}

// OtherTasks are the names of the files of a suite's tasks whose bytes are not
// those that the runs were made of.
func (f *Folder) OtherTasks(suite *spec.Document) ([]string, error) {
	return f.others(suite.TaskFiles())
}

// others are the files that were not there, or had other bytes.
func (f *Folder) others(now []spec.DataFile, err error) (other []string, _ error) {
	if err != nil {
		return nil, fmt.Errorf("hashing the data: %w", err)
	}
	for _, file := range now {
		if !slices.Contains(f.Manifest.Data, record.DataFile(file)) {
			other = append(other, file.Name)
		}
	}
	return other, nil
}

// Bounds are what a suite says about its results.
type Bounds struct {
	Thresholds []string
	// MinCoverage is the least share of runs that has to count.
	MinCoverage float64
}

// DefaultCoverage is the least share of runs that has to count, where a suite names none.
const DefaultCoverage = 0.95

// BoundsOf are those of the suite of results; the usual ones where it is unknown.
func BoundsOf(r *record.Results) (Bounds, error) {
	b := Bounds{MinCoverage: DefaultCoverage}
	if len(r.Manifest.Specs) == 0 {
		return b, nil
	}
	f, err := Open(r, nil)
	if err != nil {
		return b, exit.With(exit.NotMeasured, "", "%s: %w", r.Path, err)
	}
	b.MinCoverage = *f.Document.Suite.MinCoverage
	for i := range f.Document.Suite.Thresholds {
		b.Thresholds = append(b.Thresholds, f.Document.Suite.Thresholds[i].Text)
	}
	return b, nil
}

// BudgetOf is the budget of the suite as it was run last, as far as it can be read.
func BudgetOf(r *record.Results) *spec.SuiteBudget {
	f, err := Open(r, nil)
	if err != nil {
		return &spec.SuiteBudget{}
	}
	return &f.Document.Suite.Budget
}

// TaskDifferences are those between the tasks that a suite declares, and those that were run.
func (f *Folder) TaskDifferences(now *spec.Suite) (d Differences, err error) {
	var b Binding
	was, err := b.plain(f.run.Suite.Tree.Get("tasks").Plain())
	is, wrong := b.plain(now.Tree.Get("tasks").Plain())
	d.Compare("tasks", was, is)
	return d, errors.Join(err, wrong)
}
