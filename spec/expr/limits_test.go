package expr

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// bombs are expressions that could run for ever or eat all memory (FAULTS.md, F56).
func bombs() map[string]string {
	doubled := func(start string, n int) string {
		for i := range n {
			start = fmt.Sprintf("cel.bind(v%d, %s, v%d + v%d)", i, start, i, i)
		}
		return start
	}
	digits := "[0,1,2,3,4,5,6,7,8,9]"
	nested := "a"
	for i := range 7 {
		nested = fmt.Sprintf("%s.map(%c, %s)", digits, 'g'-i, nested)
	}
	return map[string]string{
		"quadratic":          "output.xs.all(x, output.xs.all(y, x + y >= 0.0))",
		"cubic":              "output.xs.all(x, output.xs.all(y, output.xs.all(z, x + y + z >= 0.0)))",
		"nested literals":    nested,
		"string doubling":    doubled("text", 26),
		"list doubling":      doubled("[1, 2]", 25) + ".all(x, x > 0)",
		"lists unwalked":     doubled("[1, 2]", 25) + ".size() > 0",
		"texts that grow":    "[text]" + strings.Repeat(".map(x, x + x)", 13),
		"strings in map":     "['aaaa']" + strings.Repeat(".map(x, x + x)", 26),
		"lists in map":       "[[1, 2]]" + strings.Repeat(".map(x, x + x)", 25) + "[0].all(x, x > 0)",
		"replace by itself":  "text.replace('a', text)",
		"split and join":     "text.split('').join(text)",
		"huge range":         "lists.range(100000000).size()",
		"huge precision":     "'%.1000000f'.format([1.0])",
		"deep nesting":       strings.Repeat("[", 240) + strings.Repeat("]", 240),
		"deep maps":          strings.Repeat("{'a':", 240) + "1" + strings.Repeat("}", 240),
		"long chain":         "1" + strings.Repeat("+1", 20_000),
		"long expression":    "'" + strings.Repeat("a", maxExpression) + "' == text",
		"quadratic distinct": "output.xs.distinct().size()",
		"regex of 1000s":     "text.matches('((a{0,100}){0,100}){0,100}')",
	}
}

func bombScope() vars {
	scope := testScope()
	numbers := make([]any, 2000)
	for i := range numbers {
		numbers[i] = float64(i)
	}
	output := NewObject(1)
	output.Set("xs", numbers)
	scope["output"], scope["text"] = output, strings.Repeat("a", 10_000)
	return scope
}

func wantKind(t *testing.T, err error, want ErrorKind) {
	t.Helper()
	var failed *Error
	if !errors.As(err, &failed) || failed.Kind != want {
		t.Errorf("got %v", err)
	}
}

// What does not end in time is stopped by the deadline.
func TestTheDeadlineStops(t *testing.T) {
	env := testEnv(t, Options{Deadline: 50 * time.Millisecond, MaxSteps: 1 << 40})
	program, _ := env.Compile(bombs()["cubic"], WantAny)
	_, err := program.Value(t.Context(), bombScope())
	wantKind(t, err, DeadlineExceeded)
}

func TestResultsAreLimited(t *testing.T) {
	env := testEnv(t, Options{MaxValues: 100})
	program := programOf(t, env, "output.xs.map(x, x)", WantAny)
	_, err := program.Value(t.Context(), bombScope())
	wantKind(t, err, TooLarge)
}

// What people write is accepted.
func TestReasonableExpressionsAreAccepted(t *testing.T) {
	env := testEnv(t, Options{})
	for _, src := range []string{
		"output.xs.exists(x, text.contains(string(x)))",
		"history.exists(h, h.output == text)",
		"history.exists(h, h.output.contains('timeout'))",
		"history.exists(h, h.output.matches('^(error|fatal): [a-z ]+$'))",
		"history.map(h, h.output).distinct().size() < 3",
		"history.sortBy(h, h.confidence)[0].output == ''",
		"history.exists(h, h.tags.exists(t, t == 'x'))",
		"output.sections.all(s, s.items.all(i, size(i) > 0))",
		"text.split('\\n').filter(l, l != '').size() > 3",
		"text.split('\\n').all(l, l.startsWith('- '))",
		"text.replace('\\n', ' ').size() > 3",
		"text.lowerAscii().contains('done')",
		"size(output.detailed_feedback) >= 200",
		"output.email.matches('^[^@]+@[^@]+[.][^@]+$')",
		"output.xs.map(x, string(x)).join(', ') == ''",
		"'%s: %d'.format([text, iteration]) == ''",
		"text" + strings.Repeat(" + ' ' + text", 4) + " == ''",
		strings.Repeat("(", 10) + "1" + strings.Repeat(")", 10) + " == 1",
	} {
		programOf(t, env, src, WantBool)
	}
}

// Only what takes time in proportion to what it reads may run without a limit.
func TestWhatIsWatched(t *testing.T) {
	env := testEnv(t, Options{})
	for src, watched := range map[string]bool{
		"confidence >= 0.9 && iteration >= 2":           false,
		"best != null && best.confidence > 0.5":         false,
		"text + text == ''":                             false,
		"history.exists(h, h.confidence > 0.9)":         true,
		"output.email.contains('@')":                    false,
		"output.email.matches('^[^@]+@[^@]+[.][^@]+$')": false, // bounded before it runs
		"text == '' ? '' : 'Improve: ' + text":          false,
		"output.xs.all(x, x > 1)":                       true,
		"['a'].map(x, x + x).map(x, x + x)[0]":          true,
		"history.map(h, h.output).join('')":             true,
		"text.replace('a', 'b')":                        true,
	} {
		program := programOf(t, env, src, WantAny)
		if program.watched != watched {
			t.Errorf("%s: watched is %v", src, program.watched)
		}
	}
}

// P14, F56: each bomb is refused with a reason when it is compiled, or ends soon (in 0.1 s on an idle machine) as a named error,
// and takes no more than 64 MiB. It is a size that stops it, never the clock, so that a busy machine gives the same results:
// there one try of five has to keep to the time.
func TestP14_F56_BombsAreStopped(t *testing.T) {
	const most, memory, tries = 2 * time.Second, 64 << 20, 5
	env, scope := testEnv(t, Options{}), bombScope()
	accepted := 0
	for name, src := range bombs() {
		began := time.Now()
		program, faults := env.Compile(src, WantAny)
		if took := time.Since(began); took > 5*time.Second { // far above what it takes, for slow machines under the race detector
			t.Errorf("%s: compiling took %v", name, took)
		}
		if program == nil {
			if !anyError(faults) {
				t.Errorf("%s: refused without a reason", name)
			}
			continue
		}
		accepted++
		shortest := time.Hour
		for range tries {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			_, err := program.Value(t.Context(), scope)
			shortest = min(shortest, time.Since(began))
			runtime.ReadMemStats(&after)
			var failed *Error
			if !errors.As(err, &failed) || failed.Kind != TooLarge && !strings.Contains(failed.What, "maximum allowed") {
				t.Errorf("%s: stopped by %v", name, err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > memory {
				t.Errorf("%s: took %d MiB", name, used>>20)
			}
		}
		if shortest > most {
			t.Errorf("%s: took %v", name, shortest)
		}
	}
	if accepted < 3 {
		t.Errorf("only %d bombs get as far as that", accepted)
	}
}
