package secret

import (
	"strings"
	"testing"
)

func TestF70_PrefixesEndBetweenWords(t *testing.T) {
	long := strings.Repeat("a", 600)
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"short", 10, "short"},
		{"the key sk-0123456789 is wrong", 15, "the key "},
		{"the key sk-0123456789 is wrong", 21, "the key sk-0123456789"},
		{"the key sk-0123456789 is wrong", 22, "the key sk-0123456789 "},
		{"the key sk-0123456789", 21, "the key sk-0123456789"},
		{`{"key":"sk%2D0123"}`, 12, `{"key":"`},
		{"é€€", 3, "é"},
		{"x " + long, 500, "x " + long[:498]},
		{"onewordonly", 5, "oneword"[:5]},
	} {
		if got := Prefix(c.text, c.most); got != c.want {
			t.Errorf("%d of %s: got %q, want %q", c.most, c.text, got, c.want)
		}
	}
}
