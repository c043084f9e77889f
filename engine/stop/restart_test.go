package stop

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/spec"
)

// A history that begins in the memory of another one goes as if it were alone.
func TestRestartForgets(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		rules, earlier, later := rulesOf(t, drawTree(t)...), drawHistory(t), drawHistory(t)
		fresh, used := rules.Start(nil, nil), rules.Start(nil, nil)
		for _, it := range earlier {
			if used.Fold(it).Stop {
				break
			}
		}
		used.Restart(&spec.Task{ID: "another"}, nil)
		if value, _ := used.Lookup("best"); value != nil || used.Len() != 0 {
			t.Fatalf("%d iterations are left, the best of which is %v", used.Len(), value)
		}
		for i, it := range later {
			want, got := fresh.Fold(it), used.Fold(it)
			if !reflect.DeepEqual(got, want) || fresh.Usage() != used.Usage() {
				t.Fatalf("iteration %d: %+v, want %+v", i+1, got, want)
			}
			if want.Stop {
				return
			}
		}
	})
}
