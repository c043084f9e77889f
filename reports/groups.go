package reports

import (
	"slices"
	"strings"
)

// taskNames are names that tasks have, by their number: of clusters, or of
// groups. They are nil where no task has one, "" where one has none.
type taskNames []string

// note keeps a task's name. All runs of a task have the same; in mixed results
// the last by name stands, whatever the order of the runs.
func (n *taskNames) note(task int32, name string, tasks int) {
	if name == "" {
		return
	}
	for len(*n) < tasks {
		*n = append(*n, "")
	}
	if (*n)[task] < name {
		(*n)[task] = strings.Clone(name)
	}
}

// of is a task's name, "" where it has none.
func (n taskNames) of(task int32) string {
	if int(task) >= len(n) {
		return ""
	}
	return n[task]
}

// distinct are the names in their natural order.
func (n taskNames) distinct() []string {
	seen := map[string]bool{}
	var all []string
	for _, name := range n {
		if name != "" && !seen[name] {
			seen[name] = true
			all = append(all, name)
		}
	}
	slices.SortFunc(all, naturally)
	return all
}
