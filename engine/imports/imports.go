// Package imports makes records of the logs of other tools. New makes an Importer of a mapping
// (spec.Import), which says where the runs of a log are and what each was; it reads
// files row by row, evaluates the mapping on each row, and makes of it a run as a loop
// would have left it behind, with its scores.
//
// The stages, in order: a file becomes rows without being held whole (rows.go), a
// row becomes a run (imports.go) with iterations, usage and scores (iteration.go), and
// the run's outcome follows from the rules that the log was made under (outcome.go). Before that,
// recognize.go finds the format of a file.
//
// It is no stable API.
package imports

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// Importer reads logs by one mapping. The zero value is useless; see New.
type Importer struct {
	mapping  *spec.Import
	ids      *identities
	recorded map[string]*Recorded
	under    *underLimits
	sessions map[digest]string // where each was read
	order    []string
	inside   meter // of iterations
	overall  meter // of runs
	notes    Notes

	// Labels are scores of runs that the log does not have; nil: none.
	Labels *Labels
	// Prices puts what calls of a model cost into their usage, in which it is unknown; nil: the cost
	// stays unknown. It reports whether it knows the model.
	Prices func(model string, u *record.Usage) (known bool)
}

// Notes are what an import found that a user should know, beside problems.
type Notes struct {
	Renamed int // runs whose task's id stood for another task
	Retried int // runs whose trial was there already
	// Regrouped are runs that give their task another cluster or group than its first
	// run.
	Regrouped int
	Restarts  int // counters that fell, and count anew
	// Parted are configurations whose runs were recorded under several limits, and so are
	// of several configurations.
	Parted  []string
	Untimed int // runs whose time is unknown
	// Unpriced are the models that no price was known of.
	Unpriced []string
	Uncut    int // runs of several iterations that have a score, but none of an iteration
	// Contradicted are runs that continue after the limits that they were
	// recorded under; First is the place of the first, and its iteration.
	Contradicted int
	First        string
	// Orphans are results of tools that name a call that is not there.
	Orphans int
	// Replaced are members of zip files of which a later one has the same name, which is read.
	Replaced int
	// Warnings are what the mapping warns of, in the order in which they came.
	Warnings []Warning
}

// Warning is what a mapping warns of: how many runs, and where the first is.
type Warning struct {
	What  string
	Runs  int
	First string
}

// mostWarnings is how many different texts are kept.
const mostWarnings = 20

func (n *Notes) warn(what, place string) {
	at := slices.IndexFunc(n.Warnings, func(w Warning) bool { return w.What == what })
	if at < 0 && len(n.Warnings) == mostWarnings {
		return
	}
	if at < 0 {
		at, n.Warnings = len(n.Warnings), append(n.Warnings, Warning{What: what, First: place})
	}
	n.Warnings[at].Runs++
}

// New makes an importer.
func New(m *spec.Import) *Importer {
	im := &Importer{mapping: m, recorded: map[string]*Recorded{}, sessions: map[digest]string{}, under: &underLimits{mapping: m, of: map[string]*limitsOf{}}}
	im.ids = &identities{
		inputs: map[digest]digest{}, runs: map[digest]bool{}, trials: map[digest]int{}, names: map[digest]string{}, notes: &im.notes,
	}
	im.inside = meter{mapping: m, last: map[string]int64{}, restarts: &im.notes.Restarts}
	im.overall = meter{mapping: m, last: map[string]int64{}, restarts: &im.notes.Restarts}
	return im
}

// Notes are what was found so far.
func (im *Importer) Notes() Notes {
	n := im.notes
	for _, name := range im.under.order {
		if from := im.under.of[name].from; from != name && !slices.Contains(n.Parted, from) {
			n.Parted = append(n.Parted, from)
		}
	}
	return n
}

// Configurations are the names of the configurations found so far, in the order
// in which they were.
func (im *Importer) Configurations() []string { return im.order }

// Recorded is the loop that represents the agent of a configuration.
func (im *Importer) Recorded(configuration string) (*Recorded, error) {
	if known, ok := im.recorded[configuration]; ok {
		return known, nil
	}
	loop, err := im.mapping.LoopUnder(configuration, im.under.limits(configuration))
	if err != nil {
		return nil, fmt.Errorf("making the loop of the log: %w", err)
	}
	im.recorded[configuration] = &Recorded{Loop: loop, rules: stop.Compile(loop)}
	return im.recorded[configuration], nil
}

// Imported is a run that was read.
type Imported struct {
	Run     *record.Run
	Scores  []record.Score
	Task    *spec.Task
	NewTask bool // it is the first run of the task
}

// File is a file that is read beside another.
type File struct {
	Name string
	io.Reader
}

