package record

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

// F41, F24: an absurd price or token count may not wrap into a negative cost, which would be room in a budget.
func TestF41_MoneyDoesNotWrap(t *testing.T) {
	for name, c := range map[string]struct{ got, want Money }{
		"a product":            {Money(150_000).Times(1000), 150_000_000},
		"a product that fits":  {Money(math.MaxInt64 / 2).Times(2), math.MaxInt64 - 1},
		"more than fits":       {Money(math.MaxInt64/2 + 1).Times(2), math.MaxInt64},
		"far more than fits":   {Money(math.MaxInt64).Times(math.MaxInt64), math.MaxInt64},
		"tokens below zero":    {USD.Times(-1), 0},
		"a sum":                {USD.Plus(2), USD + 2},
		"a sum more than fits": {Money(math.MaxInt64).Plus(1), math.MaxInt64},
		"a sum of usages":      {Usage{Cost: math.MaxInt64}.Plus(Usage{Cost: USD}).Cost, math.MaxInt64},
		"tokens of usages":     {Money(Usage{InputTokens: math.MaxInt64}.Plus(Usage{InputTokens: 1, OutputTokens: 1}).Tokens()), math.MaxInt64},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %d, want %d", name, c.got, c.want)
		}
	}
}

// TestTokensTold: calls whose tokens are estimates have some; a log that tells costs alone has none, which is not zero.
func TestTokensTold(t *testing.T) {
	for _, c := range []struct {
		used Usage
		want bool
	}{
		{Usage{}, true},
		{Usage{Calls: 2, InputTokens: 5}, true},
		{Usage{Calls: 2, Estimated: 2, OutputTokens: 1}, true},
		{Usage{Calls: 2, Estimated: 2, Cost: USD}, false},
		{Usage{Calls: 2, Unreported: 1, InputTokens: 5}, false},
	} {
		if got := c.used.TokensTold(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.used, got, c.want)
		}
	}
}

// The one who answers an agent spends in a ledger of its own, which is part of
// every total.
func TestTheUserHasALedgerOfItsOwn(t *testing.T) {
	user := Usage{Calls: 1, InputTokens: 7, Cost: USD}
	run := Run{ID: "c/t/1", Configuration: "c", Task: "t", Trial: 1, Outcome: Outcome{Status: Completed}, Iterations: []Iteration{{
		Calls:     []Call{{Role: RoleAgent, Usage: Usage{Calls: 1}}, {Role: RoleUser, Usage: user}, {Role: RoleJudge, Usage: Usage{Calls: 1}}},
		ToolCalls: []ToolCall{{Tool: "a"}}, Steps: []Step{{Call: 1, Tools: 1}},
	}}}
	it := &run.Iterations[0]
	run.Usage, run.Judging = it.Spent()
	run.User = it.SpentByUser()
	light := run.Light()
	agent, judging := it.Spent()
	if run.User != user || agent != run.Usage || judging != run.Judging || run.Usage.InputTokens+run.Judging.InputTokens != 0 {
		t.Errorf("agent %+v, judging %+v, user %+v; by the iteration %+v and %+v", run.Usage, run.Judging, run.User, agent, judging)
	}
	var totals Totals
	totals.Add(run.Outcome.Status, run.Usage, run.Judging, run.User)
	for name, total := range map[string]Usage{
		"run": run.Total(), "iteration": it.Total(), "light run": light.Total(), "manifest": totals.Used(),
	} {
		if total != (Usage{Calls: 3, InputTokens: 7, Cost: USD, ToolCalls: 1}) {
			t.Errorf("%s: %+v in all", name, total)
		}
	}
}

