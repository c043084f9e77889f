package spec

import "strconv"

// cluster gives a task the cluster that the suite's expression says, if it has
// one. Its faults are told where the task stands.
func (s *Suite) cluster(placed placedTask) error {
	if s.Cluster == nil || s.Cluster.Program == nil {
		return nil
	}
	value, err := s.Cluster.Value(background, taskScope{placed.task})
	if err != nil {
		return placed.fault("where it gives null, the task stands for itself", "the cluster of this task: %v (%s)", err, s.Cluster.Text)
	}
	text, ok := ClusterName(value)
	if !ok {
		return placed.fault("for example task.metadata.topic", "the cluster of this task is %s, not text, a number or a truth value (%s)", listOrObject(value), s.Cluster.Text)
	}
	placed.task.Cluster = text
	return nil
}

// ClusterName is the name of a cluster; null names none, and so the task
// stands for itself.
func ClusterName(value any) (name string, ok bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

func listOrObject(value any) string {
	if _, ok := value.([]any); ok {
		return "a list"
	}
	return "an object"
}

// taskScope is what expressions over a task alone see.
type taskScope struct{ task *Task }

// Lookup implements expr.Scope.
func (s taskScope) Lookup(name string) (any, bool) {
	if name != "task" {
		return nil, false
	}
	return TaskFields{s.task}, true
}
