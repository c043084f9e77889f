package plan

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
)

func TestParseShard(t *testing.T) {
	for text, want := range map[string]Shard{"1/1": {1, 1}, "2/3": {2, 3}, "10000/10000": {10000, 10000}} {
		if got, err := ParseShard(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "want i/n, for example 1/3", "3": "want i/n, for example 1/3",
		"0/3": `invalid shard "0": the shards of 3 are numbered from 1 to 3`, "4/3": `invalid shard "4": the shards of 3 are numbered from 1 to 3`,
		"x/3": `invalid shard "x": the shards of 3 are numbered from 1 to 3`, "1/3/4": `want 1 to 10000 shards, not "3/4"`,
		"x/y": `want 1 to 10000 shards, not "y"`, "1/0": `want 1 to 10000 shards, not "0"`, "1/10001": `want 1 to 10000 shards, not "10001"`,
	} {
		if _, err := ParseShard(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func names(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("task-%d", i+1)
	}
	return ids
}

func shardOf(t spectest.T, ids []string, s Shard) *Plan {
	p, err := New(suiteOf(2, "a", "b"), len(ids), Selection{})
	if err == nil {
		err = p.Shard(s, tasks(ids...))
	}
	spectest.Must(t, err)
	return p
}

func runsOf(t spectest.T, p *Plan, all iter.Seq2[*spec.Task, error]) (ids []string) {
	for item, err := range p.Items(all) {
		spectest.Must(t, err)
		ids = append(ids, item.ID)
	}
	return ids
}

// Each run is in exactly one shard, whatever the order of the tasks, and each
// shard knows how many it has.
func TestShardsAreThePlan(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		ids := names(rapid.IntRange(1, 60).Draw(t, "tasks"))
		of := rapid.IntRange(1, len(ids)).Draw(t, "of")
		whole, _ := New(suiteOf(2, "a", "b"), len(ids), Selection{})
		want := runsOf(t, whole, tasks(ids...))
		shuffled := rapid.Permutation(ids).Draw(t, "order")
		var got []string
		for i := range of {
			p := shardOf(t, shuffled, Shard{i + 1, of})
			runs := runsOf(t, p, tasks(ids...))
			if p.Tasks == 0 || len(runs) != p.Runs() || p.Part.Whole() != len(ids) {
				t.Fatalf("shard %d/%d has %d tasks of %d, and %d runs of %d", i+1, of, p.Tasks, p.Part.Whole(), len(runs), p.Runs())
			}
			got = append(got, runs...)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("the shards have\n%v, the plan\n%v", got, want)
		}
	})
}

// Shards differ by one task at most, and a new task moves few others.
func TestPartitions(t *testing.T) {
	const of = 7
	ids := names(101)
	where := map[string]int{}
	for i := range of {
		p := shardOf(t, ids[:100], Shard{i + 1, of})
		if p.Tasks != 14 && p.Tasks != 15 {
			t.Errorf("shard %d has %d of 100 tasks", i+1, p.Tasks)
		}
		for _, id := range ids[:100] {
			if p.Part.has(id) {
				where[id] = i
			}
		}
	}
	moved := 0
	for i := range of {
		p := shardOf(t, ids, Shard{i + 1, of})
		for id, before := range where {
			if p.Part.has(id) && before != i {
				moved++
			}
		}
	}
	if moved > of-1 {
		t.Errorf("a new task moved %d of 100 others", moved)
	}
}

// A shard of a selection is cut from the selection only.
func TestShardsOfASelection(t *testing.T) {
	all := []string{}
	for i := range 2 {
		p, err := New(suiteOf(1, "a"), 9, Selection{Tasks: []string{"task-2", "task-4", "task-6"}, Limit: 2})
		if err == nil {
			err = p.Shard(Shard{i + 1, 2}, tasks(names(9)...))
		}
		spectest.Must(t, err)
		all = append(all, items(t, p, names(9)...)...)
	}
	slices.Sort(all)
	if want := []string{"a/task-2/1", "a/task-4/1"}; !slices.Equal(all, want) {
		t.Errorf("%v, want %v", all, want)
	}
}

func TestWhatCannotBeDivided(t *testing.T) {
	p, err := New(suiteOf(1, "a"), 2, Selection{})
	spectest.Must(t, err)
	var few *FewTasksError
	if err := p.Shard(Shard{1, 3}, tasks("x", "y")); !errors.As(err, &few) || *few != (FewTasksError{2, 3}) {
		t.Errorf("two tasks for three: %v", err)
	}
	broken := errors.New("broken")
	failing := func(yield func(*spec.Task, error) bool) { yield(nil, broken) }
	if err := p.Shard(Shard{1, 2}, failing); !errors.Is(err, broken) {
		t.Errorf("tasks that cannot be read: %v", err)
	}
}

// The shares are together the whole, to the last call and 1e-12 USD; as what a
// budget reads they are never more.
func TestSharesAreTogetherTheWhole(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		ids := names(rapid.IntRange(2, 40).Draw(t, "tasks"))
		of := rapid.IntRange(2, min(9, len(ids))).Draw(t, "of")
		whole := spec.SuiteBudget{
			Calls: rapid.Int64Range(1, math.MaxInt64).Draw(t, "calls"), Tokens: rapid.Int64Range(0, 1e6).Draw(t, "tokens"),
			CostUSD: rapid.Float64Range(0, 1e6).Draw(t, "usd"), Duration: time.Hour,
		}
		var calls, tokens, cost int64
		for i := range of {
			share, err := shardOf(t, ids, Shard{i + 1, of}).Part.Budget(whole)
			if small := (*TooSmallError)(nil); errors.As(err, &small) {
				return
			}
			if err != nil || share.Duration != time.Hour {
				t.Fatalf("%+v, %v", share, err)
			}
			calls, tokens, cost = calls+share.Calls, tokens+share.Tokens, cost+picoDollars(share.CostUSD)
		}
		pico := picoDollars(whole.CostUSD)
		if calls != whole.Calls || tokens != whole.Tokens || cost > pico || float64(pico-cost) > float64(pico)*1e-12 {
			t.Fatalf("%d of %d calls, %d of %d tokens, %d of %d pUSD", calls, whole.Calls, tokens, whole.Tokens, cost, pico)
		}
	})
}

