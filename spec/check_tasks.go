package spec

import (
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Tasks gives the tasks of the suite in the order of the plan, each time the same. Where some cannot be read, an error, which is
// source.Faults, comes first. For all that is wrong with the tasks see CountTasks.
func (d *Document) Tasks() iter.Seq2[*Task, error] {
	return func(yield func(*Task, error) bool) {
		set := d.tasks()
		if err := set.unread.Err(); err != nil && !yield(nil, err) {
			return
		}
		for _, task := range set.tasks {
			if !yield(task, nil) {
				return
			}
		}
	}
}

// CountTasks is how many tasks are taken, and what is wrong with them: rows that cannot be read, duplicate ids, missing
// targets, no tasks at all.
func (d *Document) CountTasks() (int, source.Faults) {
	set := d.tasks()
	return len(set.tasks), set.faults
}

// taskSet is the tasks of a document, which are read once.
type taskSet struct {
	once   sync.Once
	tasks  []*Task
	faults source.Faults
	unread source.Faults // those of rows that are no tasks
}

func (d *Document) tasks() *taskSet {
	if d.Suite == nil {
		return &taskSet{}
	}
	d.taskSet.once.Do(func() { d.taskSet.read(d, maxTasks) })
	return d.taskSet
}

// maxTasks are taken of a suite.
const maxTasks = 1_000_000

// read reads all tasks that where selects, or up to the limit, and draws from them. More than so many are a fault.
func (set *taskSet) read(d *Document, most int) {
	if d.roots.copies {
		list, there, err := d.copiedTasks()
		if there {
			set.tasks, set.unread = list, faultsIn(err)
			return
		}
	}
	t, read := &d.Suite.Tasks, 0
	s := &survey{Suite: d.Suite, absent: d.readOfTasks(), first: map[string]string{}}
	s.needy, s.numeric = d.Suite.needsTarget()
	var all []candidate
	for r, err := range d.taskRows() {
		read++
		var taken candidate
		if err == nil {
			taken, err = d.candidate(r)
		}
		switch {
		case err != nil:
			set.unread = append(set.unread, s.tell(err)...)
			continue
		case taken.task == nil:
			continue
		}
		s.check(taken.task, r)
		all = append(all, taken)
		if len(all) == t.Limit && !t.byLot() {
			break
		}
		if len(all) > most {
			set.unread = s.tell(t.Node.Fault("take some of them with where, or with limit alone", "more than %s tasks", Thousands(int64(most))))
			break
		}
	}
	var warnings source.Faults
	set.tasks, warnings = t.draw(all, d.Suite.Seed)
	set.faults = append(s.all(read, len(set.tasks)), warnings...)
}

// taskRows are the rows of all tasks: those in the suite, those of the files, and the folders.
func (d *Document) taskRows() iter.Seq2[row, error] {
	t := &d.Suite.Tasks
	return func(yield func(row, error) bool) {
		for i := range t.Inline {
			if !yield(row{node: t.Inline[i].Node, n: i + 1}, nil) {
				return
			}
		}
		for _, rows := range []iter.Seq2[row, error]{d.rows(t.Files, t.fileNode, t.Each), d.folderRows()} {
			for r, err := range rows {
				if !yield(r, err) {
					return
				}
			}
		}
	}
}

// candidate makes a task of a row, with all that is said of it; without a task where it does not pass.
func (d *Document) candidate(r row) (c candidate, err error) {
	t := &d.Suite.Tasks
	task, err := t.task(r)
	if err != nil {
		return c, err
	}
	d.locate(task.Images, r)
	scope := selectionScope{r, task}
	if t.Where != nil && t.Where.Program != nil {
		if passes, err := t.Where.Bool(background, scope); err != nil || !passes {
			if err != nil {
				err = mappingFault(t.Where, err, r.place())
			}
			return c, err
		}
	}
	if task.Cluster, err = r.named(task, d.Suite.Cluster, "cluster", "null: the task is a cluster of its own"); err != nil {
		return c, err
	}
	if task.Group, err = r.named(task, d.Suite.GroupBy, "group", "null: the task is in no group"); err != nil {
		return c, err
	}
	c.stratum, err = t.Sample.stratum(scope)
	if err != nil {
		return c, err
	}
	c.task = task
	return c, nil
}

// named is the name that an expression gives to a task.
func (r row) named(task *Task, e *Expr, what, orNull string) (string, error) {
	if e == nil || e.Program == nil {
		return "", nil
	}
	value, err := e.Value(background, taskScope{task})
	if err != nil {
		return "", r.fault(orNull, "the %s of this task: %v (%s)", what, err, e.Text)
	}
	text, ok := ClusterName(value)
	if !ok {
		return "", r.fault("for example task.metadata.topic", "the %s of this task is %s, not text, a number or a truth value (%s)", what, listOrObject(value), e.Text)
	}
	return text, nil
}

// maxTaskFaults is how many faults of tasks are reported, and maxAlike how many with the same text: one mistake in 10,000 rows is read once.
const maxTaskFaults, maxAlike = 10, 3

// survey is what is found out about the tasks while they are read.
type survey struct {
	*Suite
	needy   string            // the scorer that needs targets; "": none
	numeric string            // the one to which they are numbers; "": none
	first   map[string]string // where each id is
	absent  []taskRead        // what no task has had so far
	faults  source.Faults
	untold  int
}

// check looks at one task.
func (s *survey) check(task *Task, r row) {
	s.absent = slices.DeleteFunc(s.absent, func(read taskRead) bool { return read.in(task) })
	if first, taken := s.first[task.ID]; taken {
		s.tell(r.fault("give one of them another id", "duplicate task %q; first at %s", shorten(task.ID), first))
	} else {
		s.first[task.ID] = r.place()
	}
	s.tell(r.checkImages(task.Images))
	text, isText := task.Target.(string)
	switch {
	case s.needy != "" && task.Target == nil:
		s.tell(r.fault("write a target, or targets: optional under tasks, which leaves such runs unscored",
			"this task has no target, and the scorer %q compares with it", s.needy))
	case s.numeric != "" && isText && !strings.ContainsFunc(text, unicode.IsDigit):
		s.tell(r.fault("use type: exact, or name a number in target", "this target is not a number, and the scorer %q compares numbers", s.numeric))
	}
}

// tell keeps the faults of an error, if they are not too many, and gives those that it keeps.
func (s *survey) tell(err error) (kept source.Faults) {
	for _, fault := range faultsIn(err) {
		alike := 0
		known := slices.ContainsFunc(s.faults, func(f source.Fault) bool {
			if f.What == fault.What {
				alike++
			}
			return f.What == fault.What && f.Pos == fault.Pos && f.Pos.Line > 0 && f.Error() == fault.Error()
		})
		switch {
		case known: // the header of a table, which is wrong for each row
		case len(s.faults) < maxTaskFaults && alike < maxAlike:
			kept = append(kept, fault)
			s.faults = append(s.faults, fault)
		default:
			s.untold++
		}
	}
	return kept
}

// all are the faults of all tasks, of which so many were read and taken.
func (s *survey) all(read, taken int) source.Faults {
	t := &s.Tasks
	if len(s.faults) == 0 {
		switch {
		case taken == 0 && t.Where != nil && read > 0:
			s.tell(t.Where.Node.Fault("", "this leaves none of the %s tasks", Thousands(int64(read))))
		case taken == 0:
			s.tell(t.Node.Fault(`a task is written {"input": "...", "target": "..."}`, "there are no tasks"))
		}
	}
	if len(s.faults) == 0 {
		for _, read := range s.absent {
			s.faults = append(s.faults, read.fault())
		}
	}
	if s.untold > 0 {
		s.faults = append(s.faults, source.Fault{What: fmt.Sprintf("%d more faults of tasks are not shown", s.untold)})
	}
	return s.faults
}

// faultsIn are the faults that an error is; nil has none.
func faultsIn(err error) source.Faults {
	if err == nil {
		return nil
	}
	if one, ok := errors.AsType[source.Fault](err); ok {
		return source.Faults{one}
	}
	if several, ok := errors.AsType[source.Faults](err); ok {
		return several
	}
	return source.Faults{{What: err.Error()}}
}

// taskRead is a variable of tasks that a prompt reads without asking whether it is there.
type taskRead struct {
	prompt        *Prompt
	section, name string // vars or metadata
}

// readOfTasks are the variables of tasks that the prompts of the loops read.
func (d *Document) readOfTasks() (reads []taskRead) {
	for _, loop := range d.Loops() {
		for _, p := range loop.prompts() {
			if p == nil || p.Template == nil || asksOfTasks.MatchString(p.Text) {
				continue
			}
			for _, path := range p.Template.Reads() {
				parts := strings.Split(path, ".")
				if len(parts) < 3 || parts[0] != "task" || parts[1] != "vars" && parts[1] != "metadata" {
					continue
				}
				read := taskRead{p, parts[1], parts[2]}
				same := func(r taskRead) bool { return r.fault() == read.fault() } // the loops of a sweep share their texts
				if !slices.ContainsFunc(reads, same) {
					reads = append(reads, read)
				}
			}
		}
	}
	return reads
}

// asksOfTasks matches a text that asks whether a task has something.
var asksOfTasks = regexp.MustCompile(`has\(task\.|task\.\w+(\.\?|\[\?)|in task\.|\?task`)

// prompts are the texts that the loop sends.
func (l *Loop) prompts() []*Prompt {
	prompts := []*Prompt{l.Prompt}
	for _, agent := range l.agents() {
		prompts = append(prompts, agent.System)
	}
	for i := range l.Phases {
		prompts = append(prompts, l.Phases[i].Prompt)
	}
	for i := range l.Strategies {
		prompts = append(prompts, l.Strategies[i].Prompt)
	}
	return prompts
}

func (r taskRead) fault() source.Fault {
	at := max(0, strings.Index(r.prompt.Text, r.section+"."+r.name))
	return r.prompt.Node.FaultAt(len([]rune(r.prompt.Text[:at])), len([]rune(r.section+"."+r.name)),
		fmt.Sprintf("give the tasks %s: {%s: ...}, or read task.input", r.section, r.name), "no task has %s.%s", r.section, r.name)
}

func (r taskRead) in(t *Task) bool {
	held := t.Vars
	if r.section == "metadata" {
		held = t.Metadata
	}
	object, ok := held.(*expr.Object)
	if ok {
		_, ok = object.Get(r.name)
	}
	return ok
}
