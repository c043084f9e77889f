package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
	"github.com/agentbench/agentbench/suites"
)

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

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
		p.print(faults)
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
	p.print(slices.DeleteFunc(slices.Clone(o.Warnings), known))
	if why := engine.Unconfined(o.Document, p.env); why != "" {
		fmt.Fprintf(p.err, `agentbench: warning: the programs that this starts can read the keys in the environment of agentbench and of what started it, and leave processes behind (%s)
hint: docs/coding-agents.md, Isolation of programs, explains how to hide them; or start agentbench without keys that the programs must not have
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
	case err == nil && slices.Contains([]string{".jsonl", ".csv", ".parquet"}, filepath.Ext(path)):
		return "", nil, exit.With(exit.WrongSpec, "a suite names them: tasks: "+path, "%s: these are tasks, not a suite", path)
	case !errors.Is(err, fs.ErrNotExist):
		return path, nil, nil
	}
	if suite, ok := suites.Find(path); ok {
		return path, suite.FS, nil
	}
	for _, ending := range []string{".yaml", ".suite.yaml", ".yml"} {
		if _, err := os.Stat(path + ending); err == nil {
			return "", nil, exit.Usage("did you mean "+path+ending+"?", "file not found: %s", path)
		}
	}
	return "", nil, notFound(path, "the suites that ship: "+strings.Join(suites.Names(), ", "))
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

// notFound is the error of a file that is not there, with what may be meant.
func notFound(path, otherwise string) error {
	if target, err := os.Readlink(path); err == nil {
		return exit.Usage("", "file not found: %s is a link to %s, which does not exist", path, target)
	}
	return exit.Usage(exit.DidYouMean(path, nearby(path), otherwise), "file not found: %s", path)
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

// foldersIn lists the result folders in a folder for a hint; "" without any.
func foldersIn(folder string) string {
	var names []string
	entries, _ := os.ReadDir(folder) // a hint only
	for _, e := range entries {
		if name := filepath.Join(folder, e.Name()); results.IsFolder(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; there are: " + exit.Some(names)
}

// openPlace opens what a user named.
func (p *program) openPlace(text, baselines string) (*results.Place, error) {
	return results.OpenPlace(text, baselines, p.openManifest)
}

// openWhole opens what a user named for what needs all of its configurations; why says so.
func (p *program) openWhole(text, baselines, why string) (*results.Place, error) {
	at, err := p.openPlace(text, baselines)
	if err == nil && at.Configuration != "" {
		return nil, exit.Usage("name "+exit.ShellWord(at.Path)+" alone", "%s is one configuration, and %s", text, why)
	}
	return at, err
}

// openManifest reads what a result folder is about.
func (p *program) openManifest(dir string) (record.Manifest, error) {
	m, err := results.Manifest(dir)
	if err == nil {
		p.learnFolder(&record.Results{Path: dir, Manifest: m})
	}
	return m, err
}