// What a budget reads of a share is never more than the share.
func TestSharesInDollarsAreRoundedDown(t *testing.T) {
	for size := range 60 {
		for less := range int64(1000) {
			pico := max(1, int64(1e18)>>size-less)
			if read := picoDollars(dollarsAtMost(pico)); read > pico || read < pico-256 {
				t.Fatalf("%d are read as %d", pico, read)
			}
		}
	}
}

func TestDivide(t *testing.T) {
	for _, c := range []struct {
		whole       int64
		loads, want []int64
	}{
		{10, []int64{1, 1, 1}, []int64{4, 3, 3}},
		{100, []int64{14, 13, 13}, []int64{35, 33, 32}}, // 35, 32.5, 32.5: among equals the first
		{7, []int64{1, 9}, []int64{1, 6}},
		{math.MaxInt64, []int64{1 << 50, 1 << 50}, []int64{1 << 62, 1<<62 - 1}},
	} {
		if got := divide(c.whole, c.loads); !slices.Equal(got, c.want) {
			t.Errorf("%d by %v: %v, want %v", c.whole, c.loads, got, c.want)
		}
	}
}

func TestRates(t *testing.T) {
	p := shardOf(t, names(3), Shard{2, 2}).Part
	got, err := p.Rates("m", spec.Model{RPM: 5, TPM: 0, MaxParallel: 2, Name: "x"})
	if err != nil || got.RPM != 2 || got.TPM != 0 || got.MaxParallel != 1 || got.Name != "x" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := p.Rates("m", spec.Model{RPM: 5, MaxParallel: 1}); err == nil || err.Error() != "max_parallel: 1 of model m cannot be divided among 2 shards" {
		t.Error(err)
	}
	if _, err := p.Budget(spec.SuiteBudget{CostUSD: 1e-12}); err == nil || err.Error() != "the budget of 1e-12 USD cannot be divided among 2 shards" {
		t.Error(err)
	}
}