// Read reads a file: JSON, JSON lines or CSV by its name, a zip file by how it
// begins. What cannot be read is an error, a *Problem; what can be read follows.
// The rows of files beside it are rows of the file.
func (im *Importer) Read(name string, r io.Reader, beside ...File) iter.Seq2[*Imported, error] {
	return func(yield func(*Imported, error) bool) {
		im.inside.begin(spec.CountsFile)
		im.overall.begin(spec.CountsFile)
		f := newFile(name, im.mapping, &im.notes, func(found row, problem *Problem) bool {
			if problem != nil {
				return yield(nil, problem)
			}
			imported, err := im.run(found)
			if errors.Is(err, ErrLabels) {
				yield(nil, err)
				return false
			}
			if err != nil {
				return yield(nil, &Problem{File: found.file, Line: found.line, What: err.Error()})
			}
			return yield(imported, nil)
		})
		if im.mapping.Run == nil {
			_ = f.read(r)
			return
		}
		g := &groups{by: im.mapping.Run, of: map[string]*row{}, give: f.give}
		f.give = g.add
		err := f.read(r)
		for _, other := range beside {
			if err == nil {
				more := newFile(other.Name, im.mapping, &im.notes, g.add)
				more.of = name
				err = more.read(other)
			}
		}
		if err == nil && len(beside) > 0 {
			err = f.report(g.sort(im.mapping.Beside.Order))
		}
		if err == nil {
			g.end()
		}
	}
}

// groups are the rows of a file by the runs that they belong to.
type groups struct {
	by    *spec.Expr
	of    map[string]*row
	order []*row
	bytes int
	give  func(row, *Problem) bool
}

// add keeps a row. What is wrong with one is handed on at once.
func (g *groups) add(r row, problem *Problem) bool {
	if problem != nil {
		return g.give(row{}, problem)
	}
	s := &scope{row: r}
	key := encoded(value(g.by, s), s)
	if g.bytes += r.bytes; g.bytes > mostBytes {
		s.err = fmt.Errorf("the rows of a run are held until the file ends, and these are more than %d bytes", mostBytes)
	}
	switch group := g.of[r.file+string(key)]; {
	case s.err != nil:
		return g.give(row{}, &Problem{File: r.file, Line: r.line, What: s.err.Error()}) && g.bytes <= mostBytes
	case key == nil:
	case group == nil:
		r.value = []any{r.value}
		g.of[r.file+string(key)] = &r
		g.order = append(g.order, &r)
	default:
		list, _ := group.value.([]any)
		group.value = append(list, r.value)
	}
	return true
}

// sort puts the rows of each run into the order of an expression.
func (g *groups) sort(by *spec.Expr) error {
	for _, group := range g.order {
		rows, _ := group.value.([]any)
		type placed struct {
			key string
			row any
		}
		all, s := make([]placed, len(rows)), &scope{row: *group}
		for i, r := range rows {
			s.value = r
			all[i] = placed{text(by, s), r}
		}
		if s.err != nil {
			return s.err
		}
		slices.SortStableFunc(all, func(a, b placed) int { return strings.Compare(a.key, b.key) })
		for i := range all {
			rows[i] = all[i].row
		}
	}
	return nil
}

// end hands out the runs, in the order in which they began.
func (g *groups) end() {
	for i, r := range g.order {
		g.order[i] = nil
		if !g.give(*r, nil) {
			return
		}
	}
}

type builder struct {
	*Importer
	configuration string
	// elapsed is the last in the log, elapsedBase what it counts from.
	elapsed, elapsedBase time.Duration
	started              time.Time
	lost                 bool // the duration of an iteration is unknown
	restarts             int
	orphans              int
	open                 map[string]*record.ToolCall // calls without a result, by id
	contradicts          int                         // the iteration, from 1
}

func (im *Importer) run(found row) (*Imported, error) {
	s := &scope{row: found}
	if why := text(im.mapping.Refuse, s); why != "" {
		return nil, errors.New(why)
	}
	session, err := im.session(s)
	if err != nil {
		return nil, err
	}
	b := &builder{Importer: im, configuration: im.mapping.Name, open: map[string]*record.ToolCall{}}
	im.inside.begin(spec.CountsRun)
	im.overall.begin(spec.CountsRun)
	if im.mapping.Configuration != nil {
		b.configuration = name(im.mapping.Configuration, s)
	}
	if b.configuration = im.under.configuration(b.configuration, s); s.err != nil {
		return nil, s.err
	}
	recorded, err := im.Recorded(b.configuration)
	if err != nil {
		return nil, err
	}
	task := im.task(s)
	run := &record.Run{Version: record.Version, Configuration: b.configuration, Loop: recorded.Loop.Hash(), Extra: extra(im.mapping.Extra, s)}
	b.started = moment(im.mapping.Started, s)
	run.Volatile.Started = b.started
	scored := b.fill(run, s)
	b.end(run, recorded, task, s)
	if failed := failure(b.mapping.Fault, s); failed != nil { // by no fault of the agent
		status := record.Failed
		if failed.Class.Fault() {
			status = record.Faulted
		}
		run.Outcome = record.Outcome{Status: status, Reason: record.ReasonError, Class: record.ByFault, Fired: string(failed.Class), Error: failed}
	}
	trial, known := whole(im.mapping.Trial, s)
	if known && trial < 1 || trial > spec.MostTrials {
		s.fail(im.mapping.Trial, "trials are counted from 1, got %d", trial)
	}
	warnings := list(im.mapping.Warn, s)
	if s.err != nil {
		return nil, s.err
	}
	imported := &Imported{Run: run, Task: task}
	if err := im.identify(imported, s, int(trial)); err != nil {
		return nil, err
	}
	if im.Labels != nil {
		if err := im.Labels.label(run, scored); err != nil {
			return nil, err
		}
	}
	imported.Scores = scored.all(run, im.mapping.WhenCut)
	place := fmt.Sprintf("%s:%d", s.file, s.line)
	if session != (digest{}) {
		im.sessions[session] = place
	}
	for _, w := range warnings {
		im.notes.warn(fmt.Sprint(w), place)
	}
	im.notes.Restarts += b.restarts
	im.notes.Orphans += b.orphans
	if len(run.Iterations) > 1 && len(imported.Scores) > 0 && !slices.ContainsFunc(imported.Scores, func(s record.Score) bool { return s.Iteration > 0 }) {
		im.notes.Uncut++
	}
	if run.Untimed {
		im.notes.Untimed++
	}
	if b.contradicts > 0 {
		if im.notes.Contradicted++; im.notes.Contradicted == 1 {
			im.notes.First = fmt.Sprintf("%s, at iteration %d of %d", place, b.contradicts, len(run.Iterations))
		}
	}
	return imported, nil
}

