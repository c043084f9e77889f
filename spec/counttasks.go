package spec

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/agentbench/agentbench/spec/source"
)

// maxTaskFaults are reported; who has made one mistake in 10,000 rows wants to read it once.
const maxTaskFaults = 20

// CountTasks reads all tasks and finds what is wrong with them: rows that cannot be read, ids that stand twice, no
// tasks at all. It keeps 16 bytes and a place of each.
func (d *Document) CountTasks() (int, source.Faults) {
	n, faults := 0, source.Faults(nil)
	first := map[[16]byte]placedTask{}
	for placed, err := range d.placedTasks() {
		if err == nil {
			n++
			err = duplicate(first, placed)
		}
		if err != nil {
			faults = append(faults, faultsIn(err)...)
		}
		if len(faults) >= maxTaskFaults {
			faults = append(faults, source.Fault{What: "further faults of tasks are not told"})
			break
		}
	}
	if n == 0 && len(faults) == 0 && d.Suite != nil {
		faults = append(faults, d.Suite.Tasks.Node.Fault("", "there are no tasks"))
	}
	return n, faults
}

// duplicate remembers a task's id, or says where it stood before.
func duplicate(first map[[16]byte]placedTask, placed placedTask) error {
	sum := sha256.Sum256([]byte(placed.task.ID))
	key := [16]byte(sum[:16])
	id := placed.task.ID
	placed.task = nil
	other, taken := first[key]
	if !taken {
		first[key] = placed
		return nil
	}
	return placed.fault("give one of them another id", "the task %q stands twice; first at %s", shorten(id), other.where())
}

func (p placedTask) where() string {
	if p.node != nil {
		return fmt.Sprintf("%s:%d", p.node.File.Name, p.node.Pos.Line)
	}
	return p.file.place(p.n)
}

func (p placedTask) fault(hint, format string, args ...any) error {
	if p.node != nil {
		return p.node.Fault(hint, format, args...)
	}
	return p.file.fault(p.n, hint, format, args...)
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
