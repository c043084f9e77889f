// Package imports decides how the logs of other tools become records. A mapping
// (spec.Import) says where the runs of a log are and what each was; this package reads
// files row by row, evaluates the mapping on each row, and makes of it a run as a loop
// would have left it behind, with its scores.
//
// The stages, in order: a file becomes rows without being held whole (stream.go), a
// row becomes a run (rows.go) with iterations, usage and scores (iteration.go), and
// the run's outcome follows from the rules that the log was made under (outcome.go). Before that,
// recognize.go finds the format of a file.
//
// It is no stable API.
package imports

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// row is what a mapping makes a run of.
type row struct {
	doc   any // what of its document was read before it
	value any
	file  string
	line  int // at which it begins, or at which its document does
	n     int // which row of its document it is, from 1; 0: the only one at its line
	bytes int // of its text, or its document's
}

// shape is where the rows of a document are.
type shape struct {
	each   *spec.Expr // evaluated on the whole document; nil: see the others
	path   []string   // keys that lead to the list of rows
	values bool       // the rows are the values of the document, an object
}

// shapeOf recognizes what can be read row by row.
func shapeOf(each *spec.Expr) shape {
	if each == nil {
		return shape{}
	}
	text := strings.Join(strings.Fields(each.Text), "")
	if text == "doc" {
		return shape{}
	}
	if key, ok := strings.CutPrefix(text, "doc.map("); ok {
		name, _, _ := strings.Cut(key, ",")
		if text == "doc.map("+name+",doc["+name+"])" {
			return shape{values: true}
		}
	}
	if path, ok := strings.CutPrefix(text, "doc."); ok {
		const names = `^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`
		if only, _ := regexp.MatchString(names, path); only {
			return shape{path: strings.Split(path, ".")}
		}
	}
	return shape{each: each}
}

// document reads the rows of the next document of a stream.
func (f *file) document(s *stream) bool {
	first, err := s.peek()
	switch {
	case err != nil:
		return f.fail(s.line, err)
	case f.shape.each != nil:
		doc, line, err := s.value()
		if err != nil {
			return f.fail(line, err)
		}
		return f.inMemory(doc, line, 0)
	case f.shape.values:
		return f.members(s, '{', notValues, func(string) bool { return f.item(s, expr.NewObject(0)) })
	case first == '[': // also of a log whose rows are below a path: it was written without the rest
		return f.list(s, nil)
	case f.shape.path != nil:
		doc := expr.NewObject(4)
		return f.below(s, doc, doc, f.shape.path)
	}
	value, line, err := s.value()
	return f.yield(row{doc: value, value: value, line: line}, err)
}

// inMemory gives the rows of a document in memory; all of them have its line.
func (f *file) inMemory(doc any, line, bytes int) bool {
	rows, err := f.rowsOf(doc, line)
	if err != nil {
		return f.fail(line, err)
	}
	for i, value := range rows {
		r := row{doc: doc, value: value, line: line, bytes: bytes / len(rows)}
		if len(rows) > 1 {
			r.n = i + 1
		}
		if !f.yield(r, nil) {
			return false
		}
	}
	return true
}

func (f *file) rowsOf(doc any, line int) ([]any, error) {
	if f.shape.each != nil {
		s := &scope{row: row{doc: doc, file: f.name, line: line}}
		rows := list(f.shape.each, s)
		return rows, s.err
	}
	object, isObject := doc.(*expr.Object)
	if f.shape.values {
		if !isObject {
			return nil, &broken{line, notValues}
		}
		var rows []any
		for i := range object.Len() {
			_, value := object.At(i)
			rows = append(rows, value)
		}
		return rows, nil
	}
	value := doc
	if rows, ok := doc.([]any); ok {
		return rows, nil
	}
	for _, key := range f.shape.path {
		object, _ := value.(*expr.Object)
		found, ok := object.Get(key)
		if !ok {
			return nil, &broken{line, f.missing()}
		}
		value = found
	}
	rows, isList := value.([]any)
	switch {
	case isList:
		return rows, nil
	case f.shape.path != nil:
		return nil, &broken{line, "doc." + strings.Join(f.shape.path, ".") + " is not a list"}
	}
	return []any{doc}, nil
}

