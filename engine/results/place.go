package results

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/source"
)

// Where baselines are, unless the user says otherwise.
const (
	BaselineFolder = "baselines"
	baselineSuffix = ".jsonl"
)

// Place is where results are read from, as the user named it: a result folder, a
// baseline file or the name of a baseline, and behind a colon a configuration.
type Place struct {
	Text          string // the folder, the file or the baseline, as it was named
	Configuration string // "": all
	*record.Results
}

// Heads are the configurations that a place names.
func (p *Place) Heads() (heads []*record.ConfigurationHead) {
	for i := range p.Manifest.Configurations {
		if c := &p.Manifest.Configurations[i]; p.Configuration == "" || c.Called(p.Configuration) {
			heads = append(heads, c)
		}
	}
	return heads
}

// Same reports whether two places are the same folder or file.
func (p *Place) Same(other *Place) bool {
	a, err := os.Stat(p.Path)
	if err != nil {
		return false
	}
	b, err := os.Stat(other.Path)
	return err == nil && os.SameFile(a, b)
}

// Distinct refuses to compare results with themselves.
func (p *Place) Distinct(other *Place) error {
	if !p.Same(other) || p.Configuration != other.Configuration && p.Configuration != "" && other.Configuration != "" {
		return nil
	}
	names := Names(&other.Manifest)
	hint := "name two other results"
	if len(names) > 1 {
		hint = fmt.Sprintf("name two of its configurations: %s %s", exit.ShellWord(p.Text+":"+names[0]), exit.ShellWord(other.Text+":"+names[1]))
	}
	return exit.Usage(hint, "BASE and NEW are the same: %s", other.Path)
}

// OpenPlace opens what a user named; read reads the manifest of a folder, as
// [Manifest] does.
func OpenPlace(text, baselines string, read func(dir string) (record.Manifest, error)) (*Place, error) {
	path, configuration := SplitPlace(text, baselines)
	if name, _, _ := strings.Cut(text, ":"); !there(path) && validBaseline(name) {
		names, _ := Baselines(baselines) // a hint only
		hint := Hint(name) + "; agentbench baseline set " + exit.ShellWord(name) + " DIR makes a baseline"
		if len(names) > 0 {
			hint = exit.DidYouMean(name, names, "the baselines are: "+exit.Some(names)+"; "+Hint(name))
		}
		return nil, exit.Usage(hint, "%s not found: neither a result folder nor a baseline in %s", name, baselines)
	}
	info, err := os.Stat(path)
	at := &Place{Text: path}
	if err == nil && !info.IsDir() {
		at.Results, err = OpenBaseline(path)
	} else {
		at.Results = &record.Results{Path: path}
		at.Manifest, err = read(path)
	}
	if err != nil || configuration == "" {
		return at, err
	}
	head, ok := at.Manifest.Configuration(configuration)
	if !ok {
		names := Names(&at.Manifest)
		return nil, exit.Usage(exit.DidYouMean(configuration, names, "there are: "+exit.Some(names)), "%s has no configuration %q", path, configuration)
	}
	at.Configuration = head.Name
	return at, nil
}

