package spec

import "github.com/agentbench/agentbench/spec/source"

// passes says whether a task is one that where takes.
func (t *Tasks) passes(placed placedTask) (bool, error) {
	if t.Where == nil || t.Where.Program == nil {
		return true, nil
	}
	pass, err := t.Where.Bool(background, selectionScope{placed})
	if err != nil {
		return false, mappingFault(t.Where, err, placed.where())
	}
	return pass, nil
}

// stratum is the name of what the task is drawn from; "" for all tasks where nothing tells them apart.
func (s *Sample) stratum(placed placedTask) (string, error) {
	if s.By == nil || s.By.Program == nil {
		return "", nil
	}
	value, err := s.By.Value(background, selectionScope{placed})
	if err != nil {
		return "", mappingFault(s.By, err, placed.where())
	}
	name, ok := ClusterName(value)
	if !ok {
		return "", s.By.Node.Fault("for example task.metadata.topic", "this gives %s, not text, a number or a truth value (in %s)", listOrObject(value), placed.where())
	}
	return name, nil
}

// selectionScope is what where and by see.
type selectionScope struct{ placed placedTask }

// Lookup implements expr.Scope.
func (s selectionScope) Lookup(name string) (any, bool) {
	if name == "task" {
		return JudgedTask{s.placed.task}, true
	}
	if s.placed.node != nil {
		return s.inline(name)
	}
	return rowScope{s.placed.row}.Lookup(name)
}

// inline is what stands in the place of a row where the task is written in the suite.
func (s selectionScope) inline(name string) (any, bool) {
	switch name {
	case "row":
		var plain any
		source.Decode(s.placed.node, &plain)
		return valueOf(plain), true
	case "file":
		return s.placed.node.File.Name, true
	case "line":
		return int64(s.placed.node.Pos.Line), true
	}
	return nil, false
}
