package record

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

func TestRunIDs(t *testing.T) {
	long := strings.Repeat("long-", 1000)
	for _, c := range []struct {
		configuration, task string
		trial               int
		want                string
	}{
		{"default", "backend-1", 1, "default/backend-1/1"},
		{"sweep[threshold=0.75,max_iterations=2]", "é中", 12, "sweep[threshold=0.75,max_iterations=2]/é中/12"},
		{"a/b", "c d\n", 1, "a%2Fb/c%20d%0A/1"},
		{"100%", "..", 1, "100%25/%2E%2E/1"},
		{"", ".", 1, "%/%2E/1"},
		{"c", "\u202eevil\x1b\xff", 1, "c/%E2%80%AEevil%1B%FF/1"},
	} {
		if got := RunID(c.configuration, c.task, c.trial); got != c.want {
			t.Errorf("%q, %q, %d: %s instead of %s", c.configuration, c.task, c.trial, got, c.want)
		}
	}
	if got, want := RunID("c", long, 1), "c/"+long[:50]+"%~"; !strings.HasPrefix(got, want) {
		t.Errorf("a long task: %s", got)
	}
	if RunID("c", long+"x", 1) == RunID("c", long+"y", 1) {
		t.Error("long tasks that end differently have one id")
	}
}

// drawName draws names that are likely to be mistaken for each other.
func drawName(t *rapid.T) string {
	return rapid.OneOf(
		rapid.StringMatching(`[a/%. 2F~E]{0,4}`),
		rapid.Custom(drawText),
		rapid.StringMatching(`[a%é]{48,102}`),
	).Draw(t, "name")
}

func TestDifferentRunsHaveDifferentIDs(t *testing.T) {
	type key struct {
		configuration, task string
		trial               int
	}
	draw := func(t *rapid.T) key {
		return key{drawName(t), drawName(t), rapid.IntRange(1, 12).Draw(t, "trial")}
	}
	propertytest.Check(t, func(t *rapid.T) {
		a, b := draw(t), draw(t)
		idA, idB := RunID(a.configuration, a.task, a.trial), RunID(b.configuration, b.task, b.trial)
		if (idA == idB) != (a == b) {
			t.Fatalf("%+v is %s, %+v is %s", a, idA, b, idB)
		}
	})
}

// wellEscaped holds for parts whose escapes are whole.
var wellEscaped = regexp.MustCompile(`^(%|([^%]|%[0-9A-F]{2})*(%~[0-9a-f]{32})?)$`)

// F55: whatever tasks are called.
func TestRunIDsAreSafe(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		id := RunID(drawName(t), drawName(t), 3)
		parts := strings.Split(id, "/")
		if len(parts) != 3 || len(id) > 2*(longestPart+2)+2 || !utf8.ValidString(id) {
			t.Fatalf("%q", id)
		}
		for _, part := range parts {
			if part == "" || part == "." || part == ".." || !wellEscaped.MatchString(part) {
				t.Fatalf("%q", id)
			}
		}
		for _, c := range id {
			if unicode.IsSpace(c) || !unicode.IsPrint(c) {
				t.Fatalf("%s has %q", strconv.Quote(id), c)
			}
		}
	})
}
