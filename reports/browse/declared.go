package browse

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
)

// declared is what a page needs of the suites: what tasks ask, and what labels of a scorer can say.
type declared struct {
	inputs map[string]string // by task
	scales map[string]scale  // by scorer
}

// scale is what a score can be, as the suite declares it.
type scale struct {
	Range   []float64 `json:"range,omitempty"`   // the numbers that are worth 0 and 1
	Choices []string  `json:"choices,omitempty"` // the words of a judge, the worst first
}

// declaredBy reads the suites of all sides; of one name the last one counts. A side whose suite is unknown says nothing.
func declaredBy(sides []Side) declared {
	d := declared{map[string]string{}, map[string]scale{}}
	for i := range sides {
		document := sides[i].Document
		if document == nil {
			continue
		}
		for _, s := range document.Suite.Scorers {
			words := map[string]float64{}
			for _, choice := range s.Choices {
				words[choice.Key] = choice.Value
			}
			byWorth := func(a, b string) int { return cmp.Or(cmp.Compare(words[a], words[b]), strings.Compare(a, b)) }
			d.scales[s.Name] = scale{s.Range, slices.SortedFunc(maps.Keys(words), byWorth)}
		}
		for task, err := range document.Tasks() {
			if err != nil {
				break // baselines have no data
			}
			text, isText := task.Input.(string)
			if !isText {
				json, _ := expr.AppendJSON(nil, task.Input) // it was read from JSON
				text = string(json)
			}
			d.inputs[task.ID] = text
		}
	}
	return d
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
