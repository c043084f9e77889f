package spec

import "strconv"

// cluster gives a task the cluster and the group that the suite's expressions
// say, if it has them. Their faults are told where the task stands.
func (s *Suite) cluster(placed placedTask) (err error) {
	if placed.task.Cluster, err = s.named(placed, s.Cluster, "cluster", "where it gives null, the task stands for itself"); err != nil {
		return err
	}
	placed.task.Group, err = s.named(placed, s.GroupBy, "group", "where it gives null, the task is in no group")
	return err
}

// named is the name that an expression gives to a task.
func (s *Suite) named(placed placedTask, e *Expr, what, orNull string) (string, error) {
	if e == nil || e.Program == nil {
		return "", nil
	}
	value, err := e.Value(background, taskScope{placed.task})
	if err != nil {
		return "", placed.fault(orNull, "the %s of this task: %v (%s)", what, err, e.Text)
	}
	text, ok := ClusterName(value)
	if !ok {
		return "", placed.fault("for example task.metadata.topic", "the %s of this task is %s, not text, a number or a truth value (%s)", what, listOrObject(value), e.Text)
	}
	return text, nil
}

// ClusterName is the name of a cluster or a group; null names none.
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