const notValues = "want an object whose values are the rows"

func (f *file) missing() string { return "doc." + strings.Join(f.shape.path, ".") + " is missing" }

// list yields the items of a list. An item that is not JSON inside is reported, and
// the next follow.
func (f *file) list(s *stream, doc any) bool {
	return f.members(s, '[', "want a list of rows", func(string) bool { return f.item(s, doc) })
}

// members calls do at each member of a list or an object, by its opening bracket, with its
// key. Wrong is what is wrong where another value follows.
func (f *file) members(s *stream, open byte, wrong string, do func(key string) bool) bool {
	ok, err := s.accept(open)
	if err == nil && !ok {
		err = s.broken("%s", wrong)
	}
	for first := true; err == nil; first = false {
		var done bool
		key := ""
		if done, err = s.next(first, open+2); done { // the closing bracket, in ASCII
			return true
		}
		if err == nil && open == '{' {
			key, err = s.key()
		}
		if err == nil && !do(key) {
			return false
		}
	}
	return f.fail(s.line, err)
}

// item yields the next value of a stream as a row.
func (f *file) item(s *stream, doc any) bool {
	text, line, err := s.raw()
	if err != nil {
		return f.fail(line, err)
	}
	value, err := parseJSON(text)
	if err != nil {
		f.fail(line, notJSON(text, line, err))
		return !f.ended
	}
	return f.yield(row{doc: doc, value: value, line: line, bytes: len(text)}, nil)
}

// below looks for the list of rows behind a path. The rows see what comes before
// them as doc; what comes after them is not read.
func (f *file) below(s *stream, doc, here *expr.Object, path []string) bool {
	found := false
	whole := f.members(s, '{', f.missing(), func(key string) bool {
		switch {
		case found:
			if _, line, err := s.raw(); err != nil {
				return f.fail(line, err)
			}
		case key != path[0]:
			value, line, err := s.value()
			if err != nil {
				return f.fail(line, err)
			}
			here.Set(key, value)
		case len(path) == 1:
			found = true
			return f.list(s, doc)
		default:
			found = true
			inner := expr.NewObject(4)
			here.Set(key, inner)
			return f.below(s, doc, inner, path[1:])
		}
		return true
	})
	return whole && (found || f.fail(s.line, s.broken("%s", f.missing())))
}

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
		f := &file{name: name, shape: shapeOf(im.mapping.Each), zip: im.mapping.Zip, notes: &im.notes}
		f.give = func(found row, problem *Problem) bool {
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
		}
		if im.mapping.Run == nil {
			f.read(r)
			return
		}
		g := &groups{by: im.mapping.Run, of: map[string]*row{}, give: f.give}
		f.give = g.add
		f.read(r)
		for _, other := range beside {
			if !f.ended {
				more := &file{name: other.Name, of: name, shape: f.shape, give: g.add}
				more.read(other)
				f.ended = more.ended
			}
		}
		if f.ended {
			return
		}
		if len(beside) > 0 {
			if err := g.sort(im.mapping.Beside.Order); err != nil {
				f.fail(0, err)
				return
			}
		}
		g.end()
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

// Problem is something that could not be read.
type Problem struct {
	File string
	Line int // 0: of the file as a whole
	What string
}

// Error names the place.
func (p *Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.What
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.What)
}

type file struct {
	name  string
	of    string // the file that its rows are of; "": this one
	shape shape
	zip   *spec.Zip
	give  func(row, *Problem) bool
	ended bool // the caller wants no more
	notes *Notes
}

// yield hands out a row, or what is wrong with it.
func (f *file) yield(r row, err error) bool {
	if err != nil {
		return f.fail(r.line, err)
	}
	r.file = cmp.Or(f.of, f.name)
	f.ended = !f.give(r, nil)
	return !f.ended
}

// fail hands out what is wrong. It gives false: only after a row whose end is
// known can reading continue.
func (f *file) fail(line int, err error) bool {
	var b *broken
	if errors.As(err, &b) {
		line = b.line
	}
	f.ended = !f.give(row{}, &Problem{File: f.name, Line: line, What: err.Error()})
	return false
}

