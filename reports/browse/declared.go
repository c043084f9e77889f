package browse

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// declared is what a page needs of the suite's spec: what tasks ask, and what labels of
// a scorer can say. Where the spec does not say so itself, because its tasks are in
// files, it is unknown.
type declared struct {
	inputs map[string]string // by task
	scales map[string]scale  // by scorer
}

// scale is what a score can be, as the suite declares it.
type scale struct {
	Range   []float64 `json:"range,omitempty"`   // the numbers that are worth 0 and 1
	Choices []string  `json:"choices,omitempty"` // the words of a judge, the worst first
}

// resolved is the part of a manifest's spec that is read here.
type resolved struct {
	Suite struct {
		Tasks   json.RawMessage
		Scorers []struct {
			Name    string
			Range   []float64
			Choices map[string]float64
		}
	}
}

// declaredBy reads the specs of all sides; of one name the last one counts. A spec that
// cannot be read says nothing.
func declaredBy(sides []Side) declared {
	d := declared{map[string]string{}, map[string]scale{}}
	for i := range sides {
		var spec resolved
		if json.Unmarshal(sides[i].Manifest.Spec, &spec) != nil {
			continue
		}
		for _, s := range spec.Suite.Scorers {
			byWorth := func(a, b string) int { return cmp.Or(cmp.Compare(s.Choices[a], s.Choices[b]), strings.Compare(a, b)) }
			d.scales[s.Name] = scale{s.Range, slices.SortedFunc(maps.Keys(s.Choices), byWorth)}
		}
		d.readInputs(spec.Suite.Tasks)
	}
	return d
}

// readInputs reads the tasks that stand in a suite itself.
func (d *declared) readInputs(tasks json.RawMessage) {
	type task struct {
		ID    string
		Input json.RawMessage
	}
	var list struct{ List []task }
	if json.Unmarshal(tasks, &list) != nil && json.Unmarshal(tasks, &list.List) != nil {
		return
	}
	for _, t := range list.List {
		var text string
		if json.Unmarshal(t.Input, &text) != nil {
			text = string(t.Input)
		}
		d.inputs[t.ID] = text
	}
}

// mostInputs is how many bytes of inputs a page has.
const mostInputs = 500_000

// inputsOf are those of tasks, "" where one is unknown or there is no more room; none
// where all are.
func (d *declared) inputsOf(tasks []string) (inputs []string) {
	left, known := mostInputs, false
	for _, task := range tasks {
		input := d.inputs[task]
		if len(input) > left {
			input = ""
		}
		left, known = left-len(input), known || input != ""
		inputs = append(inputs, input)
	}
	if !known {
		return nil
	}
	return inputs
}
