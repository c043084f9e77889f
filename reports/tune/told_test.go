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
	one, other := RaceOrder(ids, 1), RaceOrder(ids, 2)
	if !slices.Equal(one, RaceOrder(backwards, 1)) || slices.Equal(one, other) || slices.Equal(one, ids) {
		t.Errorf("%v, with another seed %v", one, other)
	}
	slices.Sort(one)
	if !slices.Equal(one, ids) {
		t.Errorf("the ids are %v", one)
	}
}

// What a race tells: who is left, who is shown to be worse, who was put out without
// that, and what is inconclusive.
func TestWhatARaceTells(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	for _, c := range []struct {
		name  string
		race  Race
		score string
		want  string
	}{
		{"decided", Race{arms: 3, tasks: 50, done: 50, options: RaceOptions{Alpha: 0.05}, out: []Out{{}, {After: 20, By: 0, Shown: true, Evidence: 50}, {}}}, "right",
			"3 paths need calls of their own; after 50 of 50 tasks 'a' and 'c' are left\n" +
				"'b' is out: shown to be worse by 'right', with an evidence of 40 or more"},
		{"halved", Race{arms: 5, tasks: 50, done: 50, options: RaceOptions{Alpha: 0.05}, out: []Out{{}, {After: 20}, {After: 20}, {After: 20}, {After: 20}}}, "right",
			"5 paths need calls of their own; after 50 of 50 tasks 'a' is left\n" +
				"inconclusive whether one of them is the best: 'b', 'c', 'd' and another one are out for being behind after a part of the tasks, which does not prove that they are worse"},
		{"ended early", Race{arms: 2, tasks: 50, done: 10, options: RaceOptions{Alpha: 0.05}, out: make([]Out, 2)}, "right",
			"2 paths need calls of their own; after 10 of 50 tasks 'a' and 'b' are left\n" +
				"inconclusive which is better: 'a' and 'b' are left, and the recording ended early"},
		{"by no score", Race{arms: 5, tasks: 50, done: 50, out: make([]Out, 5)}, "",
			"5 paths need calls of their own; after 50 of 50 tasks 'a', 'b', 'c' and 2 others are left\n" +
				"every path stayed in the race: dropping one takes an objective that is the mean of one score from 0 to 1"},
		{"one path", Race{arms: 1, tasks: 50, done: 50, out: make([]Out, 1)}, "right", ""},
	} {
		got := strings.Join(c.race.Lines(names[:c.race.arms], c.score, func(name string) string { return "'" + name + "'" }), "\n")
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
