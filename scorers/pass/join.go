package pass

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// turn is a run whose turn it is, with its task; nil where that is not needed.
type turn struct {
	task *spec.Task
	at   record.RecordPlace
	work *work
}

// join goes through the tasks once and gives those to judge the runs of each, in
// the order of the tasks; first those of which only scores are taken back. It
// ends when there is nothing more to do, or when the context ends.
func (p *Pass) join(ctx context.Context, give func(turn)) error {
	left := len(p.entries)
	for i := range p.entries {
		if e := &p.entries[i]; p.works[e.work].tasks() == 0 {
			give(turn{nil, e.at, p.take(e)})
			left--
		}
	}
	if left == 0 || ctx.Err() != nil {
		return nil
	}
	tasks := p.Tasks
	if tasks == nil {
		tasks = func(func(*spec.Task, error) bool) {}
	}
	for task, err := range tasks {
		if err != nil {
			return fmt.Errorf("reading the tasks: %w", err)
		}
		for _, e := range p.of(task) {
			if ctx.Err() != nil {
				return nil
			}
			give(turn{task, e.at, p.take(e)})
			left--
		}
		if left == 0 {
			return nil
		}
	}
	return p.without(left)
}

// tasks is how much of the work needs the task.
func (w *work) tasks() int { return len(w.parts) + len(w.pairs) }

// take gives an entry's work away, once.
func (p *Pass) take(e *entry) *work {
	w := &p.works[e.work]
	e.work = -1
	return w
}

// of are the entries of a task that were not given away.
func (p *Pass) of(task *spec.Task) (all []*entry) {
	hash := maphash.String(taskSeed, task.ID)
	at, _ := slices.BinarySearchFunc(p.entries, hash, func(e entry, hash uint64) int { return cmp.Compare(e.task, hash) })
	for ; at < len(p.entries) && p.entries[at].task == hash; at++ {
		if e := &p.entries[at]; e.work >= 0 {
			all = append(all, e)
		}
	}
	return all
}

// without notes the runs whose task did not come.
func (p *Pass) without(left int) error {
	p.Taskless = left
	runs, err := record.OpenRuns(p.Dir)
	if err != nil {
		return err
	}
	defer runs.Close()
	first := slices.IndexFunc(p.entries, func(e entry) bool { return e.work >= 0 })
	run, err := runs.Read(p.entries[first].at)
	if err == nil {
		p.FirstTaskless = run.Task
	}
	return nil
}
