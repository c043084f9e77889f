package judge

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
)

func votes(values ...float64) []record.Vote {
	all := make([]record.Vote, len(values))
	for i, v := range values {
		all[i] = record.Vote{Value: v, Answer: Decimal(v), Explanation: "says " + Decimal(v)}
		if math.IsNaN(v) {
			all[i] = record.Vote{Unscored: "gone"}
		}
	}
	return all
}

func TestReduce(t *testing.T) {
	gone := math.NaN()
	for _, c := range []struct {
		reduce  Reduce
		votes   []record.Vote
		value   float64
		missing string
		nearest string
	}{
		{"", votes(0, 1, 1), 2.0 / 3, "", "says 1"},
		{Mean, votes(0.25, gone), 0.25, "", "says 0.25"},
		{Median, votes(1, 0, 0.25), 0.25, "", "says 0.25"},
		{Median, votes(1, 0, 0.5, 0.25), 0.375, "", "says 0.5"},
		{Majority, votes(1, 0, 1), 1, "", "says 1"},
		{Majority, votes(0.5, 0, 1, 0.5, 1), 0.75, "", "says 0.5"},
		{Majority, votes(0, 0.25, 1), 1.25 / 3, "", "says 0.25"},
		{Majority, votes(1, gone, gone, gone), 0, "3 of 4 votes failed: gone", ""},
		{Mean, votes(gone), 0, "gone", ""},
		{Mean, votes(gone, gone), 0, "2 of 2 votes failed: gone", ""},
		{Mean, nil, 0, "there are no votes", ""},
	} {
		value, missing := c.reduce.Of(c.votes)
		if math.Abs(value-c.value) > 1e-15 || missing != c.missing {
			t.Errorf("%s of %v: %v, %q; want %v, %q", c.reduce, c.votes, value, missing, c.value, c.missing)
		}
		if got := nearest(c.votes, value).Explanation; missing == "" && got != c.nearest {
			t.Errorf("%s of %v: nearest %q, want %q", c.reduce, c.votes, got, c.nearest)
		}
	}
}

// What votes make together lies between them, does not depend on their order, and
// is theirs where they agree.
func TestReductionsLieBetweenTheVotes(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 0.1, 0.5, 1})), 1, 9).Draw(t, "votes")
		reduce := rapid.SampledFrom([]Reduce{Mean, Median, Majority}).Draw(t, "reduce")
		value, missing := reduce.Of(votes(values...))
		low, high := values[0], values[0]
		for _, v := range values {
			low, high = min(low, v), max(high, v)
		}
		if missing != "" || !(value >= low && value <= high) {
			t.Fatalf("%s of %v is %v", reduce, values, value)
		}
		shuffled := rapid.Permutation(values).Draw(t, "shuffled")
		if other, _ := reduce.Of(votes(shuffled...)); other != value {
			t.Fatalf("%s of %v is %v, of %v %v", reduce, values, value, shuffled, other)
		}
	})
}

func TestAnswersOfSeveralVotes(t *testing.T) {
	said := func(words ...string) []record.Vote {
		var all []record.Vote
		for _, w := range words {
			v := record.Vote{Answer: w}
			if w == "" {
				v.Unscored = "gone"
			}
			all = append(all, v)
		}
		return all
	}
	for _, c := range []struct {
		scale *Scale
		value float64
		votes []record.Vote
		want  string
	}{
		{words, 1, said("good", "", "good"), "good"},
		{words, 0.75, said("fair", "good", "good"), "1 fair, 2 good"},
		{&Scale{Worst: 1, Best: 5}, 2.0 / 3, said("3", "4", "4"), "3.6667"},
		{toOne, 0.3, said("0.3"), "0.3"},
	} {
		expect.Equal(t, "result", c.scale.Answer(c.value, c.votes), c.want)
	}
}