// SplitPlace separates a path from a configuration. Both may hold colons: the path is the
// shortest that is there. The name of a baseline is a path, too, where nothing else is
// there.
func SplitPlace(text, baselines string) (path, configuration string) {
	if there(text) {
		return text, ""
	}
	for at, c := range text {
		if c == ':' && there(text[:at]) {
			return text[:at], text[at+1:]
		}
	}
	name, configuration, _ := strings.Cut(text, ":")
	if file := BaselineFile(baselines, name); validBaseline(name) && there(file) {
		return file, configuration
	}
	return text, ""
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Names are the names and aliases of all configurations of a manifest.
func Names(m *record.Manifest) (names []string) {
	for i := range m.Configurations {
		names = append(append(names, m.Configurations[i].Name), m.Configurations[i].Aliases...)
	}
	return names
}

// OpenBaseline opens a file that should be a baseline.
func OpenBaseline(path string) (*record.Results, error) {
	results, err := record.Open(path)
	if err == nil {
		return results, nil
	}
	none, is := errors.AsType[*record.NoBaseline](err)
	switch {
	case !is:
		return nil, exit.Unmeasured(err)
	case none.Ours:
		return nil, exit.With(exit.NotMeasured, "agentbench baseline set makes a new one; agentbench version prints this version", "%w", err)
	}
	return nil, exit.Usage(fileHint(path), "%s is neither a result folder nor a baseline file (%s)", path, none.What)
}

// OpenNamed opens the baseline of a name.
func OpenNamed(name, dir string) (*Place, error) {
	if err := CheckBaseline(name); err != nil {
		return nil, err
	}
	if !there(BaselineFile(dir, name)) {
		return nil, NoBaseline(name, dir)
	}
	results, err := OpenBaseline(BaselineFile(dir, name))
	return &Place{Text: name, Results: results}, err
}

// BaselineFile is the file of a baseline.
func BaselineFile(dir, name string) string { return filepath.Join(dir, name+baselineSuffix) }

// Baselines are the names of the baselines of a folder, which need not be there.
func Baselines(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), baselineSuffix); ok && !e.IsDir() && validBaseline(name) {
			names = append(names, name)
		}
	}
	return names, err
}

// CheckBaseline refuses names that are no name of a file on every system.
func CheckBaseline(name string) error {
	if !validBaseline(name) {
		return exit.Usage("take letters, digits, - _ and . in it, for example main", "%q cannot be the name of a baseline", name)
	}
	return nil
}

func validBaseline(name string) bool {
	plain := strings.ReplaceAll(name, ".", "-")
	return name != "" && fileName(plain) == plain && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "-")
}

// NoBaseline says which baselines there are.
func NoBaseline(name, dir string) error {
	names, _ := Baselines(dir) // a hint only
	hint := "agentbench baseline set " + name + " DIR makes it"
	if len(names) > 0 {
		hint = exit.DidYouMean(name, names, "there are: "+exit.Some(names))
	}
	return exit.Usage(hint, "baseline %q not found in %s", name, dir)
}

// Cache is the name of the folder of the response cache, beside result folders.
const Cache = "cache"

// Fresh is a folder for the results of a suite, such as
// results/quickstart-20260102-150405-1f3a: the digits distinguish suites that start within
// the same second.
func Fresh(suite string, now time.Time) string {
	var digits [2]byte
	_, _ = rand.Read(digits[:]) // it never fails
	return filepath.Join("results", fileName(suite)+"-"+now.UTC().Format("20060102-150405")+"-"+hex.EncodeToString(digits[:]))
}

// Newest is the newest result folder of a suite in results, "" where there is none.
func Newest(suite string) (dir string) {
	var started time.Time
	found, _ := filepath.Glob(filepath.Join("results", "*", "manifest.json")) // it fails only on a bad pattern
	for _, path := range found {
		m, err := record.ReadManifest(filepath.Dir(path))
		if err == nil && m.Suite == suite && m.Volatile.Started.After(started) {
			dir, started = filepath.Dir(path), m.Volatile.Started
		}
	}
	return dir
}

// fileName keeps what is safe in the name of a folder.
func fileName(name string) string {
	safe := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}
	name = strings.Map(safe, name)
	return name[:min(len(name), 60)]
}

// ownFiles are those that a result folder consists of.
var ownFiles = []string{"manifest.json", "records.jsonl", "scores.jsonl", "spent.jsonl",
	"records.damaged.jsonl", "lock", Progress, Workspaces, specFolder}

// Progress is the file that tells how far a command has come that makes runs. It is there while one does.
const Progress = "progress.json"