func TestRunsThatDifferInWhatIsVolatileLastAsTheSame(t *testing.T) {
	one, other := sampleRun(1, 2), sampleRun(1, 2)
	other.Volatile = Volatile{Started: time.Unix(2e9, 0), Waited: 1, Cached: 2}
	call := &other.Iterations[1].Calls[0]
	call.Waited, call.Attempts, call.Cached = time.Second, 3, true
	if a, b := marshalled(t, one.WithoutVolatile()), marshalled(t, other.WithoutVolatile()); !bytes.Equal(a, b) {
		t.Errorf("\n%s\n%s", a, b)
	}
	if !call.Cached || other.Volatile.Cached != 2 {
		t.Error("the run itself was changed")
	}
	other.Outcome.Success = false
	if bytes.Equal(marshalled(t, one.WithoutVolatile()), marshalled(t, other.WithoutVolatile())) {
		t.Error("different outcomes are the same")
	}
}

func TestRunsOfDelegatesLastAsTheSame(t *testing.T) {
	with := func(served *Run, cached bool, attempts int) *Run {
		run := sampleRun(1, 2)
		run.Iterations[0].ToolCalls = []ToolCall{{Tool: "t", Cached: cached, Attempts: attempts}, {Tool: "d", Delegated: served}}
		return run
	}
	one, other := sampleRun(7, 1), sampleRun(7, 1)
	other.Volatile.Wall, other.Iterations[0].Calls[0].Cached = time.Hour, true
	a, b := with(one, false, 0), with(other, true, 3)
	if first, second := marshalled(t, a.WithoutVolatile()), marshalled(t, b.WithoutVolatile()); !bytes.Equal(first, second) {
		t.Errorf("\n%s\n%s", first, second)
	}
	if tools := b.Iterations[0].ToolCalls; !tools[0].Cached || !other.Iterations[0].Calls[0].Cached {
		t.Error("the run itself was changed")
	}
	if other.Outcome.Reason = "other"; bytes.Equal(marshalled(t, a.WithoutVolatile()), marshalled(t, b.WithoutVolatile())) {
		t.Error("different runs of a delegate are the same")
	}
}

func marshalled(t *testing.T, run *Run) []byte {
	t.Helper()
	text, err := json.Marshal(run)
	must(t, err)
	return text
}

func TestEffortCountsEveryAttemptAtARun(t *testing.T) {
	dir := t.TempDir()
	j, err := Create(dir, Manifest{}, Options{Delay: soon})
	must(t, err)
	failed, done := sampleRun(1, 1), sampleRun(1, 1)
	failed.Outcome.Status = Faulted
	failed.Volatile = Volatile{Cached: 1, Waited: time.Second}
	done.Volatile = Volatile{Cached: 2, Waited: time.Second}
	want := Effort{Cached: 3, Made: 2*done.Total().Calls - 3, Waited: 2 * time.Second}
	for _, run := range []*Run{failed, done} {
		must(t, j.Append(run, nil, nil))
	}
	must(t, j.Close())
	j, found, err := Resume(dir, Options{})
	must(t, err)
	if err := j.Close(); err != nil || found.Effort != want {
		t.Errorf("%+v, %v; want %+v", found.Effort, err, want)
	}
}

func TestRunIDs(t *testing.T) {
	long := strings.Repeat("long-", 1000)
	for _, c := range []struct {
		configuration, task string
		trial               int
		want                string
	}{
		{"default", "backend-1", 1, "default/backend-1/1"},
		{"sweep@threshold=0.75,max_iterations=2", "é中", 12, "sweep@threshold=0.75,max_iterations=2/é中/12"},
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

// A run without a folder has the fields of a state in which nothing changed.
func TestFieldsOfAState(t *testing.T) {
	state := &Workspace{Changed: []string{"a"}, Added: []string{"b"}, Deleted: []string{"c"}, Insertions: 2, Deletions: 3, Diff: "d", Truncated: true}
	for name, want := range map[string][2]any{
		"changed": {[]any{"a"}, []any{}}, "added": {[]any{"b"}, []any{}}, "deleted": {[]any{"c"}, []any{}},
		"insertions": {int64(2), int64(0)}, "deletions": {int64(3), int64(0)}, "diff": {"d", ""}, "truncated": {true, false}, "other": {nil, nil},
	} {
		if got := [2]any{state.Field(name), (*Workspace)(nil).Field(name)}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
