package results

import (
	"fmt"

	"github.com/agentbench/agentbench/spec"
)

// tasksOf are the tasks of those ids, as far as they are known.
func (f *Folder) tasksOf(wanted map[string]*spec.Task) error {
	if f.tasks == nil {
		return nil
	}
	for task, err := range f.tasks.Tasks() {
		if err != nil {
			return fmt.Errorf("reading the tasks: %w", err)
		}
		if known, ok := wanted[task.ID]; ok && known == nil {
			wanted[task.ID] = task
		}
	}
	return nil
}