// MakeFolder makes the folder that results go to, if it is not there. One that is there and is no result folder has to
// be empty, but for hidden files, files of ours that a killed command left, and what the same command writes there.
func MakeFolder(dir string, written ...string) error {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && !info.IsDir() {
			code := exit.WrongUsage
			if at != dir {
				code = exit.NotMeasured // it cannot be written to
			}
			return exit.With(code, "name a new folder with --out", "%s is a file; results need a folder", at)
		} else if err == nil || at == filepath.Dir(at) {
			break
		}
	}
	entries, err := os.ReadDir(dir)
	if err == nil && !IsFolder(dir) {
		for _, e := range entries {
			same := func(path string) bool { return filepath.Clean(path) == filepath.Join(dir, e.Name()) }
			ours := (e.Type().IsRegular() || e.Name() == specFolder) && slices.Contains(ownFiles, strings.TrimSuffix(e.Name(), ".tmp"))
			if !ours && !strings.HasPrefix(e.Name(), ".") && !slices.ContainsFunc(written, same) {
				return exit.Usage("name a new or an empty folder with --out", "%s is there already and holds other files, such as %q", dir, e.Name())
			}
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return exit.With(exit.NotMeasured, "name a folder that can be written to with --out", "making the result folder: %w", err)
	}
	return nil
}

// IsFolder reports whether a folder is one of results: it has a manifest, or records that lack theirs.
func IsFolder(dir string) bool {
	return there(filepath.Join(dir, "manifest.json")) || there(filepath.Join(dir, "records.jsonl"))
}

// Holds reports whether a file is a baseline, or one that a result folder consists of.
func Holds(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false // a pipe would wait for its writer
	}
	_, err := record.Open(path)
	var none *record.NoBaseline
	if err == nil || errors.As(err, &none) && none.Ours {
		return true
	}
	return IsFolder(filepath.Dir(path)) && slices.Contains(ownFiles, filepath.Base(path))
}

// Manifest reads what a result folder is about.
func Manifest(dir string) (record.Manifest, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return record.Manifest{}, exit.Usage(fileHint(dir), "%s is a file, not a result folder", dir)
	}
	m, err := record.ReadManifest(dir)
	hint := ""
	switch _, damaged := errors.AsType[*record.Damage](err); {
	case err == nil:
		return m, nil
	case errors.Is(err, fs.ErrNotExist):
		return m, exit.Usage(Hint(dir), "%s holds no results", dir)
	case !damaged && !errors.Is(err, fs.ErrPermission):
		hint = "agentbench version prints this version"
	}
	return m, exit.With(exit.NotMeasured, hint, "%w", err)
}

// RepairHint is what helps against a damage.
func RepairHint(d *record.Damage) string {
	switch name := filepath.Base(d.File); {
	case name == "manifest.json":
		return "name another folder; run with another --out makes the suite again, mostly from the cache (the runs of this one are in records.jsonl)"
	case slices.Contains(ownFiles, name):
		return "agentbench repair " + exit.ShellWord(filepath.Dir(d.File)) + " drops what is damaged and lists what was lost"
	}
	return "take " + exit.ShellWord(d.File) + " from git again, or make it anew with agentbench baseline set"
}

// fileHint says what may have been meant by a file.
func fileHint(file string) string {
	folder := filepath.Dir(file)
	if IsFolder(folder) {
		return "did you mean " + folder + "?"
	}
	return Hint(folder)
}

// Hint names a result folder that may have been meant.
func Hint(dir string) string {
	if meant := besides(dir); meant != "" {
		return "did you mean " + meant + "?"
	}
	for _, above := range []string{dir, "results"} {
		newest, at := "", time.Time{}
		found, _ := filepath.Glob(filepath.Join(above, "*", "manifest.json")) // a hint only
		for _, path := range found {
			if info, err := os.Stat(path); newest == "" || err == nil && info.ModTime().After(at) {
				newest = path
				if err == nil {
					at = info.ModTime()
				}
			}
		}
		if newest != "" {
			return "the newest results are in " + filepath.Dir(newest)
		}
	}
	return "agentbench run SUITE makes results"
}

// besides is the result folder beside one that is not there whose name is nearly the same, "" where none is.
func besides(dir string) string {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	var names []string
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", "manifest.json")) // a hint only
	for _, path := range found {
		names = append(names, filepath.Base(filepath.Dir(path)))
	}
	if meant := source.Closest(filepath.Base(dir), names); meant != "" {
		return filepath.Join(filepath.Dir(dir), meant)
	}
	return ""
}
