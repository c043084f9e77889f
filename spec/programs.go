package spec

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentbench/agentbench/spec/source"
)

// Loops are the distinct loops of the document, those of delegates included.
func (d *Document) Loops() []*Loop {
	var loops []*Loop
	add := func(l *Loop) { loops = withDelegates(loops, l) }
	if d.Loop != nil {
		add(d.Loop)
	}
	if d.Suite != nil {
		for i := range d.Suite.Resolved {
			add(d.Suite.Resolved[i].Loop)
		}
	}
	return loops
}

func withDelegates(loops []*Loop, l *Loop) []*Loop {
	if slices.Contains(loops, l) {
		return loops
	}
	loops = append(loops, l)
	for _, d := range l.delegates() {
		if d.Resolved != nil {
			loops = withDelegates(loops, d.Resolved)
		}
	}
	return loops
}

// StartsPrograms reports whether the loops or the scorers start programs.
func (d *Document) StartsPrograms() bool {
	starts := func(l *Loop) bool { return len(l.programNodes()) > 0 }
	return slices.ContainsFunc(d.Loops(), starts) || d.Suite != nil && len(d.Suite.programNodes()) > 0
}

// Programs are the programs that the loops and the scorers start and that are not there: faults that stand in the way
// of a run.
func (d *Document) Programs() source.Faults {
	var missing source.Faults
	// A path that is not there may be one of a workspace, which only its run has.
	look := func(folder string, programs []*source.Node, workspace bool) {
		for _, n := range programs {
			if workspace && belongsToWorkspace(folder, n.Text) {
				continue
			}
			if !programThere(folder, n.Text, d.getenv("PATH")) {
				missing = append(missing, missingProgram(n, folder))
			} else if what, hint := unstartable(folder, n.Text); what != "" {
				missing = append(missing, n.Fault(hint, "%s", what))
			}
		}
	}
	for _, loop := range d.Loops() {
		look(loop.Folder, loop.programNodes(), loop.Workspace != nil)
	}
	if d.Suite != nil {
		some := slices.ContainsFunc(d.Loops(), func(l *Loop) bool { return l.Workspace != nil })
		look(d.folder.disk, d.Suite.programNodes(), some)
	}
	missing.Sort()
	return slices.Compact(missing)
}

// belongsToWorkspace reports whether a program is a path that nothing in a folder has.
func belongsToWorkspace(folder, program string) bool {
	if !strings.ContainsRune(program, '/') || !filepath.IsLocal(filepath.FromSlash(program)) {
		return false
	}
	_, err := os.Stat(filepath.Join(folder, program))
	return errors.Is(err, fs.ErrNotExist)
}

// unstartable says why the system cannot start a script that a command names by its path: it names no interpreter, or
// one that is not there. "" for all else.
func unstartable(folder, program string) (what, hint string) {
	if runtime.GOOS == "windows" || !strings.ContainsRune(program, '/') {
		return "", ""
	}
	at := program
	if !filepath.IsAbs(at) {
		at = filepath.Join(folder, at)
	}
	file, err := os.Open(at)
	if err != nil {
		return "", ""
	}
	defer file.Close()
	begins := make([]byte, 256)
	n, _ := io.ReadFull(file, begins) // a short file has fewer
	line, _, _ := strings.Cut(string(begins[:n]), "\n")
	interpreter, script := strings.CutPrefix(line, "#!")
	switch words := strings.Fields(interpreter); {
	case script && len(words) > 0 && filepath.IsAbs(words[0]) && !executable(words[0]):
		return fmt.Sprintf("the first line of %q names %s, which is not there", shorten(program), shorten(words[0])), "write the path of an interpreter, such as #!/bin/sh"
	case !script && n > 0 && utf8.Valid(begins[:n]) && !strings.ContainsRune(string(begins[:n]), 0):
		return fmt.Sprintf("the script %q has no #! line", shorten(program)), "start it with the line #!/bin/sh, or write command: [sh, " + shorten(program) + "]"
	}
	return "", ""
}

// missingProgram tells a file that is there and may not be executed from one that is not there.
func missingProgram(n *source.Node, folder string) source.Fault {
	at := n.Text
	if !filepath.IsAbs(at) {
		at = filepath.Join(folder, at)
	}
	if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && strings.ContainsRune(n.Text, '/') {
		return n.Fault("make it executable: chmod +x "+shorten(n.Text), "the file %q may not be executed", shorten(n.Text))
	}
	return n.Fault("install it, or write the path to it", "program %q not found", shorten(n.Text))
}

