package results

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay/sweep"
)

// What is asked of others is asked about an output; what was measured, or done, goes
// by where the run stopped; a set reads what its parts read.
func TestWhatScorersRead(t *testing.T) {
	for text, want := range map[string]sweep.Reads{
		`{"name": "right", "type": "judge", "model": "m", "rubric": "r"}`:                                        sweep.ReadsOutput,
		`{"name": "right", "type": "judge", "model": "m", "rubric": "r", "value": "string(best.output)"}`:        sweep.ReadsAround,
		`{"name": "right", "type": "command", "command": ["x"]}`:                                                 sweep.ReadsOutput,
		`{"name": "right", "type": "latency", "at_most": 1}`:                                                     sweep.ReadsCourse,
		`{"name": "right", "type": "steps", "max": 1}`:                                                           sweep.ReadsCourse,
		`{"name": "right", "type": "cel", "expr": "best.confidence > 0.5"}`:                                      sweep.ReadsCourse,
		`{"name": "right", "type": "exact", "value": "best.output", "target": "usage.calls"}`:                    sweep.ReadsCourse,
		`{"name": "right", "type": "exact", "target": "usage.calls"}`:                                            sweep.ReadsAround,
		`{"name": "right", "type": "cel", "expr": "output == iterations[0].output"}`:                             sweep.ReadsAround,
		`{"name": "right", "type": "cel", "expr": "stop.success && iterations.size() < 3"}`:                      sweep.ReadsStop,
		`{"name": "right", "type": "any_of", "scorers": [{"name": "p", "type": "cel", "expr": "stop.success"}]}`: sweep.ReadsStop,
		`{"name": "right", "type": "all_of", "scorers": ["slow", {"name": "p", "type": "exact"}]}`:               sweep.ReadsAround,
		`{"name": "right", "type": "checks"}`:                                                                    sweep.ReadsUnknown,
		`{"name": "right", "type": "all_of", "scorers": [{"name": "p", "type": "checks"}]}`:                      sweep.ReadsUnknown,
		`{"name": "right", "type": "all_of", "scorers": [{"name": "p", "type": "checks"}, "slow"]}`:              sweep.ReadsAround,
		`{"name": "right", "type": "any_of", "scorers": [{"name": "p", "type": "regex", "pattern": "a"}]}`:       sweep.ReadsOutput,
		`{"name": "right", "type": "any_of", "scorers": [{"name": "p", "type": "all_of", "scorers": ["slow"]}]}`: sweep.ReadsCourse,
	} {
		files := with("suite.yaml", "models: {", "models: {n: {provider: script, price: free, responses: [a]}, ")
		head, _, _ := strings.Cut(files["suite.yaml"], "scorers:")
		files["suite.yaml"] = head + "scorers: [" + text + `, {"name": "slow", "type": "tokens", "at_most": 9}]`
		_, recordings, _ := open(t, folder(t, files, made("wide", "a", 1, record.Completed)), Selection{})
		at := slices.Index(recordings[0].Scores, "right")
		if got := recordings[0].Reads[at]; got != want {
			t.Errorf("%s reads %v, want %v", text, got, want)
		}
	}
}
