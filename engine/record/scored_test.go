package record

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

// scoreMore appends scores to a folder, as a later session does.
func scoreMore(t *testing.T, dir, run string, scores ...Score) {
	t.Helper()
	j, _, err := OpenScores(dir, Options{Delay: soon})
	must(t, err)
	must(t, errors.Join(j.AppendScores(run, scores, nil), j.Close()))
}

// standing are the scores of a folder that count, by their runs, and sorted.
func standing(t *testing.T, dir string) map[string][]Score {
	t.Helper()
	all := map[string][]Score{}
	scores, _ := collected(t, ReadScores(dir))
	for _, s := range scores {
		all[s.Run] = append(all[s.Run], s)
	}
	for run := range all {
		all[run] = Standing(all[run])
		slices.SortFunc(all[run], func(a, b Score) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Iteration, b.Iteration))
		})
	}
	return all
}

func TestOfSeveralScoresTheLastOneCounts(t *testing.T) {
	for name, test := range map[string]struct{ made, want []Score }{
		"one":               {[]Score{{Name: "a", Value: 1}}, []Score{{Name: "a", Value: 1}}},
		"made again":        {[]Score{{Name: "a", Value: 1}, {Name: "b"}, {Name: "a", Scorer: "2"}}, []Score{{Name: "a", Scorer: "2"}, {Name: "b"}}},
		"an iteration":      {[]Score{{Name: "a", Value: 1}, {Name: "a", Iteration: 1}}, []Score{{Name: "a", Value: 1}, {Name: "a", Iteration: 1}}},
		"taken back":        {[]Score{{Name: "a", Value: 1}, {Name: "b"}, {Name: "a", Removed: true}}, []Score{{Name: "b"}}},
		"and made again":    {[]Score{{Name: "a", Value: 1}, {Name: "a", Removed: true}, {Name: "a"}}, []Score{{Name: "a"}}},
		"unscored at last":  {[]Score{{Name: "a", Value: 1}, {Name: "a", Unscored: "x"}}, []Score{{Name: "a", Unscored: "x"}}},
		"taken back at all": {[]Score{{Name: "a", Removed: true}}, nil},
	} {
		if got := Standing(test.made); len(got)+len(test.want) > 0 && !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v count, want %+v", name, got, test.want)
		}
	}
}

func TestScoresAreAddedToAFolder(t *testing.T) {
	dir := sampleFolder(t, 2)
	run := sampleRun(1, 1).ID
	vote := Vote{Judge: "strict", Value: 0.5, Swapped: true, Repaired: true}
	added := Score{Run: run, Name: "good", Value: 0.5, Scorer: "1", Votes: []Vote{vote}, Usage: Usage{Calls: 2, Cost: 3}}
	scoreMore(t, dir, run, added, Score{Name: "exact", Removed: true})
	if got := standing(t, dir)[run]; !reflect.DeepEqual(got, []Score{added}) {
		t.Errorf("%+v count", got)
	}
	if got := standing(t, dir)[sampleRun(0, 1).ID]; len(got) != 1 {
		t.Errorf("of another run %+v count", got)
	}
}

// A crash may leave any beginning of what was appended. What comes after it is
// whole.
func TestF4_ScoresThatWereCutOffDoNotSpoilTheNext(t *testing.T) {
	dir := sampleFolder(t, 1)
	before, run := readFile(t, dir, scoresFile), sampleRun(0, 1).ID
	scoreMore(t, dir, run, Score{Name: "late", Value: 1})
	after := readFile(t, dir, scoresFile)
	for size := 0; size <= len(after); size += stride() {
		writeFile(t, dir, scoresFile, after[:size])
		scoreMore(t, dir, run, Score{Name: "last"})
		scores, _ := collected(t, ReadScores(dir))
		var names []string
		for _, s := range scores {
			names = append(names, s.Name)
		}
		var want []string
		if size >= len(before) {
			want = append(want, "exact")
		}
		if size == len(after) {
			want = append(want, "late")
		}
		if want = append(want, "last"); !slices.Equal(names, want) {
			t.Fatalf("of %d bytes and one more line there are %q, want %q", size, names, want)
		}
	}
}

func TestCompactingKeepsWhatCounts(t *testing.T) {
	propertytest.Check(t, func(rt *rapid.T) {
		dir := sampleFolder(t, 3)
		j, _, err := OpenScores(dir, Options{Delay: soon})
		must(t, err)
		for range rapid.IntRange(0, 12).Draw(rt, "lines") {
			var scores []Score
			for range rapid.IntRange(1, 3).Draw(rt, "scores") {
				scores = append(scores, Score{
					Name: rapid.SampledFrom([]string{"a", "b", "exact"}).Draw(rt, "name"), Iteration: rapid.IntRange(0, 2).Draw(rt, "iteration"),
					Value: rapid.Float64Range(0, 1).Draw(rt, "value"), Removed: rapid.Bool().Draw(rt, "removed"),
				})
			}
			must(t, j.AppendScores(sampleRun(rapid.IntRange(0, 2).Draw(rt, "run"), 1).ID, scores, nil))
		}
		must(t, j.Close())
		before := standing(t, dir)
		for run, scores := range before {
			if len(scores) == 0 {
				delete(before, run)
			}
		}
		done, err := CompactScores(dir, Options{})
		must(t, err)
		if after := standing(t, dir); !reflect.DeepEqual(before, after) {
			rt.Fatalf("before %+v\nafter %+v", before, after)
		}
		left := 0
		for s, err := range ReadScores(dir) {
			must(t, err)
			if left++; !slices.ContainsFunc(before[s.Run], func(one Score) bool { return reflect.DeepEqual(one, s) }) {
				rt.Errorf("%+v is left, and does not count", s)
			}
		}
		counted := 0
		for _, scores := range before {
			counted += len(scores)
		}
		if left != counted || done.After > done.Before {
			rt.Errorf("%d scores are left of %d, %+v", left, counted, done)
		}
	})
}
