package command

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
	"github.com/agentbench/agentbench/suites"
)

// importFlags are the flags of import.
type importFlags struct {
	out         string
	list, print bool
}

func (p *program) importCommand() *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:     "import MAPPING FILE...",
		Short:   "Make records of the logs of other tools",
		GroupID: "run",
		Long: `Reads logs by a mapping, a YAML file of CEL expressions, into a result folder, which
report, diff and show read as any other. A mapping is a file, or the name of one that ships:

` + mappingListing() + `

What cannot be read is told and left out; it exits with 5 only if nothing could be read.
Interrupted, it keeps what it has read and exits with 4.
A file may be - for stdin.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case f.list:
				fmt.Fprintln(p.out, mappingListing())
				return nil
			case f.print:
				return p.printMapping(args)
			case len(args) < 2:
				return exit.Usage("agentbench import --help explains it", "import: want a mapping and one or more files, got %d", len(args))
			}
			return p.importLogs(c.Context(), args[0], args[1:], &f)
		},
	}
	outFlag(c, &f.out, "folder for the results (default results/MAPPING-TIME-…)")
	c.Flags().BoolVar(&f.list, "list", false, "list the mappings that ship")
	c.Flags().BoolVar(&f.print, "print", false, "print a mapping that ships, to start from")
	return c
}

func mappingListing() string {
	var b strings.Builder
	for _, m := range suites.Mappings() {
		fmt.Fprintf(&b, "  %-16s %s\n", m.Name, m.About)
	}
	return strings.TrimRight(b.String(), "\n")
}

func (p *program) printMapping(args []string) error {
	if len(args) != 1 {
		return exit.Usage("agentbench import --list lists them", "import --print: want the name of a mapping that ships, got %d", len(args))
	}
	shipped, ok := suites.FindMapping(args[0])
	if !ok {
		return exit.Usage(exit.DidYouMean(args[0], suites.MappingNames(), "there are: "+strings.Join(suites.MappingNames(), ", ")), "no mapping %q ships", args[0])
	}
	text, err := fs.ReadFile(suites.MappingFiles(), shipped.File())
	if err != nil {
		return exit.Unmeasured(err)
	}
	_, err = p.out.Write(text)
	return unlessClosed(err)
}

// openMapping loads a mapping: a file, "-", or one that ships.
func (p *program) openMapping(path string) (*spec.Import, error) {
	options := spec.Options{Env: p.env, Stdin: p.in}
	var document *spec.Document
	var faults source.Faults
	shipped, ships := suites.FindMapping(path)
	switch {
	case path == "-" || there(path):
		document, faults = spec.Load(path, options)
	case ships:
		document, faults = spec.LoadFS(suites.MappingFiles(), shipped.File(), options)
	default:
		names := append(suites.MappingNames(), nearby(path)...)
		return nil, exit.Usage(exit.DidYouMean(path, names, "the mappings that ship: "+strings.Join(suites.MappingNames(), ", ")), "there is no mapping %s", path)
	}
	if document == nil {
		p.learnLines(faults)
		faults.Print(p.err)
		return nil, exit.Quiet(exit.WrongSpec)
	}
	if document.Import == nil {
		return nil, exit.Usage("a mapping begins with import: NAME; agentbench import --print intercode shows one", "%s is no mapping", path)
	}
	document.Warnings.Print(p.err)
	return document.Import, nil
}

// importLogs reads files into a new result folder.
func (p *program) importLogs(ctx context.Context, path string, files []string, f *importFlags) error {
	if err := readableLogs(files); err != nil {
		return err
	}
	m, err := p.openMapping(path)
	if err != nil {
		return err
	}
	if f.out == "" {
		f.out = results.Fresh(m.Name, p.now())
	}
	im := &importing{program: p, mapping: m, importer: imports.New(m), dir: f.out, problems: newProblems()}
	ctx, end := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer end()
	context.AfterFunc(ctx, end) // a second signal ends it at once
	err = im.read(ctx, files)
	im.problems.print(p.err)
	return im.conclude(err, ctx.Err() != nil)
}

// conclude puts the state of the results down and tells of them.
func (im *importing) conclude(failed error, interrupted bool) error {
	switch {
	case im.folder == nil && interrupted:
		return exit.With(exit.Stopped, "", "interrupted before anything was read")
	case im.folder == nil && failed == nil:
		return exit.With(exit.NotMeasured, "is this the mapping for these files? agentbench import --list lists those that ship", "nothing could be read")
	case im.folder == nil:
		return failed
	case failed != nil:
		return errors.Join(failed, im.finish(record.StateFailed))
	case interrupted:
		if err := im.finish(record.StateStopped); err != nil {
			return err
		}
		return exit.With(exit.Stopped, "what was read is in "+im.dir+"; import into another folder to have all",
			"interrupted after %s", page.Plural(im.folder.manifest.Totals.Runs(), "run", "runs"))
	}
	if err := im.finish(record.StateComplete); err != nil {
		return err
	}
	im.tell()
	return nil
}

// readableLogs refuses files that are not there before anything is made.
func readableLogs(files []string) error {
	for _, file := range files {
		if file == "-" {
			continue
		}
		info, err := os.Stat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return exit.Usage(exit.DidYouMean(file, nearby(file), ""), "there is no file %s", file)
		case err != nil:
			return exit.Usage("", "%v", err)
		case info.IsDir():
			return exit.Usage("name the files in it: "+exit.ShellWord(file)+"/*", "%s is a folder", file)
		}
	}
	return nil
}

// importing is an import on its way.
type importing struct {
	*program
	mapping  *spec.Import
	importer *imports.Importer
	dir      string
	folder   *importFolder // nil: no run was read yet
	problems *problems
	data     []record.DataFile
}

// read reads files until they end, or the context does.
func (im *importing) read(ctx context.Context, files []string) error {
	for _, file := range files {
		if ctx.Err() != nil {
			return nil
		}
		if err := im.readFile(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

func (im *importing) readFile(ctx context.Context, path string) error {
	log, err := im.openLog(path)
	if err != nil {
		return err
	}
	defer log.Close()
	for imported, err := range im.importer.Read(path, log) {
		var problem *imports.Problem
		switch {
		case errors.As(err, &problem):
			im.problems.add(problem)
			continue
		case err != nil:
			return exit.Unmeasured(err)
		}
		if err := im.keep(imported); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil // its hash would be that of the whole file
		}
	}
	sum, err := log.sum()
	if err != nil {
		return exit.With(exit.NotMeasured, "", "reading %s: %w", path, err)
	}
	im.data = append(im.data, record.DataFile{Name: path, Hash: sum})
	return nil
}

// keep writes a run, into a folder that is made for the first one.
func (im *importing) keep(imported *imports.Imported) error {
	if im.folder == nil {
		folder, err := im.makeFolder()
		if err != nil {
			return err
		}
		im.folder = folder
	}
	if err := im.folder.add(imported); err != nil {
		return exit.Unmeasured(err)
	}
	return nil
}

// tell says what was imported, and what of it needs to be known.
func (im *importing) tell() {
	m := &im.folder.manifest
	fmt.Fprintf(im.out, "%s: imported %s: %s, %s, %s, %s\n", im.dir, page.Plural(m.Totals.Runs(), "run", "runs"), page.Plural(m.Tasks, "task", "tasks"),
		page.Plural(len(m.Configurations), "configuration", "configurations"), page.Plural(m.Trials, "trial", "trials"),
		page.Plural(im.folder.iterations, "iteration", "iterations"))
	if n := im.problems.count; n > 0 {
		fmt.Fprintf(im.out, "%s could not be read\n", page.Plural(n, "row or file", "rows or files"))
	}
	notes := im.importer.Notes()
	note := func(n int, format string, args ...any) {
		if n > 0 {
			fmt.Fprintf(im.err, "agentbench: warning: "+format+"\n", args...)
		}
	}
	note(notes.Renamed, "%s had the id of another task, and got the file's name before it", page.Plural(notes.Renamed, "run", "runs"))
	note(notes.Retried, "%s had a trial that was there already, and became the next trial", page.Plural(notes.Retried, "run", "runs"))
	note(notes.Regrouped, "%s gave another cluster or group than the first run of the task, which holds", page.Plural(notes.Regrouped, "run", "runs"))
	note(len(notes.Parted), "runs of %s were recorded under several limits, and are several configurations: NAME[LIMIT=VALUE]", page.Visible(strings.Join(notes.Parted, ", ")))
	note(notes.Restarts, "counters fell %s: they were restarted there, and what they say is counted from there", page.Plural(notes.Restarts, "time", "times"))
	note(notes.Contradicted, "%s went on after the limits of recorded_under; the first: %s", page.Plural(notes.Contradicted, "run", "runs"), notes.First)
	if n := notes.Untimed; n == m.Totals.Runs() {
		note(n, "the log has no times: the latency is unknown")
	} else {
		note(n, "the time of %s is unknown, so the latency is unknown", page.Plural(n, "run", "runs"))
	}
	fmt.Fprintf(im.err, "look at it: agentbench report %s\n", exit.ShellWord(im.dir))
}

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
	if err := results.MakeFolder(im.dir); err != nil {
		return nil, err
	}
	var err error
	f.journal, err = record.Create(im.dir, f.manifest, im.recording())
	switch {
	case errors.Is(err, record.ErrExists):
		return nil, exit.Usage("name another folder with --out", "there are results in %s already", im.dir)
	case err != nil:
		return nil, exit.With(exit.NotMeasured, "name a folder that can be written to with --out", "making the results: %w", err)
	}
	if f.tasksFile, err = os.Create(filepath.Join(im.dir, results.TasksFile)); err != nil {
		return nil, errors.Join(exit.With(exit.NotMeasured, "", "writing the tasks: %w", err), f.journal.Close())
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
		return exit.Unmeasured(err)
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
	resolved, err := results.ResolveImport(im.mapping, loops)
	if err != nil {
		return err
	}
	if m.Spec, err = im.writtenSpec(resolved); err != nil {
		return err
	}
	m.SpecHash, err = results.Hash(m)
	return err
}

// logFile is a log that is hashed as it is read.
type logFile struct {
	*os.File
	hash hash.Hash
	read int64
}

// openedLog is a log, and the hash of all that it holds.
type openedLog interface {
	io.ReadCloser
	sum() (string, error)
}

func (im *importing) openLog(path string) (openedLog, error) {
	if path == "-" {
		return &pipedLog{r: im.in, hash: sha256.New()}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, exit.Unmeasured(err)
	}
	return &logFile{File: f, hash: sha256.New()}, nil
}

func (l *logFile) Read(b []byte) (int, error) {
	n, err := l.File.Read(b)
	l.hash.Write(b[:n])
	l.read += int64(n)
	return n, err
}

// sum is the hash of the whole file, also where it was not read in its order.
func (l *logFile) sum() (string, error) {
	if info, err := l.Stat(); err != nil || info.Size() != l.read {
		l.hash.Reset()
		if _, err := l.Seek(0, io.SeekStart); err != nil {
			return "", err
		}
		if _, err := io.Copy(l.hash, l.File); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(l.hash.Sum(nil)[:16]), nil
}

// pipedLog is stdin, which cannot be read at any place.
type pipedLog struct {
	r    io.Reader
	hash hash.Hash
}

func (l *pipedLog) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	l.hash.Write(b[:n])
	return n, err
}

func (l *pipedLog) Close() error { return nil }

func (l *pipedLog) sum() (string, error) { return hex.EncodeToString(l.hash.Sum(nil)[:16]), nil }

// problems are what could not be read: of each kind the first, and how many.
type problems struct {
	count int
	kinds []*problemKind
	at    map[string]*problemKind
}

type problemKind struct {
	first *imports.Problem
	count int
}

const (
	mostProblemKinds = 1000
	shownProblems    = 20
)

func newProblems() *problems { return &problems{at: map[string]*problemKind{}} }

func (p *problems) add(problem *imports.Problem) {
	p.count++
	key := problem.File + "\x00" + problem.What
	kind := p.at[key]
	if kind == nil && len(p.kinds) < mostProblemKinds {
		kind = &problemKind{first: problem}
		p.kinds, p.at[key] = append(p.kinds, kind), kind
	}
	if kind != nil {
		kind.count++
	}
}

func (p *problems) print(w io.Writer) {
	var b bytes.Buffer
	for i, kind := range p.kinds {
		if i == shownProblems {
			fmt.Fprintf(&b, "agentbench: warning: and %s of other kinds\n", page.Plural(len(p.kinds)-i, "problem", "problems"))
			break
		}
		more := ""
		if kind.count > 1 {
			more = fmt.Sprintf(" (and %d more of this kind in the file)", kind.count-1)
		}
		fmt.Fprintf(&b, "agentbench: warning: not read: %s%s\n", page.Visible(kind.first.Error()), more)
	}
	_, _ = w.Write(b.Bytes())
}
