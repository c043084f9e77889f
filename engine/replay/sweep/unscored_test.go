package sweep

import (
	"context"
	"fmt"
	"math"
	"testing"
)

// Only what a candidate returns is wanted, where judging it would tell; what stops as
// it was recorded is not.
func TestUnscoredIterationsAreThoseThatAreReturned(t *testing.T) {
	unscored := func(runs ...Run) []Run {
		for i := range runs {
			for n := range runs[i].Scores[0][1:] {
				runs[i].Scores[0][n+1] = math.NaN()
			}
		}
		return runs
	}
	at := func(limit int) string {
		return fmt.Sprintf("%sterminate: {confidence: off}\nmax_iterations: %d\n", plain, limit)
	}
	for name, c := range map[string]struct {
		reads  Reads
		scores []string
		loops  []string
		want   string
	}{
		"as recorded":                   {ReadsUnknown, []string{"score"}, []string{wide}, "map[]"},
		"a limit":                       {ReadsUnknown, []string{"score"}, []string{at(2)}, "map[c/a/1:[2] c/b/1:[1]]"},
		"two limits, each wanted once":  {ReadsUnknown, []string{"score"}, []string{at(1), at(2), at(2)}, "map[c/a/1:[1 2] c/b/1:[1]]"},
		"beyond the recording":          {ReadsUnknown, []string{"score"}, []string{at(6)}, "map[]"},
		"the output that is known":      {ReadsOutput, []string{"score"}, []string{at(3)}, "map[c/b/1:[1]]"},
		"the same to who reads more":    {ReadsUnknown, []string{"score"}, []string{at(3)}, "map[c/a/1:[2] c/b/1:[1]]"},
		"whoever reads where it stops":  {ReadsAround, []string{"score"}, []string{at(2)}, "map[c/a/1:[2]]"},
		"another score":                 {ReadsUnknown, []string{"other"}, []string{at(2)}, "map[]"},
		"no score that is made so late": {ReadsUnknown, nil, []string{at(2)}, "map[]"},
	} {
		r := recorded(t, wide, unscored(run("a", 1, 0.2, 1, 0.4, 0.6), run("b", 1, 0.3, 0.1, 0.2, 1))...)
		r.Reads = []Reads{c.reads}
		got, err := swept(t, []Recording{r}, c.loops...).Unscored(context.Background(), c.scores)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v %v, want %s", name, got, err, c.want)
		}
	}
	failed := recorded(t, wide, unscored(run("a", 1, 0.2, 1, 0.4, 0.6))...)
	failed.Runs[0].Scores[0][0], failed.Reads = math.NaN(), []Reads{ReadsOutput}
	if got, err := swept(t, []Recording{failed}, wide, at(3)).Unscored(context.Background(), []string{"score"}); err != nil || len(got) > 0 {
		t.Errorf("who could not judge what was returned is asked of it again: %v %v", got, err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	r := recorded(t, wide, unscored(run("a", 1, 0.2, 1))...)
	if _, err := swept(t, []Recording{r}, at(1)).Unscored(ended, []string{"score"}); err == nil {
		t.Error("a context that has ended is no error")
	}
}
