package pass_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/scorers/pass"
	"github.com/agentbench/agentbench/spec"
)

// kept is a folder with a run whose steps found states of these values: a state is its value and a
// mark, so that several are worth the same.
type kept struct {
	t      *testing.T
	dir    string
	set    *scorers.Set
	tasks  *spec.Document
	values []int // found by the second step, and so on
	marks  []int
	judged int // states
}

func newKept(t *testing.T, values, marks []int) *kept {
	d := load(t, `{name: value, type: cel, expr: 'double(string(output)) / 10.0'}`)
	r := run("base", "t1", "x")
	r.Iterations[0].Calls = []record.Call{{Conversation: "main", Step: 1, Tree: "first"}}
	for i := range values {
		r.Iterations[0].Calls = append(r.Iterations[0].Calls, record.Call{Conversation: "main", Step: i + 2, Tree: tree(values[i], marks[i])})
	}
	return &kept{t: t, dir: folder(t, r), set: asked(t, "", d, &outside{}).Set, tasks: d, values: values, marks: marks}
}

func tree(value, mark int) string { return fmt.Sprintf("%d.%d", value, mark) }

// score makes scores at steps, and gives those that count then, by step.
func (k *kept) score() (*pass.StepCounts, map[int]record.Score) {
	k.t.Helper()
	found, err := results.OpenSnapshots(k.dir)
	must(k.t, err)
	k.judged = 0
	steps := &pass.Steps{
		Dir: k.dir, Set: k.set, Tasks: k.tasks.Tasks(), Found: found,
		Loop: func(*record.Run) *spec.Loop { return &spec.Loop{} },
		Key:  func(_ *spec.Loop, tree string) (string, error) { return tree, nil },
		Cut: func(_ context.Context, _ *spec.Loop, run *record.Run, _ *spec.Task, limit int) (*record.Run, string) {
			k.judged++
			made := *run
			made.Iterations = slices.Clone(run.Iterations)
			made.Iterations[0].Cut, made.Iterations[0].Output = string(record.ReasonBudgetSteps), json.RawMessage(fmt.Sprintf(`"%d"`, k.values[limit-1]))
			return &made, ""
		},
	}
	j, _, err := record.OpenScores(k.dir, record.Options{Delay: time.Nanosecond})
	must(k.t, err)
	counts, err := steps.Make(ctx, j)
	must(k.t, errors.Join(err, j.Close()))
	scores, all := map[int]record.Score{}, []record.Snapshot{}
	for s, err := range record.ReadSnapshots(k.dir) {
		must(k.t, err)
		all = append(all, s)
	}
	for _, s := range record.StandingSnapshots(all) {
		for _, step := range s.Steps {
			scores[step] = *s.Score("value")
		}
	}
	return counts, scores
}

// Whatever the values of a run's states: each different one is judged once, every step that found it is worth it, and another pass judges none.
func TestEveryStateIsScoredOnce(t *testing.T) {
	propertytest.Check(t, func(r *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 40).Draw(r, "values")
		marks := rapid.SliceOfN(rapid.IntRange(0, 5), len(values), len(values)).Draw(r, "marks")
		distinct := map[string]bool{}
		for i := range values {
			distinct[tree(values[i], marks[i])] = true
		}
		k := newKept(t, values, marks)
		counts, scores := k.score()
		if c := &counts.Scorers[0]; c.Made != k.judged || c.Made != len(distinct) || counts.Distinct != len(distinct) || c.Kept != 0 {
			r.Fatalf("%+v of %d states, %d judged", c, len(distinct), k.judged)
		}
		for i, value := range values {
			if s := scores[i+2]; s.Value != float64(value)/10 {
				r.Fatalf("step %d is worth %+v, not %d", i+2, s, value)
			}
		}
		if counts, _ = k.score(); counts.Scorers[0].Kept != len(distinct) || k.judged != 0 {
			r.Fatalf("again: %+v of %d states", counts.Scorers[0], len(distinct))
		}
	})
}
