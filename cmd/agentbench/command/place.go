package command

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
	"github.com/agentbench/agentbench/suites"
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
		return nil, exit.Usage(exit.DidYouMean(configuration, names, "there are: "+exit.Some(names)), "%s has no configuration %q", path, configuration)
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
		hint = exit.DidYouMean(name, names, "there are the baselines: "+exit.Some(names)+"; "+resultsHint(name))
	}
	return exit.Usage(hint, "there is neither a folder %s nor a baseline of that name in %s", name, baselines)
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
		return nil, exit.With(exit.NotMeasured, "agentbench baseline set makes it anew; agentbench version tells which one this is", "%w", err)
	case errors.As(err, &none):
		return nil, exit.Usage(fileHint(path), "%s is neither a result folder nor a baseline file (%s)", path, none.What)
	case err != nil:
		return nil, exit.Unmeasured(err)
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

// opened is a suite or loop that was loaded from where the user said.
type opened struct {
	*spec.Document
	path string // as messages name it
}

// open loads a suite or loop: a file, a folder that holds a suite, "-" for
// stdin, or, where there is no such file, a suite that ships. Faults are
// printed; see warn for warnings.
func (p *program) open(path string, set []spec.Setting) (*opened, error) {
	options := spec.Options{Env: p.env, Set: set, Stdin: p.in}
	path, shipped, err := find(path)
	if err != nil {
		return nil, err
	}
	var document *spec.Document
	var faults source.Faults
	if shipped != nil {
		document, faults = spec.LoadFS(shipped, suites.File, options)
	} else {
		document, faults = spec.Load(path, options)
	}
	if document == nil {
		p.learnLines(faults)
		faults.Print(p.err)
		return nil, exit.Quiet(exit.WrongSpec)
	}
	p.learn(document)
	return &opened{Document: document, path: path}, nil
}

// warn prints the warnings of a document, but for those that have become faults.
func (p *program) warn(o *opened, faults source.Faults) {
	known := func(w source.Fault) bool {
		return slices.ContainsFunc(faults, func(f source.Fault) bool { return f.File == w.File && f.Pos == w.Pos })
	}
	slices.DeleteFunc(slices.Clone(o.Warnings), known).Print(p.err)
	if why := engine.Exposed(o.Document, p.env); why != "" {
		fmt.Fprintf(p.err, `agentbench: warning: the programs that this starts can read the keys in the environment of agentbench and of what started it (%s)
hint: docs/language.md, Programs, says how to hide them; or start agentbench without keys that the programs must not have
`, page.Visible(why))
	}
}

// openSuite is open for what only a suite will do.
func (p *program) openSuite(path string, set []spec.Setting) (*opened, error) {
	o, err := p.open(path, set)
	if err == nil && o.Import != nil {
		return nil, exit.Usage("agentbench import reads logs by it", "%s is a mapping, not a suite", path)
	}
	if err == nil && o.Suite == nil {
		return nil, exit.Usage("write a suite that names it under configurations; agentbench init DIR writes one", "%s is a loop, not a suite", path)
	}
	return o, err
}

// find decides what a path on the command line means: a file on disk, or the
// folder of a suite that ships.
func find(path string) (file string, shipped fs.FS, err error) {
	if path == "-" {
		return path, nil, nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return inside(path)
	case !errors.Is(err, fs.ErrNotExist):
		return path, nil, nil
	}
	if suite, ok := suites.Find(path); ok {
		return path, suite.FS, nil
	}
	return "", nil, exit.Usage(exit.DidYouMean(path, nearby(path), "the suites that ship: "+strings.Join(suites.Names(), ", ")), "there is no file %s", path)
}

// inside is the suite that a folder holds, else the suite that ships under the name of
// the folder: results of a suite often stand in a folder of its name.
func inside(folder string) (file string, shipped fs.FS, err error) {
	file = filepath.Join(folder, suites.File)
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return file, nil, nil
	}
	if suite, ok := suites.Find(folder); ok {
		return folder, suite.FS, nil
	}
	hint := "name the file of the suite"
	if others, _ := filepath.Glob(filepath.Join(folder, "*.suite.yaml")); len(others) > 0 { // a hint only
		hint = "did you mean " + strings.Join(others, " or ") + "?"
	}
	return "", nil, exit.Usage(hint, "the folder %s holds no %s", folder, suites.File)
}

