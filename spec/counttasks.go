package spec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/spec/source"
)

// maxTaskFaults are told; who has made one mistake in 10,000 rows wants to read it once.
const maxTaskFaults = 10

// CountTasks reads the tasks, says how many are taken, and finds what is wrong with them: rows that cannot be read,
// ids that stand twice, targets that are missing, no tasks at all. Where tasks are drawn by lot it draws them. It keeps
// some 10 bytes of each task, and where it draws, 32 more.
func (d *Document) CountTasks() (int, source.Faults) {
	if d.Suite == nil {
		return 0, nil
	}
	s := &survey{document: d, needy: d.Suite.needsTarget()}
	d.survey(s)
	s.findTwins()
	n := s.n
	if d.Suite.Tasks.byLot() {
		n = s.drawTasks()
	}
	if n == 0 && len(s.faults) == 0 {
		s.faults = append(s.faults, d.noTasks())
	}
	if s.untold > 0 {
		s.faults = append(s.faults, source.Fault{What: fmt.Sprintf("%d further faults of tasks are not told", s.untold)})
	}
	return n, append(s.faults, s.warnings...)
}

// survey is what is found out about the tasks in one pass.
type survey struct {
	document *Document
	draw     *draw // nil: nothing is drawn
	n        int
	needy    string   // the scorer that needs targets; "": none
	keys     []uint64 // of the ids, unless the draw has all of them
	faults   source.Faults
	warnings source.Faults
	untold   int
	terse    bool // from here on faults are only counted
}

// survey reads all tasks that may be taken.
func (d *Document) survey(s *survey) {
	tasks := d.eligible(&s.terse)
	if d.Suite.Tasks.byLot() {
		s.draw = newDraw(d.Suite)
	} else {
		tasks = d.first(tasks)
	}
	for placed, err := range tasks {
		if err == nil {
			err = s.take(placed)
		}
		if err != nil {
			s.tell(err)
		}
	}
}

func (s *survey) take(placed placedTask) error {
	s.n++
	if s.draw == nil || s.draw.prunes() {
		s.keys = append(s.keys, keyOf(placed.task.ID))
	}
	if s.draw != nil {
		if err := s.draw.put(placed); err != nil {
			return err
		}
	}
	if s.needy != "" && placed.task.Target == nil {
		return placed.fault("write a target, or targets: optional under tasks, which leaves such runs unscored",
			"this task has no target, and the scorer %q compares with it", s.needy)
	}
	return nil
}

func (s *survey) tell(err error) {
	for _, fault := range faultsIn(err) {
		if len(s.faults) < maxTaskFaults {
			s.faults = append(s.faults, fault)
		} else {
			s.untold++
		}
	}
	s.terse = len(s.faults) >= maxTaskFaults
}

// twice are the keys that were seen more than once: of ids that stand twice, or, rarely, of different ones.
func (s *survey) twice() map[uint64]bool {
	if s.draw != nil && !s.draw.prunes() {
		s.keys = s.draw.keys()
	}
	slices.Sort(s.keys)
	twice := map[uint64]bool{}
	for i := 1; i < len(s.keys); i++ {
		if s.keys[i] == s.keys[i-1] {
			twice[s.keys[i]] = true
		}
	}
	s.keys = nil
	return twice
}

// findTwins reads the tasks again where keys of ids were seen twice, and compares the ids themselves.
func (s *survey) findTwins() {
	twice := s.twice()
	if len(twice) == 0 {
		return
	}
	tasks := s.document.eligible(&s.terse)
	if s.draw == nil {
		tasks = s.document.first(tasks)
	}
	first := map[string]placedTask{}
	for placed, err := range tasks {
		if err != nil {
			continue // told before
		}
		if !twice[keyOf(placed.task.ID)] {
			continue
		}
		id := placed.task.ID
		other, known := first[id]
		if known {
			s.tell(placed.fault("give one of them another id", "the task %q stands twice; first at %s", shorten(id), other.where()))
			continue
		}
		placed.task, placed.row.value, placed.row.doc = nil, nil, nil
		first[id] = placed
	}
}

// drawTasks draws what is drawn by lot, and says how many tasks that are.
func (s *survey) drawTasks() int {
	s.draw.cut(true)
	s.warnings = s.draw.warnings()
	for _, file := range s.draw.files {
		file.terse = nil
	}
	s.document.drawn.set(&drawn{lots: s.draw.lots, files: s.draw.files})
	return len(s.draw.lots)
}

// noTasks says that nothing is left, and of how many.
func (d *Document) noTasks() source.Fault {
	t, n := &d.Suite.Tasks, int64(0)
	for range d.written(nil) {
		n++
	}
	if t.Where != nil && n > 0 {
		return t.Where.Node.Fault("", "this leaves none of the %s tasks", thousands(n))
	}
	return t.Node.Fault("", "there are no tasks")
}

func (p placedTask) where() string {
	if p.node != nil {
		return fmt.Sprintf("%s:%d", p.node.File.Name, p.node.Pos.Line)
	}
	return p.row.place(p.row.n)
}

func (p placedTask) fault(hint, format string, args ...any) error {
	if p.node != nil {
		return p.node.Fault(hint, format, args...)
	}
	return p.row.fault(p.row.n, hint, format, args...)
}

// faultsIn are the faults that an error of a row is.
func faultsIn(err error) source.Faults {
	var one source.Fault
	var several source.Faults
	switch {
	case errors.As(err, &one):
		return source.Faults{one}
	case errors.As(err, &several):
		return several
	}
	return source.Faults{{What: err.Error()}}
}
