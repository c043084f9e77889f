package spec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Tasks streams the tasks of the suite in the order of the plan, each time the same. An error is a source.Fault or
// source.Faults; the next tasks follow it. Ids are not compared: see CountTasks.
func (d *Document) Tasks() iter.Seq2[*Task, error] {
	return func(yield func(*Task, error) bool) {
		for placed, err := range d.taken() {
			if !yield(placed.task, err) {
				return
			}
		}
	}
}

// placedTask is a task with its place: the node of an inline one, else the row of a file.
type placedTask struct {
	task *Task
	node *source.Node
	row  row // of a task of a file; of an inline one only its number, from 1
}

// eligible are the tasks that where lets pass, in the order in which they are written.
func (d *Document) eligible(terse *bool) iter.Seq2[placedTask, error] {
	return func(yield func(placedTask, error) bool) {
		for placed, err := range d.written(terse) {
			passes := true
			if err == nil {
				passes, err = d.Suite.Tasks.passes(placed)
			}
			if err == nil && passes {
				err = d.Suite.cluster(placed)
			}
			if (passes || err != nil) && !yield(placed, err) {
				return
			}
		}
	}
}

// written are all tasks: the inline ones, the rows of the files, or the folders.
func (d *Document) written(terse *bool) iter.Seq2[placedTask, error] {
	return func(yield func(placedTask, error) bool) {
		if d.Suite == nil {
			return
		}
		t := &d.Suite.Tasks
		for i := range t.Inline {
			placed := t.inline(i)
			d.locate(placed)
			if !yield(placed, nil) {
				return
			}
		}
		for _, rows := range []iter.Seq2[row, error]{d.rows(t.Files, t.fileNode, t.Each, terse), d.folderRows(terse)} {
			for r, err := range rows {
				placed := placedTask{row: r}
				if err == nil {
					placed.task, err = t.ofRow(r)
					d.locate(placed)
				}
				if !yield(placed, err) {
					return
				}
			}
		}
	}
}

func (t *Tasks) inline(i int) placedTask {
	return placedTask{task: t.Inline[i].task(i), node: t.Inline[i].Node, row: row{n: i + 1}}
}

// fileNode is where the i-th file is named.
func (t *Tasks) fileNode(i int) *source.Node {
	if files := fileNodes(t.Node.Get("files")); i < len(files) {
		return files[i]
	}
	return t.Node
}

// rows streams the rows of all files that the paths and patterns name. Faults that are found while terse is true have
// no text.
func (d *Document) rows(files []string, at func(int) *source.Node, each *Expr, terse *bool) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for i, reference := range files {
			place, found, err := d.roots.files(d.folder, reference)
			if err != nil && !yield(row{}, faultOf(at(i), err)) {
				return
			}
			for _, file := range found {
				data := newDataFile(place.folder, file)
				data.terse = terse
				for r, err := range data.rows(each) {
					if !yield(r, faultOf(at(i), err)) {
						return
					}
				}
			}
		}
	}
}

// faultOf places an error about a file where the file is named.
func faultOf(n *source.Node, err error) error {
	if known, ok := errors.AsType[*fileError](err); ok {
		return n.Fault(known.hint, "%s", known.what)
	}
	return err
}

// id is the task's own or, from 1, that of its number.
func (t *InlineTask) id(i int) string { return cmp.Or(t.ID, fmt.Sprintf("task-%d", i+1)) }

func (t *InlineTask) task(i int) *Task {
	task := &Task{ID: t.id(i), Input: valueOf(t.Input), Target: valueOf(t.Target), Vars: objectOf(t.Vars), Metadata: objectOf(t.Metadata)}
	for _, reference := range t.Images {
		task.Images = append(task.Images, &Image{reference: reference})
	}
	return task
}

// objectOf is nil where nothing was written.
func objectOf(named source.Named[any]) any {
	if named == nil {
		return nil
	}
	object := expr.NewObject(len(named))
	for _, pair := range named {
		object.Set(pair.Key, valueOf(pair.Value))
	}
	return object
}

// background bounds nothing: mappings have a deadline of their own.
var background = context.Background()

// rowScope is what mappings see.
type rowScope struct{ row row }

// Lookup implements expr.Scope.
func (s rowScope) Lookup(name string) (any, bool) {
	switch name {
	case "doc":
		return s.row.doc, true
	case "row":
		return s.row.value, true
	case "file":
		return s.row.name, true
	case "line":
		return int64(s.row.n), true
	}
	return nil, false
}