// read reads a file by its beginning and its name.
func (f *file) read(r io.Reader) {
	start := bufio.NewReader(r)
	head, _ := start.Peek(4) // a shorter file is no zip file
	switch ext := strings.ToLower(path.Ext(f.name)); {
	case bytes.Equal(head, []byte("PK\x03\x04")):
		f.archive(r)
	case ext == ".csv":
		f.table(start)
	case ext == ".jsonl" || ext == ".ndjson":
		f.lines(start)
	default:
		f.documents(newStream(start))
	}
}

func (f *file) documents(s *stream) {
	for n := 0; ; n++ {
		c, err := s.peek()
		switch {
		case err != nil:
			f.fail(s.line, err)
			return
		case c == 0 && n == 0:
			f.fail(0, errors.New("the file is empty"))
			return
		case c == 0:
			return
		}
		if !f.document(s) {
			return
		}
	}
}

// lines reads a document a line. A line that is not JSON is reported, and the next
// lines follow.
func (f *file) lines(r *bufio.Reader) {
	s := bufio.NewScanner(withoutMark(r))
	s.Buffer(make([]byte, 0, 64<<10), mostBytes)
	line := 0
	for !f.ended && s.Scan() {
		line++
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		if doc, err := parseJSON(s.Bytes()); err != nil {
			f.fail(line, notJSON(s.Bytes(), line, err))
		} else {
			f.inMemory(doc, line, len(s.Bytes()))
		}
	}
	switch err := s.Err(); {
	case err == nil && line == 0:
		f.fail(0, errors.New("the file is empty"))
	case errors.Is(err, bufio.ErrTooLong):
		f.fail(line+1, fmt.Errorf("a line of more than %d bytes", mostBytes))
	case err != nil && !f.ended:
		f.fail(line+1, err)
	}
}

// withoutMark skips the byte order mark.
func withoutMark(r *bufio.Reader) *bufio.Reader {
	if mark, _ := r.Peek(3); bytes.Equal(mark, []byte("\ufeff")) {
		_, _ = r.Discard(3) // they were peeked at
	}
	return r
}

// table reads a .csv file: the first line names the columns, every value is text.
func (f *file) table(r *bufio.Reader) {
	if f.shape.each != nil || f.shape.values || f.shape.path != nil {
		f.fail(0, errors.New("a .csv file has a row a line, but the mapping has each"))
		return
	}
	reader := csv.NewReader(withoutMark(r))
	columns, err := reader.Read()
	if err != nil {
		f.fail(1, tableError(err))
		return
	}
	columns = slices.Clone(columns)
	for {
		values, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			f.fail(0, tableError(err))
			var parse *csv.ParseError
			if !errors.As(err, &parse) || f.ended {
				return
			}
			continue
		}
		line, _ := reader.FieldPos(0)
		object := expr.NewObject(len(columns))
		for i, column := range columns {
			object.Set(column, values[i])
		}
		if !f.yield(row{value: object, line: line}, nil) {
			return
		}
	}
}

func tableError(err error) error {
	var parse *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty")
	case errors.As(err, &parse):
		return &broken{parse.Line, "not CSV: " + parse.Err.Error()}
	}
	return err
}

// archive reads a zip file: the members that the mapping says are rows, or else
// every JSON member as a file of its own. Of members of one name the last is meant.
func (f *file) archive(r io.Reader) {
	opened, err := openZip(r)
	if err != nil {
		f.fail(0, err)
		return
	}
	last := map[string]*zip.File{}
	for _, m := range opened.File {
		last[m.Name] = m
	}
	var doc any
	if f.zip != nil && len(f.zip.Doc) > 0 {
		at := slices.IndexFunc(f.zip.Doc, func(name string) bool { return last[name] != nil })
		if at < 0 {
			f.fail(0, errors.New("the zip file has no member "+strings.Join(f.zip.Doc, ", ")))
			return
		}
		if doc, _, err = memberValue(last[f.zip.Doc[at]]); err != nil {
			f.fail(0, fmt.Errorf("%s: %w", f.zip.Doc[at], err))
			return
		}
	}
	for _, member := range opened.File {
		wanted := isJSON(member.Name)
		if f.zip != nil {
			wanted, _ = path.Match(f.zip.Rows, member.Name) // the pattern was checked
		}
		if !wanted {
			continue
		}
		if last[member.Name] != member {
			f.notes.Replaced++
			continue
		}
		f.member(member, doc)
		if f.ended {
			return
		}
	}
}

