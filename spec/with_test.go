package spec

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench/agentbench/spec/source"
)

// assigned reads settings as the command line has them.
func assigned(t testing.TB, settings ...string) []Assignment {
	t.Helper()
	var all []Assignment
	for _, text := range settings {
		path, value, _ := strings.Cut(text, "=")
		a, faults := Setting{path, value}.Assign("--set")
		if faults.Err() != nil {
			t.Fatal(faults)
		}
		all = append(all, a)
	}
	return all
}

const withLoop = parameterLoop + `pattern: improvement
terminate: {timeout: 60s, repeated: {of: output, times: off}, when: "iteration > param.terminate.max_iterations"}
max_iterations: 9
`

// TestWithIsSet: what is set on a loaded loop is what a suite sets.
func TestWithIsSet(t *testing.T) {
	for _, settings := range [][]string{
		{"max_iterations=4"},
		{"terminate.any.max_iterations=4"},
		{"terminate.no_improvement.patience=off"},
		{"terminate.no_improvement.min_delta=0.1"},
		{"terminate.confidence={threshold: 0.7, min_iterations: 2}"},
		{"terminate.repeated.times=3", "terminate.timeout.cancel=false"},
		{"preset=qa_specialist"},
		{"phases.execution.max_iterations=7", "preset=qa_specialist"},
		{"guards.absolute_max_iterations=20", "max_iterations=12"},
		{"agent.temperature=0.5"},
		{"evaluate.checks.v1.2.weight=3"},
	} {
		var set []string
		for _, s := range settings {
			path, value, _ := strings.Cut(s, "=")
			set = append(set, fmt.Sprintf("%q: %s", path, value))
		}
		want := withSet(t, withLoop, strings.Join(set, ", "))
		got, faults := withSet(t, withLoop, "").With(assigned(t, settings...)...)
		if got == nil {
			t.Errorf("%v: %v", settings, faults)
			continue
		}
		if !reflect.DeepEqual(got.Values(), want.Values()) || got.Hash() != want.Hash() {
			t.Errorf("%v: got %v, want %v", settings, got.Values(), want.Values())
		}
	}
}

// TestWithLeavesTheLoopAlone: a loop that parameters are set on stays what it was, and takes others afterwards.
func TestWithLeavesTheLoopAlone(t *testing.T) {
	base := withSet(t, withLoop, "max_iterations: 8")
	before := base.Values()
	one, _ := base.With(assigned(t, "max_iterations=2")...)
	two, _ := one.With(assigned(t, "terminate.timeout=30s")...)
	back, _ := two.With(assigned(t, "max_iterations=8", "terminate.timeout=60s")...)
	if !reflect.DeepEqual(base.Values(), before) || one.Hash() == base.Hash() || two.Hash() == one.Hash() || back.Hash() != base.Hash() {
		t.Error("the loops are", base.Hash(), one.Hash(), two.Hash(), back.Hash())
	}
	if limit, _, _ := two.EffectiveMax(); limit != 2 {
		t.Error("a second setting forgets the first: the limit is", limit)
	}
}

// TestWithRefuses: faults are those of a suite, and point into the flag.
func TestWithRefuses(t *testing.T) {
	base := withSet(t, withLoop, "max_iterations: 8")
	for setting, want := range map[string]string{
		"max_iterationz=4":                    `--set:1:1: unknown key "max_iterationz"`,
		"terminate.no_improvment.patience=4":  `--set:1:11: no condition is named "no_improvment"`,
		"terminate.max_iterations=2.5":        "--set:1:26: want a whole number of at least 1 or off, got 2.5",
		"terminate.max_iterations=0":          "--set:1:26: want a whole number of at least 1 or off, got 0",
		"phases.refining.max_iterations=1":    `--set:1:8: nothing in phases is named "refining"`,
		"terminate.confidence.threshold=high": "--set:1:32: want",
	} {
		loop, faults := base.With(assigned(t, setting)...)
		if loop != nil || len(faults) == 0 || !strings.HasPrefix(faults.Error(), want) {
			t.Errorf("%s: %v, want %s", setting, faults, want)
		}
	}
	_, faults := Setting{"max_iterations", "[1"}.Assign("--sweep")
	if faults.Err() == nil || !strings.HasPrefix(faults.Error(), "--sweep:1:") {
		t.Error("what is no YAML:", faults)
	}
}

// TestWithAtOnce: several may set parameters on one loop at the same time.
func TestWithAtOnce(t *testing.T) {
	base := withSet(t, withLoop, "max_iterations: 8")
	var all sync.WaitGroup
	hashes := make([]string, 8)
	for i := range hashes {
		value, _ := Setting{"max_iterations", "3"}.Assign("--set")
		all.Go(func() {
			loop, _ := base.With(value)
			hashes[i] = loop.Hash()
		})
	}
	all.Wait()
	for _, hash := range hashes {
		if hash != hashes[0] || hash == base.Hash() {
			t.Error("equal settings give", hashes)
		}
	}
}

// BenchmarkWith makes 10,000 loops of one.
func BenchmarkWith(b *testing.B) {
	base := loaded(b, "l.yaml", benchLoop).Loop
	var values []*source.Node
	for i := range 10_000 {
		values = append(values, source.New(nil, float64(i)/10_000))
	}
	for b.Loop() {
		for _, value := range values {
			if loop, faults := base.With(Assignment{Path: "terminate.confidence.threshold", Value: value}); loop == nil {
				b.Fatal(faults)
			}
		}
	}
}
