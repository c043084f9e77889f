package results

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// What iterations have in common is kept once; what differs stays their own.
func TestAlike(t *testing.T) {
	made := func(change func(it *record.Iteration)) record.Iteration {
		it := record.Iteration{
			Calls:      []record.Call{{Role: record.RoleAgent, Duration: time.Second, Usage: record.Usage{Calls: 1}}},
			Evaluation: &record.Evaluation{Confidence: 0.5},
		}
		change(&it)
		return it
	}
	same := func(*record.Iteration) {}
	for name, c := range map[string]struct {
		change             func(it *record.Iteration)
		calls, evaluations bool // that are shared
	}{
		"the same":         {same, true, true},
		"another duration": {func(it *record.Iteration) { it.Calls[0].Duration++ }, false, true},
		"a reservation":    {func(it *record.Iteration) { it.Calls[0].Reserved = &record.Usage{} }, false, true},
		"a failed call":    {func(it *record.Iteration) { it.Calls[0].Error = &record.Error{Class: record.Server} }, false, true},
		"two calls":        {func(it *record.Iteration) { it.Calls = append(it.Calls, it.Calls[0]) }, false, true},
		"it passed":        {func(it *record.Iteration) { it.Evaluation.Passed = true }, true, false},
		"more confidence":  {func(it *record.Iteration) { it.Evaluation.Confidence = 0.75 }, true, false},
		"a check":          {func(it *record.Iteration) { it.Evaluation.Checks = []record.Check{{Name: "c"}} }, true, false},
	} {
		var a alike
		first, second, want := made(same), made(c.change), made(c.change)
		a.share(&first)
		a.share(&second)
		if !reflect.DeepEqual(second, want) {
			t.Errorf("%s: sharing changes it to %+v", name, second)
		}
		if calls := &first.Calls[0] == &second.Calls[0]; calls != c.calls || (first.Evaluation == second.Evaluation) != c.evaluations {
			t.Errorf("%s: shares its calls: %v, its evaluation: %v", name, calls, first.Evaluation == second.Evaluation)
		}
	}
}

// Of more different ones than are remembered, the others are kept for themselves.
func TestAlikeIsBounded(t *testing.T) {
	var a alike
	for i := range mostAlike + 10 {
		it := record.Iteration{Calls: []record.Call{{Model: fmt.Sprint(i)}}, Evaluation: &record.Evaluation{Confidence: float64(i)}}
		a.share(&it)
		if it.Calls[0].Model != fmt.Sprint(i) || it.Evaluation.Confidence != float64(i) {
			t.Fatalf("number %d became %+v", i, it)
		}
	}
	if len(a.calls) != mostAlike || len(a.evaluations) != mostAlike {
		t.Errorf("%d calls and %d evaluations are remembered", len(a.calls), len(a.evaluations))
	}
}
