package compare

// Side is what was measured of one configuration: its runs, grouped by task.
type Side struct {
	Name string
	// Tasks are the ids of the tasks with a run that counts, each once.
	Tasks []string
	// Clusters are the clusters of the tasks, parallel to Tasks: tasks of one
	// cluster depend on each other. Where there is none, or "", the task is its own.
	// Of paired tasks the base's count, those of the new side where it has none.
	Clusters []string
	// Starts has one entry more than Tasks: the runs of task i are the numbers
	// from Starts[i] up to, without, Starts[i+1].
	Starts []int32
	// Trials are the trials of the runs, ascending within a task.
	Trials  []int32
	Columns []Column
}

// Column is one quantity of all runs of a side.
type Column struct {
	Quantity
	Values []float64 // by run; NaN where there is none
	// Missing says in a word or two why there is no value, for example
	// "unpriced"; "" where all runs have one.
	Missing string
}

// Quantity is what is compared.
type Quantity struct {
	Name string
	// Lower says that less is better.
	Lower bool
	// Ratio says that it is compared by the geometric mean of the tasks' ratios,
	// as amounts are that vary by orders of magnitude from task to task; else by
	// the mean of their differences.
	Ratio bool
}

// Runs is how many runs the side has.
func (s *Side) Runs() int { return len(s.Trials) }

// clusterOf is the cluster of a task, "" where it is its own.
func (s *Side) clusterOf(task int) string {
	if s.Clusters == nil {
		return ""
	}
	return s.Clusters[task]
}

// column is the column of a quantity, nil where the side has none.
func (s *Side) column(of Quantity) *Column {
	for i := range s.Columns {
		if s.Columns[i].Quantity == of {
			return &s.Columns[i]
		}
	}
	return nil
}
