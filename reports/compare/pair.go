package compare

import (
	"cmp"
	"slices"
)

// pairs are the runs of both sides that belong together. base and new are the
// numbers of runs, parallel to each other and grouped by task.
type pairs struct {
	tasks     []pairedTask
	base, new []int32
	clusters  []int32 // of the base's tasks, by number; nil: every task is its own
}

// pairedTask is a task with a run on both sides.
type pairedTask struct {
	base, new int32 // its numbers in Side.Tasks
	from, to  int32 // its runs in pairs
}

// pair joins two sides by task and trial.
func pair(base, new *Side, options *Options) (*pairs, Pairing) {
	p, found := &pairs{}, Pairing{}
	clusters := make([]string, len(base.Tasks))
	where := finder{tasks: new.Tasks}
	for i, task := range base.Tasks {
		j, ok := where.find(task)
		if !ok {
			continue
		}
		found.Common++
		clusters[i] = cmp.Or(base.clusterOf(i), new.clusterOf(int(j)))
		p.join(base, new, int32(i), j, &found)
	}
	p.clusters = numbered(clusters)
	found.OnlyBase, found.OnlyNew = len(base.Tasks)-found.Common, len(new.Tasks)-found.Common
	found.Runs = len(p.base)
	found.Paired = !options.Unpaired && found.Runs > 0 && 2*found.Common >= min(len(base.Tasks), len(new.Tasks))
	return p, found
}

// join pairs the runs of a task by their trials.
func (p *pairs) join(base, new *Side, i, j int32, found *Pairing) {
	task := pairedTask{base: i, new: j, from: int32(len(p.base))}
	a, b := base.Starts[i], new.Starts[j]
	for a < base.Starts[i+1] && b < new.Starts[j+1] {
		switch x, y := base.Trials[a], new.Trials[b]; {
		case x < y:
			a, found.LoneBase = a+1, found.LoneBase+1
		case x > y:
			b, found.LoneNew = b+1, found.LoneNew+1
		default:
			p.base, p.new = append(p.base, a), append(p.new, b)
			a, b = a+1, b+1
		}
	}
	found.LoneBase += int(base.Starts[i+1] - a)
	found.LoneNew += int(new.Starts[j+1] - b)
	if task.to = int32(len(p.base)); task.to > task.from {
		p.tasks = append(p.tasks, task)
	}
}

// finder finds tasks by their ids. Where they are looked for in the order in
// which they stand, as is usual, it needs no index.
type finder struct {
	tasks []string
	next  int
	index map[string]int32
}

func (f *finder) find(task string) (at int32, ok bool) {
	if f.next < len(f.tasks) && f.tasks[f.next] == task {
		f.next++
		return int32(f.next - 1), true
	}
	if f.index == nil {
		f.index = make(map[string]int32, len(f.tasks))
		for i, t := range f.tasks {
			f.index[t] = int32(i)
		}
	}
	if at, ok = f.index[task]; ok {
		f.next = int(at) + 1
	}
	return at, ok
}

// cluster is the number of a task's cluster, own where it is its own.
func (p *pairs) cluster(t *pairedTask) int32 {
	if p.clusters == nil {
		return own
	}
	return p.clusters[t.base]
}

// own is the number of a cluster that holds one task.
const own = -1

// numbered are the places of clusters among their names in order, nil where no
// two tasks share one.
func numbered(clusters []string) []int32 {
	names := slices.Sorted(slices.Values(clusters))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	named := len(names)
	names = slices.Compact(names)
	if len(names) == named {
		return nil
	}
	at := make(map[string]int32, len(names)+1)
	for i, name := range names {
		at[name] = int32(i)
	}
	at[""] = own
	numbers := make([]int32, len(clusters))
	for i, name := range clusters {
		numbers[i] = at[name]
	}
	return numbers
}