// mappingFault says which expression failed, and on what.
func mappingFault(e *Expr, err error, on string) error {
	offset := 0
	if failed, ok := errors.AsType[*expr.Error](err); ok {
		offset = failed.Offset
	}
	return e.Node.FaultAt(offset, 1, "", "%v (in %s)", err, on)
}

// mapping evaluates on a row what a mapping says of it. The first fault sticks; values after it are nil.
type mapping struct {
	row
	err error
}

// value is that of an expression; nil gives nil.
func (m *mapping) value(e *Expr) any {
	if e == nil || m.err != nil {
		return nil
	}
	value, err := e.Value(background, rowScope{m.row})
	if err != nil {
		m.err = mappingFault(e, err, m.place(m.n))
	}
	return value
}

// object has the values of named expressions; none give nil.
func (m *mapping) object(named source.Named[Expr]) any {
	if len(named) == 0 {
		return nil
	}
	object := expr.NewObject(len(named))
	for i := range named {
		object.Set(named[i].Key, m.value(&named[i].Value))
	}
	return object
}

// ofRow makes a task of a row: by the mapping if there is one.
func (t *Tasks) ofRow(r row) (*Task, error) {
	switch {
	case r.taskFolder != "":
		return t.ofFolder(r)
	case t.ID == nil && t.Input == nil && t.Target == nil && t.Vars == nil && t.Metadata == nil && t.Images == nil:
		return plainTask(r)
	}
	return t.mappedTask(r)
}

// mappedTask is what the mapping says of a row. A row without an id is called by its place.
func (t *Tasks) mappedTask(r row) (task *Task, err error) {
	task = &Task{ID: r.place(r.n)}
	if t.ID != nil {
		if task.ID, err = t.ID.String(background, rowScope{r}); err != nil {
			return nil, mappingFault(t.ID, err, r.place(r.n))
		}
	}
	m := mapping{row: r}
	task.Input, task.Target, task.Vars, task.Metadata = m.value(t.Input), m.value(t.Target), m.object(t.Vars), m.object(t.Metadata)
	if images := m.value(t.Images); m.err == nil {
		task.Images, m.err = imagesOf(images, r)
	}
	return task, m.err
}

// needsTarget names a scorer that cannot do without a target of each task, and one to which it must be a number; ""
// where there is none, or where tasks may be without one.
func (s *Suite) needsTarget() (any, number string) {
	if s.Tasks.Targets == TargetsOptional {
		return "", ""
	}
	for scorer := range s.AllScorers() {
		if scorer.NeedsTarget() {
			any = cmp.Or(any, scorer.Name)
			if scorer.Type == "numeric" {
				number = cmp.Or(number, scorer.Name)
			}
		}
	}
	return any, number
}

// NeedsTarget reports whether the scorer compares with the target of the task, and nothing else takes its place.
func (s *Scorer) NeedsTarget() bool {
	switch s.Type {
	case "judge", "pairwise":
		asks := func(rubric *Prompt) bool { return rubric.reads("target", "task.target") }
		return s.Target == nil && (s.Reference || slices.ContainsFunc(s.rubrics(), asks))
	case "json_path":
		return s.Target == nil && s.Expr != nil && s.Expr.Program != nil && !s.Expr.Program.IsBool()
	case "tools_called", "tools_not_called", "tool_order":
		return s.Tools == nil && s.Target == nil
	}
	return s.Kind().Target && s.Options == nil && s.Target == nil
}

// rubrics are what a judge is asked for.
func (s *Scorer) rubrics() (rubrics []*Prompt) {
	if s.Rubric != nil {
		rubrics = append(rubrics, s.Rubric)
	}
	for i := range s.Criteria {
		if rubric := s.Criteria[i].Rubric; rubric != nil {
			rubrics = append(rubrics, rubric)
		}
	}
	return rubrics
}

// taken are the tasks of the suite in the order in which they are run.
func (d *Document) taken() iter.Seq2[placedTask, error] {
	switch {
	case d.Suite == nil || !d.Suite.Tasks.byLot():
		return d.first(d.eligible(nil))
	case d.Suite.Tasks.isShuffled():
		return d.shuffled
	}
	return d.sampled
}

// first ends the tasks where their limit is reached.
func (d *Document) first(tasks iter.Seq2[placedTask, error]) iter.Seq2[placedTask, error] {
	if d.Suite == nil || d.Suite.Tasks.Limit == 0 {
		return tasks
	}
	return func(yield func(placedTask, error) bool) {
		left := d.Suite.Tasks.Limit
		for placed, err := range tasks {
			if !yield(placed, err) {
				return
			}
			if err == nil {
				left--
			}
			if left == 0 {
				return
			}
		}
	}
}