// programNodes are where a loop names programs: the first words of commands.
func (l *Loop) programNodes() []*source.Node { return firstWords(l.commandNodes()) }

// commandNodes are the commands of a loop; some may be nil, or no lists.
func (l *Loop) commandNodes() (commands []*source.Node) {
	for _, agent := range l.agents() {
		commands = append(commands, agent.Node.Get("command"))
	}
	for _, t := range l.tools() {
		commands = append(commands, t.Node.Get("command"), t.Node.Get("mcp").Get("command"))
	}
	if l.Evaluate != nil {
		judge, test := l.Evaluate.Node.Get("command"), l.Evaluate.Node.Get("test")
		commands = append(commands, cmp.Or(judge.Get("command"), judge), cmp.Or(test.Get("command"), test))
	}
	if l.Workspace != nil && l.Workspace.Setup != nil {
		commands = append(commands, l.Workspace.Setup.Node.Get("command"))
	}
	return commands
}

// programNodes are where the scorers of a suite name programs.
func (s *Suite) programNodes() []*source.Node { return firstWords(s.commandNodes()) }

func (s *Suite) commandNodes() (commands []*source.Node) {
	for scorer := range s.AllScorers() {
		commands = append(commands, scorer.Node.Get("command"))
	}
	return commands
}

// shellArgument matches an argument that a shell would replace.
var shellArgument = regexp.MustCompile(`^\$[A-Za-z_]\w*$|\$\{[A-Za-z_]\w*\}`)

// checkArguments warns of variables that no shell replaces. Programs that are given code, as by sh -c, may have their own.
func (l *loader) checkArguments(commands []*source.Node) {
	for _, command := range commands {
		if command.Len() == 0 || command.Kind != source.List {
			continue
		}
		words := command.Items
		if slices.ContainsFunc(words[1:], func(n *source.Node) bool { return n.Text == "-c" || n.Text == "-e" }) {
			continue
		}
		for _, n := range words[1:] {
			if found := shellArgument.FindString(n.Text); found != "" {
				l.warn(n, "the program gets this text; for a shell write command: [sh, -c, 'PROGRAM "+found+"']", "%s is not replaced: no shell runs", found)
			}
		}
	}
}

func firstWords(commands []*source.Node) (programs []*source.Node) {
	for _, command := range commands {
		if command.Len() > 0 && command.Kind == source.List {
			programs = append(programs, command.Items[0])
		}
	}
	return programs
}

// programThere looks where the program would be started: in the folders of PATH; a path is relative to the loop's folder.
func programThere(folder, program, searchPath string) bool {
	switch {
	case filepath.IsAbs(program):
		return executable(program)
	case strings.ContainsRune(program, '/'):
		return executable(filepath.Join(folder, program))
	}
	return slices.ContainsFunc(filepath.SplitList(searchPath), func(dir string) bool {
		return executable(filepath.Join(dir, program))
	})
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// ReadFile reads a file that the suite names, below its folder or a root.
func (d *Document) ReadFile(reference string) ([]byte, error) {
	at, err := d.roots.resolve(d.folder, reference)
	if err != nil {
		return nil, err
	}
	return at.folder.content(at.path, maxSpecBytes)
}

// Find is where a file or folder is that a suite or loop names, below its own folder or a root: a path on disk, or, of one
// that is embedded, its file system, which is then not nil, and its name there.
func (d *Document) Find(reference string) (at string, embedded fs.FS, err error) {
	found, err := d.roots.resolve(d.folder, reference)
	if err != nil {
		return "", nil, err
	}
	clean, err := found.folder.within(found.path)
	if err != nil {
		return "", nil, err
	}
	err = found.folder.walk(func(fsys fs.FS) error { // a link that leads out is refused
		_, err := fs.Stat(fsys, clean)
		return err
	})
	switch {
	case err != nil:
		return "", nil, found.folder.explain(clean, err)
	case found.folder.fsys != nil:
		return clean, found.folder.fsys, nil
	}
	return filepath.Join(found.folder.disk, filepath.FromSlash(clean)), nil, nil
}

// Hints are the hints of all loops of a document, each once.
func (d *Document) Hints() (hints source.Faults) {
	switch {
	case d.Loop != nil:
		return d.Loop.Hints()
	case d.Suite == nil:
		return nil
	}
	for i := range d.Suite.Resolved {
		for _, hint := range d.Suite.Resolved[i].Loop.Hints() {
			if !slices.Contains(hints, hint) {
				hints = append(hints, hint)
			}
		}
	}
	return hints
}