// session is what identifies a run in its log, zero where that is unknown. A run that
// was read already is an error.
func (im *Importer) session(s *scope) (id digest, err error) {
	known := encoded(value(im.mapping.Session, s), s)
	if s.err != nil || known == nil {
		return id, s.err
	}
	id = digestOf(string(known))
	if where, twice := im.sessions[id]; twice {
		return id, fmt.Errorf("the same session as %s: %.100s", where, known)
	}
	return id, nil
}

// fill makes the iterations of a run, and sums up what they used.
func (b *builder) fill(run *record.Run, s *scope) *judged {
	m := b.mapping
	scored := &judged{run: scores(m.Scores, s)}
	used := b.overall.read(m.Usage, m.CostUSD, s)
	found := parts(&m.Iterations, s)
	run.Iterations, run.Untimed = make([]record.Iteration, 0, len(found)), m.Iterations.Elapsed == nil && m.Iterations.Duration == nil
	for i := 0; i < len(found) && s.err == nil; i++ {
		s.entry, s.i, s.after = found[i].entry, i, found[i].after
		it := b.iteration(s, run.Elapsed)
		judged := scores(m.Iterations.Scores, s)
		if s.err != nil {
			s.err = fmt.Errorf("iteration %d: %w", i+1, s.err)
		}
		run.Elapsed, run.Untimed = it.End, it.Untimed
		agent, _ := it.Spent()
		run.Usage = run.Usage.Plus(agent)
		run.Iterations = append(run.Iterations, it)
		scored.iterations = append(scored.iterations, judged)
	}
	run.Usage = used.overall(run.Usage)
	if elapsed, known := span(m.Elapsed, s); known && elapsed >= run.Elapsed {
		run.Elapsed, run.Untimed = elapsed, false
	}
	return scored
}

func (im *Importer) identify(i *Imported, s *scope, declared int) error {
	input, err := expr.AppendJSON(nil, i.Task.Input)
	if err != nil {
		return fmt.Errorf("the input: %w", err)
	}
	i.Task.ID, i.NewTask = im.ids.task(i.Task.ID, input, s.file, s.line)
	i.Run.Task = i.Task.ID
	i.Task.Cluster = im.ids.named("cluster", i.Task.ID, i.NewTask, i.Task.Cluster)
	i.Task.Group = im.ids.named("group", i.Task.ID, i.NewTask, i.Task.Group)
	i.Run.Cluster, i.Run.Group = i.Task.Cluster, i.Task.Group
	i.Run.Trial = im.ids.trial(i.Run.Configuration, i.Run.Task, declared)
	i.Run.ID = record.RunID(i.Run.Configuration, i.Run.Task, i.Run.Trial)
	if !slices.Contains(im.order, i.Run.Configuration) {
		im.order = append(im.order, i.Run.Configuration)
	}
	return nil
}

func (im *Importer) task(s *scope) *spec.Task {
	m := im.mapping
	task := &spec.Task{ID: fmt.Sprintf("%s:%d", s.file, s.line)} // where the mapping gives none
	if s.n > 0 {
		task.ID += fmt.Sprintf("#%d", s.n)
	}
	if m.Task != nil {
		task.ID = name(m.Task, s)
	}
	task.Input, task.Target = value(m.Input, s), value(m.Target, s)
	task.Vars, task.Metadata = object(m.Vars, s), object(m.Metadata, s)
	task.Cluster, task.Group = grouped(m.Cluster, s, "cluster"), grouped(m.Group, s, "group")
	return task
}

// grouped is the name of a task's cluster or group, "" where it has none.
func grouped(e *spec.Expr, s *scope, what string) string {
	v := value(e, s)
	name, ok := spec.ClusterName(v)
	if !ok {
		s.fail(e, "a %s is text, a number or a truth, got %s", what, describe(v))
	}
	return name
}
