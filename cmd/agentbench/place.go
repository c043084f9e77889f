package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
)

// place is where results are read from, as the user named it: a result folder, a
// baseline file or the name of a baseline, and behind a colon a configuration.
type place struct {
	text          string
	configuration string // "": all
	*record.Results
}

// openPlace opens what a user named.
func (p *program) openPlace(text, baselines string) (*place, error) {
	path, configuration := splitPlace(text, baselines)
	if name, _, _ := strings.Cut(text, ":"); !there(path) && validBaseline(name) {
		return nil, nowhere(name, baselines)
	}
	results, err := p.openRecorded(path)
	if err != nil {
		return nil, err
	}
	at := &place{text: path, configuration: configuration, Results: results}
	if configuration == "" {
		return at, nil
	}
	head, ok := results.Manifest.Configuration(configuration)
	if !ok {
		names := configurationNames(&results.Manifest)
		return nil, usage(didYouMean(configuration, names, "there are: "+some(names)), "%s has no configuration %q", path, configuration)
	}
	at.configuration = head.Name
	return at, nil
}

// splitPlace parts a path from a configuration. Both may hold colons: the path
// is the shortest that is there. The name of a baseline is a path, too, where
// nothing else is there.
func splitPlace(text, baselines string) (path, configuration string) {
	if there(text) {
		return text, ""
	}
	for at, c := range text {
		if c == ':' && there(text[:at]) {
			return text[:at], text[at+1:]
		}
	}
	name, configuration, _ := strings.Cut(text, ":")
	if file := baselineFile(baselines, name); validBaseline(name) && there(file) {
		return file, configuration
	}
	return text, ""
}

// nowhere says of what could be a folder or the name of a baseline that it is
// neither.
func nowhere(name, baselines string) error {
	names, _ := baselineNames(baselines) // a hint only
	hint := "agentbench baseline set " + name + " DIR makes the baseline; " + resultsHint(name)
	if len(names) > 0 {
		hint = didYouMean(name, names, "there are the baselines: "+some(names)+"; "+resultsHint(name))
	}
	return usage(hint, "there is neither a folder %s nor a baseline of that name in %s", name, baselines)
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// openRecorded opens a result folder or a baseline file.
func (p *program) openRecorded(path string) (*record.Results, error) {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		m, err := p.openManifest(path)
		if err != nil {
			return nil, err
		}
		return &record.Results{Path: path, Manifest: m}, nil
	}
	return openBaselineFile(path)
}

// openBaselineFile opens a file that is to be a baseline.
func openBaselineFile(path string) (*record.Results, error) {
	results, err := record.Open(path)
	var none *record.NoBaseline
	switch {
	case errors.As(err, &none) && none.Ours:
		return nil, fail(notMeasured, "agentbench baseline set makes it anew; agentbench version tells which one this is", "%w", err)
	case errors.As(err, &none):
		return nil, usage(fileHint(path), "%s is a file, but no baseline: %s", path, none.What)
	case err != nil:
		return nil, fail(notMeasured, "", "%w", err)
	}
	return results, nil
}

func configurationNames(m *record.Manifest) (names []string) {
	for i := range m.Configurations {
		names = append(append(names, m.Configurations[i].Name), m.Configurations[i].Aliases...)
	}
	return names
}

// sameFile says whether two paths are the same file or folder.
func sameFile(one, other string) bool {
	a, err := os.Stat(one)
	if err != nil {
		return false
	}
	b, err := os.Stat(other)
	return err == nil && os.SameFile(a, b)
}

// baselineFile is the file of a baseline.
func baselineFile(dir, name string) string { return filepath.Join(dir, name+baselineSuffix) }

// baselineNames are the baselines of a folder, which need not be there.
func baselineNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), baselineSuffix); ok && !e.IsDir() && validBaseline(name) {
			names = append(names, name)
		}
	}
	return names, err
}