func isJSON(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".json" || ext == ".jsonl"
}

// openZip wants a file that can be read at any place.
func openZip(r io.Reader) (*zip.Reader, error) {
	at, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return nil, errors.New("a zip file cannot be read from a pipe")
	}
	size, err := at.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	opened, err := zip.NewReader(at, size)
	if err != nil {
		return nil, fmt.Errorf("the zip file is cut off or damaged: %w", err)
	}
	opened.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor(zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(mostWindow)))
	return opened, nil
}

// What a member of a zip file may take: the memory of its compression, and, from a
// size on, so many times its size in the zip file.
const (
	mostWindow    = 128 << 20
	mostExpansion = 300
	expandsFreely = 64 << 20
)

// expanding reads a member as long as that is in proportion.
type expanding struct {
	io.ReadCloser
	member *zip.File
	read   uint64
}

func (e *expanding) Read(b []byte) (int, error) {
	n, err := e.ReadCloser.Read(b)
	if e.read += uint64(n); e.read > mostBytes || e.read > expandsFreely && e.read/mostExpansion > e.member.CompressedSize64 {
		return 0, fmt.Errorf("%d bytes expand to more than %d: is the zip file a bomb? To import it, unpack it first", e.member.CompressedSize64, e.read-1)
	}
	return n, err
}

func openMember(m *zip.File) (io.ReadCloser, error) {
	opened, err := m.Open()
	switch {
	case errors.Is(err, zip.ErrAlgorithm):
		return nil, errors.New(m.Name + " has an unknown compression method; unpack the zip file and import its members")
	case err != nil:
		return nil, err
	}
	return &expanding{ReadCloser: opened, member: m}, nil
}

// member reads a member: as a row, or as a file.
func (f *file) member(m *zip.File, doc any) {
	inner := &file{name: f.name + "/" + m.Name, shape: f.shape, give: f.give}
	defer func() { f.ended = inner.ended }()
	if f.zip != nil {
		value, line, err := memberValue(m)
		inner.yield(row{doc: doc, value: value, line: line, bytes: int(m.UncompressedSize64)}, err)
		return
	}
	opened, err := openMember(m)
	if err != nil {
		inner.fail(0, err)
		return
	}
	defer opened.Close()
	inner.read(opened)
}

func memberValue(m *zip.File) (any, int, error) {
	r, err := openMember(m)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	return newStream(r).value()
}

// Problems are what could not be read: of each kind the first, and how many.
type Problems struct {
	Count int
	kinds []*problemKind
	at    map[string]*problemKind
}

type problemKind struct {
	first *Problem
	count int
}

// Add counts a problem.
func (p *Problems) Add(problem *Problem) {
	const mostKinds = 1000
	p.Count++
	key := problem.File + "\x00" + problem.What
	kind := p.at[key]
	if kind == nil && len(p.kinds) < mostKinds {
		kind = &problemKind{first: problem}
		if p.at == nil {
			p.at = map[string]*problemKind{}
		}
		p.kinds, p.at[key] = append(p.kinds, kind), kind
	}
	if kind != nil {
		kind.count++
	}
}

// Lines tell of the first kinds, in a line each, and how many others there are.
func (p *Problems) Lines() (lines []string) {
	const shown = 20
	for _, kind := range p.kinds[:min(shown, len(p.kinds))] {
		line := "not read: " + kind.first.Error()
		if kind.count > 1 {
			line += fmt.Sprintf(" (and %d more of this kind in the file)", kind.count-1)
		}
		lines = append(lines, line)
	}
	switch more := len(p.kinds) - shown; {
	case more == 1:
		lines = append(lines, "and 1 problem of other kinds")
	case more > 1:
		lines = append(lines, fmt.Sprintf("and %d problems of other kinds", more))
	}
	return lines
}
