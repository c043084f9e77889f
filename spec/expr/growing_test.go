package expr

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// F56: without the static estimate, as in dataset mappings, a text must not outgrow memory before it is charged.
func TestF56_TextsDoNotOutgrowMemory(t *testing.T) {
	env, scope := testEnv(t, Options{NoEstimate: true, CostLimit: 1e9, Deadline: time.Minute}), bombScope()
	for name, src := range map[string]string{
		"replace by itself":       "text.replace('a', text)",
		"replace again":           "text.replace('a', text.substring(0, 1000)).replace('a', text)",
		"replace at most":         "text.replace('a', text, 9000)",
		"replace nothing":         "text.replace('', text)",
		"split and join":          "text.split('').join(text)",
		"join what was joined":    "text.split('').map(x, text).join()",
		"doubling, then a glance": "cel.bind(a, text.split('').map(x, text.substring(0, 6000)).join(), (a + a).size())",
	} {
		program, faults := env.Compile(src, WantAny)
		if program == nil {
			t.Errorf("%s: %+v", name, faults)
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := program.Value(t.Context(), scope)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "a text grows beyond 64 MiB") {
			t.Errorf("%s: error %v", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
			t.Errorf("%s: took %d MiB", name, used>>20)
		}
	}
}

func TestReplaceAndJoin(t *testing.T) {
	env, scope := testEnv(t, Options{}), testScope()
	for src, want := range map[string]string{
		`"banana".replace("a", "")`:                 "bnn",
		`"banana".replace("a", "oo")`:               "boonoonoo",
		`"banana".replace("a", "o", 2)`:             "bonona",
		`"banana".replace("a", "o", 0)`:             "banana",
		`"banana".replace("a", "o", -1)`:            "bonono",
		`"äb".replace("", "-")`:                     "-ä-b-",
		`"äb".replace("", "-", 2)`:                  "-ä-b",
		`"banana".replace("x", "y")`:                "banana",
		`["a", "b", "c"].join()`:                    "abc",
		`["a", "b", "c"].join(", ")`:                "a, b, c",
		`["a"].join(", ")`:                          "a",
		`["a", "b"].filter(x, x == "z").join(", ")`: "",
	} {
		program, faults := env.Compile(src, WantString)
		if program == nil {
			t.Errorf("%s: %+v", src, faults)
			continue
		}
		if got, err := program.String(t.Context(), scope); got != want || err != nil {
			t.Errorf("%s is %q, error %v; want %q", src, got, err, want)
		}
	}
}
