package record

import "testing"

func TestNamesWithBracketsAreTheSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"plain@max_iterations=2", "plain[max_iterations=2]", true},
		{"plain[max_iterations=2]", "plain@max_iterations=2", true},
		{"plain", "plain", true},
		{"plain@max_iterations=2", "plain[max_iterations=3]", false},
		{"plain", "plain[]", false},
		{"[x]", "[x]", true},
	} {
		if got := SameName(c.a, c.b); got != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}