// drawing draws, where that was not done yet. The faults of a survey are those of the tasks; they are told once.
func (d *Document) drawing() (*drawn, source.Faults) {
	if known := d.drawn.Load(); known != nil {
		return known, nil
	}
	_, faults := d.CountTasks()
	return d.drawn.Load(), faults
}

// sampled streams the tasks, and leaves out those that are not drawn.
func (d *Document) sampled(yield func(placedTask, error) bool) {
	drawn, faults := d.drawing()
	if faults.Err() != nil && !yield(placedTask{}, faults) {
		return
	}
	candidates, number := drawn.candidates, int32(0)
	for placed, err := range d.eligible(nil) {
		switch {
		case len(candidates) == 0:
			return
		case err != nil:
			continue // told by the survey
		case number == candidates[0].number:
			if keyOf(placed.task.ID) != candidates[0].key {
				err = placed.row.changed()
			}
			if !yield(placed, err) {
				return
			}
			candidates = candidates[1:]
		}
		number++
	}
}

// shuffled reads the tasks from where they stand, one after the other in the order drawn.
func (d *Document) shuffled(yield func(placedTask, error) bool) {
	drawn, faults := d.drawing()
	if faults.Err() != nil && !yield(placedTask{}, faults) {
		return
	}
	reader := &candidateReader{document: d, drawn: drawn, open: map[int32]seekable{}}
	defer reader.close()
	for i := range drawn.candidates {
		placed, err := reader.task(&drawn.candidates[i])
		if err == nil {
			err = d.Suite.cluster(placed)
		}
		if !yield(placed, err) {
			return
		}
	}
}

// changed says that a file has become another since the tasks were drawn.
func (f *dataFile) changed() error {
	return &fileError{what: f.name + " was changed while it was read"}
}

// place is a file: a folder, and the path below it.
type place struct {
	folder folder
	path   string
}

var rooted = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*):/+(.*)$`)

// address matches what is fetched, not read from a disk.
var address = regexp.MustCompile(`^(?i:https?|s3|gs|hf|ftp)://`)

// roots are the folders that a suite declares.
type roots struct {
	declared source.Named[Root]
	base     folder // relative to which defaults are
	getenv   func(string) string
}

// resolve finds what a path means for a file in the folder from: a path below it, or below a root.
func (r roots) resolve(from folder, reference string) (place, error) {
	m := rooted.FindStringSubmatch(reference)
	if m == nil {
		return place{from, reference}, nil
	}
	root, ok := r.declared.Get(m[1])
	if !ok && address.MatchString(reference) {
		return place{}, &fileError{source.Shorten(reference, longName) + " is an address, want a file", "download it, and write the path of the file"}
	}
	if !ok {
		declare := fmt.Sprintf("declare it: roots: {%s: {default: ../%s}}", m[1], m[1])
		return place{}, &fileError{fmt.Sprintf("unknown root %q", m[1]), cmp.Or(didYouMean(m[1], r.declared.Keys()), declare)}
	}
	at, err := r.folder(m[1], root)
	return place{at, m[2]}, err
}

// files are those that a path or pattern names, by their paths in a folder.
func (r roots) files(from folder, reference string) (at place, found []string, err error) {
	if at, err = r.resolve(from, reference); err == nil {
		found, err = at.folder.glob(at.path)
	}
	return at, found, err
}

// folder is the folder of a root: what its variable names, else its default.
func (r roots) folder(name string, root Root) (folder, error) {
	disk := ""
	if root.Env != "" {
		disk = r.getenv(root.Env)
	}
	if disk == "" && root.Default != "" {
		disk = root.Default
		if !filepath.IsAbs(disk) {
			disk = filepath.Join(r.base.disk, filepath.FromSlash(disk))
		}
	}
	hint := ""
	if root.Env != "" {
		hint = fmt.Sprintf("set %s to the folder", root.Env)
	}
	if disk == "" {
		return folder{}, &fileError{fmt.Sprintf("the root %q has no folder: %s is not set and has no default", name, root.Env), hint}
	}
	if info, err := os.Stat(disk); err != nil || !info.IsDir() {
		return folder{}, &fileError{fmt.Sprintf("the root %q names %s, which is not a folder", name, disk), hint}
	}
	return folder{shown: name + ":/", disk: disk, root: true}, nil
}
