package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay/sweep"
)

// What is asked of others is asked about an output; what was measured, or done, goes
// by where the run stopped; a set reads what its parts read.
func TestWhatScorersRead(t *testing.T) {
	wanted := map[string]sweep.Reads{
		`"type": "judge", "model": "m", "rubric": "r"}`:                                        sweep.ReadsOutput,
		`"type": "judge", "model": "m", "rubric": "r", "value": "string(best.output)"}`:        sweep.ReadsAround,
		`"type": "command", "command": ["x"]}`:                                                 sweep.ReadsOutput,
		`"type": "latency", "at_most": 1}`:                                                     sweep.ReadsCourse,
		`"type": "steps", "max": 1}`:                                                           sweep.ReadsCourse,
		`"type": "cel", "expr": "best.confidence > 0.5"}`:                                      sweep.ReadsCourse,
		`"type": "exact", "value": "best.output", "target": "usage.calls"}`:                    sweep.ReadsCourse,
		`"type": "exact", "target": "usage.calls"}`:                                            sweep.ReadsAround,
		`"type": "cel", "expr": "output == iterations[0].output"}`:                             sweep.ReadsAround,
		`"type": "cel", "expr": "stop.success && iterations.size() < 3"}`:                      sweep.ReadsStop,
		`"type": "any_of", "scorers": [{"name": "p", "type": "cel", "expr": "stop.success"}]}`: sweep.ReadsStop,
		`"type": "all_of", "scorers": ["slow", {"name": "p", "type": "exact"}]}`:               sweep.ReadsAround,
		`"type": "checks"}`: sweep.ReadsUnknown,
		`"type": "all_of", "scorers": [{"name": "p", "type": "checks"}]}`:                      sweep.ReadsUnknown,
		`"type": "all_of", "scorers": [{"name": "p", "type": "checks"}, "slow"]}`:              sweep.ReadsAround,
		`"type": "any_of", "scorers": [{"name": "p", "type": "regex", "pattern": "a"}]}`:       sweep.ReadsOutput,
		`"type": "any_of", "scorers": [{"name": "p", "type": "all_of", "scorers": ["slow"]}]}`: sweep.ReadsCourse,
	}
	files := with("suite.yaml", "models: {", "models: {n: {provider: script, price: free, responses: [a]}, ")
	head, _, _ := strings.Cut(files["suite.yaml"], "scorers:")
	files["suite.yaml"] = head + `scorers: [{"name": "slow", "type": "tokens", "at_most": 9}`
	texts := slices.Sorted(maps.Keys(wanted))
	for i, text := range texts {
		files["suite.yaml"] += fmt.Sprintf(`, {"name": "%d", %s`, i, strings.ReplaceAll(text, `"p"`, fmt.Sprintf(`"part of %d"`, i)))
	}
	files["suite.yaml"] += "]"
	f, _, _ := open(t, folder(t, files, made("wide", "a", 1, record.Completed)), Selection{})
	for i, text := range texts {
		if got := f.Reads(fmt.Sprint(i)); got != wanted[text] {
			t.Errorf("%s reads %v, want %v", text, got, wanted[text])
		}
	}
}
