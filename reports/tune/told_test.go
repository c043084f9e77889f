package tune

import (
	"slices"
	"strings"
	"testing"
)

// The order is that of the seed, however tasks come, and not that of their ids.
func TestRaceOrder(t *testing.T) {
	ids := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	backwards := slices.Clone(ids)
	slices.Reverse(backwards)
	order := func(ids []string, seed uint64) []string {
		keys := map[string]bool{}
		for _, id := range ids {
			keys[id] = true
		}
		return shuffled(keys, seed)
	}
	one, other := order(ids, 1), order(ids, 2)
	if !slices.Equal(one, order(backwards, 1)) || slices.Equal(one, other) || slices.Equal(one, ids) {
		t.Errorf("%v, with another seed %v", one, other)
	}
	slices.Sort(one)
	if !slices.Equal(one, ids) {
		t.Errorf("the ids are %v", one)
	}
}

// What a race tells: who is left, who was put out, and what is inconclusive.
func TestWhatARaceTells(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	for _, c := range []struct {
		name  string
		race  Race
		score string
		want  string
	}{
		{"halved", Race{paths: 5, tasks: 50, done: 50, out: []int{0, 20, 20, 20, 20}}, "right",
			"5 paths need calls of their own; 'a' is left\n" +
				"inconclusive whether one of them is the best: 'b', 'c', 'd' and another one are out for being behind after a part of the tasks, which does not prove that they are worse"},
		{"ended early", Race{paths: 2, tasks: 50, done: 10, out: make([]int, 2)}, "right",
			"2 paths need calls of their own; 'a' and 'b' are left\n" +
				"inconclusive which is better: 'a' and 'b' are left, and the recording ended early"},
		{"by no score", Race{paths: 5, tasks: 50, done: 50, out: make([]int, 5)}, "",
			"5 paths need calls of their own; 'a', 'b', 'c' and 2 others are left\n" +
				"every path stayed in the race: dropping one takes an objective that is the mean of one score from 0 to 1"},
		{"one path", Race{paths: 1, tasks: 50, done: 50, out: make([]int, 1)}, "right", ""},
	} {
		got := strings.Join(c.race.Lines(names[:c.race.paths], c.score, func(name string) string { return "'" + name + "'" }), "\n")
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