// nearby are what a path that does not exist may have meant.
func nearby(path string) []string {
	names := slices.Clone(suites.Names())
	entries, _ := os.ReadDir(filepath.Dir(path)) // a hint only
	for _, e := range entries {
		names = append(names, filepath.Join(filepath.Dir(path), e.Name()))
	}
	return names
}

// freshFolder is where the results of a suite go when the user does not say:
// results/quickstart-20260102-150405-1f3a.
func freshFolder(suite string, now time.Time) string {
	return filepath.Join("results", fileName(suite)+"-"+now.UTC().Format("20060102-150405")+"-"+randomDigits())
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

// randomDigits tell suites apart that start within the same second.
func randomDigits() string {
	var b [2]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// newFolder makes the folder that results go to, if it is not there.
func newFolder(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return exit.Usage("name a new folder with --out", "%s is a file; results need a folder", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return exit.With(exit.NotMeasured, "name a folder that can be written to with --out", "making the result folder: %w", err)
	}
	return nil
}

// openManifest reads what a result folder is about, and warns of a manifest
// without a digest.
func (p *program) openManifest(dir string) (record.Manifest, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return record.Manifest{}, exit.Usage(fileHint(dir), "%s is a file, not a result folder", dir)
	}
	m, err := record.ReadManifest(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, exit.Usage(resultsHint(dir), "%s holds no results", dir)
	case err != nil:
		return m, exit.With(exit.NotMeasured, manifestHint(dir, err), "%w", err)
	}
	if m.Unsealed && !p.unsealed[dir] {
		if p.unsealed == nil {
			p.unsealed = map[string]bool{}
		}
		p.unsealed[dir] = true
		fmt.Fprintf(p.err, "agentbench: warning: %s has no digest: damage to it would go unnoticed; agentbench repair %s adds one\n", filepath.Join(dir, "manifest.json"), exit.ShellWord(dir))
	}
	return m, nil
}

// resultFolder reports whether a folder is one of results: it has a manifest, or the
// copy of one that is missing.
func resultFolder(dir string) bool {
	return there(filepath.Join(dir, "manifest.json")) || there(filepath.Join(dir, "manifest.copy.json"))
}

// fileHint says what may have been meant by a file.
func fileHint(file string) string {
	folder := filepath.Dir(file)
	if resultFolder(folder) {
		return "did you mean " + folder + "?"
	}
	return resultsHint(folder)
}

// manifestHint says what to do about a manifest that cannot be read.
func manifestHint(dir string, err error) string {
	var damaged *record.DamagedManifest
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	unreadable := errors.As(err, &syntax) || errors.As(err, &kind)
	if errors.As(err, &damaged) || unreadable && there(filepath.Join(dir, "manifest.copy.json")) {
		return "agentbench repair " + exit.ShellWord(dir) + " restores it from its copy"
	}
	if unreadable {
		return "the runs stand in records.jsonl, one a line; run with another --out makes the suite again, and with the cache pays for little"
	}
	if errors.Is(err, fs.ErrPermission) {
		return ""
	}
	return "agentbench version tells which one this is"
}

// resultsHint names a result folder that may have been meant.
func resultsHint(dir string) string {
	found, _ := filepath.Glob(filepath.Join(dir, "*", "manifest.json")) // a hint only
	if len(found) == 0 {
		found, _ = filepath.Glob(filepath.Join("results", "*", "manifest.json"))
	}
	if len(found) == 0 {
		return "agentbench run SUITE makes some"
	}
	newest := found[0]
	for _, path := range found[1:] {
		if modified(path).After(modified(newest)) {
			newest = path
		}
	}
	return "the newest results are in " + filepath.Dir(newest)
}

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
