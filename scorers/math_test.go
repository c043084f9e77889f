package scorers

import (
	"context"
	"testing"
)

// What package answer finds alike, as scores.
func TestMath(t *testing.T) {
	for _, c := range []struct{ scorer, target, output, want string }{
		{`type: math`, `"18"`, `"The total is $\\boxed{\\$18.00}$."`, `1 ($18.00)`},
		{`type: math`, `0.5`, `"\\frac{1}{2}"`, `1 (\frac{1}{2})`},
		{`type: math`, `"50%"`, `0.5`, `1 (0.5)`},
		{`type: math`, `50`, `"50%"`, `0 (50%): want 50, got 50%`},
		{`type: math`, `"3/4"`, `"2/4"`, `0 (2/4): want 3/4, got 2/4`},
		{`type: math`, `["1/3", "0.33"]`, `"0.33"`, `1 (0.33)`},
		{`type: math`, `["1/3", "1/4"]`, `"0.5"`, `0 (0.5): want one of 1/3, 1/4, got 0.5`},
		{`type: math, tolerance: 0.01`, `"1/3"`, `"0.33"`, `1 (0.33)`},
		{`type: math`, `"1/3"`, `"0.33"`, `0 (0.33): want 1/3, got 0.33`},
		{`type: math`, `"(1, 2)"`, `"(2, 1)"`, `0 ((2, 1)): want (1, 2), got (2, 1)`},
		{`type: math`, `"18 eggs"`, `"I do not know"`, `0 (I do not know): want 18 eggs, got I do not know`},
		{`type: math, extract: 'A: (.*)'`, `18`, `"A: 17\nA: 18 eggs."`, `1 (18 eggs)`},
		{`type: math, value: output.n`, `18`, `{"n": 18.0}`, `1 (18)`},
		{`type: math`, `18`, `""`, `0 (none)`},
		{`type: math`, `"$$"`, `"18"`, `unscored: the target is empty`},
		{`type: math`, `[]`, `"18"`, `unscored: the target is an empty list`},
		{`type: math, not: true`, `18`, `"18.0"`, `0 (18.0): it holds, and not is set`},
	} {
		t.Run(c.scorer+" "+c.output, func(t *testing.T) {
			s := set(t, "- {name: s, "+c.scorer+"}")
			scores := s.Score(context.Background(), task(t, c.target), run(c.output))
			if got := shown(scores[0]); got != c.want {
				t.Errorf("target %s, output %s:\n got %s\nwant %s", c.target, c.output, got, c.want)
			}
		})
	}
}
