package record

import (
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
)

// Results are what reports read, in a result folder or in a baseline file.
type Results struct {
	Path     string
	Manifest Manifest

	baseline *baselineHead // nil: a folder
}

// Open opens a result folder or a baseline file. An error is fs.ErrNotExist
// where nothing is there, a [NoBaseline] where a file is something else.
func Open(path string) (*Results, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("opening the results: %w", err)
	}
	if !info.IsDir() {
		return openBaseline(path)
	}
	m, err := ReadManifest(path)
	if err != nil {
		return nil, err
	}
	return &Results{Path: path, Manifest: m}, nil
}

// Files has the copies of specs that the manifest names. Of baselines they have no data.
func (r *Results) Files() fs.FS {
	if r.baseline != nil {
		return TextFiles(r.baseline.Files)
	}
	return os.DirFS(r.Path)
}

// Baseline reports whether the results are a baseline file.
func (r *Results) Baseline() bool { return r.baseline != nil }

// Runs are the runs without their texts, as [ReadLight] gives them. Those of a baseline tell of an iteration
// whether it failed, and its confidence.
func (r *Results) Runs() iter.Seq2[*Run, error] {
	if r.baseline != nil {
		return values(baselineLines(r, lightOf))
	}
	return ReadLight(r.Path)
}

// Scores are the scores, as [ReadScores] gives them. Those of a baseline are of
// runs, not of iterations, and do not tell why a run is unscored.
func (r *Results) Scores() iter.Seq2[Score, error] {
	if r.baseline != nil {
		return each(baselineLines(r, scoresOf), func(l *scoresLine) []Score { return l.Scores })
	}
	return ReadScores(r.Path)
}

// Snapshots are what was found of states of workspaces, as [ReadSnapshots] gives them. A baseline has none.
func (r *Results) Snapshots() iter.Seq2[Snapshot, error] {
	if r.baseline != nil {
		return func(func(Snapshot, error) bool) {}
	}
	return ReadSnapshots(r.Path)
}

// Configuration finds a configuration by its name or an alias.
func (m *Manifest) Configuration(name string) (*ConfigurationHead, bool) {
	for i := range m.Configurations {
		if m.Configurations[i].Called(name) {
			return &m.Configurations[i], true
		}
	}
	return nil, false
}

// Called reports whether this is the configuration's name or an alias.
func (c *ConfigurationHead) Called(name string) bool {
	return c.Name == name || slices.Contains(c.Aliases, name)
}

// NoBaseline is why a file is not a baseline.
type NoBaseline struct {
	File, What string
	// Ours means that it is one after all, but damaged or of another version.
	Ours bool
}

// Error names the file.
func (e *NoBaseline) Error() string { return e.File + " is no baseline: " + e.What }
