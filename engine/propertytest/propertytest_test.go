package propertytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Where a test process is one that these tests started: what it does.
const inner = "AGENTBENCH_TEST_PROPERTY"

func TestInner(t *testing.T) {
	switch os.Getenv(inner) {
	case "":
		t.Skip("run by the other tests")
	case "draws":
		Check(t, func(t *rapid.T) { t.Log("drew", rapid.Uint64().Draw(t, "x")) }, 7)
	case "fails":
		Check(t, func(t *rapid.T) {
			if rapid.Uint64Range(0, 999).Draw(t, "x") == 613 {
				t.Fatal("it is 613")
			}
		})
	}
}

// process runs the inner test in a process of its own.
func process(t *testing.T, does string, explore string, flags ...string) (out string, failed bool) {
	t.Helper()
	c := exec.Command(os.Args[0], append([]string{"-test.run=^TestInner$", "-test.v"}, flags...)...)
	c.Env = append(os.Environ(), inner+"="+does, Explore+"="+explore)
	c.Dir = t.TempDir()
	said, err := c.CombinedOutput()
	return string(said), err != nil
}

var drew = regexp.MustCompile(`drew \d+`)

func TestTheSameCasesEveryTime(t *testing.T) {
	one, _ := process(t, "draws", "", "-rapid.v")
	again, _ := process(t, "draws", "", "-rapid.v", "-test.shuffle=on")
	if a, b := drew.FindAllString(one, -1), drew.FindAllString(again, -1); len(a) != 21 || strings.Join(a, "\n") != strings.Join(b, "\n") {
		t.Errorf("%d cases, then %d:\n%s\n%s", len(a), len(b), a, b)
	}
	other, _ := process(t, "draws", "", "-rapid.v", "-rapid.seed=7")
	if long, _ := process(t, "draws", "", "-rapid.v", "-rapid.checks=100"); len(drew.FindAllString(long, -1)) != 101 {
		t.Errorf("with 100 checks: %s", long)
	}
	if a, b := drew.FindAllString(one, -1), drew.FindAllString(other, -1); len(b) != 20 || b[0] != a[0] || b[1] == a[1] {
		t.Errorf("the cases of a seed that is asked for: %d of which the first is %q, not %q", len(b), b[0], a[0])
	}
}

// A case that no fixed one shows is found, and its seed shows it again.
func TestExploringFindsCasesAndTheirSeeds(t *testing.T) {
	if out, failed := process(t, "fails", ""); failed {
		t.Fatal("the fixed cases show it: the test says nothing: ", out)
	}
	out, failed := process(t, "fails", "1h")
	seed := regexp.MustCompile(`-rapid\.seed=\d+`).FindString(out)
	if !failed || seed == "" || !strings.Contains(out, "it is 613") || !strings.Contains(out, "draw x: 0x265") {
		t.Fatalf("failed: %v\n%s", failed, out)
	}
	if out, failed := process(t, "fails", "", seed); !failed || !strings.Contains(out, "after 0 tests") {
		t.Errorf("failed: %v\n%s", failed, out)
	}
}

func TestExploringEnds(t *testing.T) {
	for explore, flag := range map[string]string{"100ms": "-test.timeout=0", "1h": "-test.timeout=2s"} {
		began := time.Now()
		out, failed := process(t, "draws", explore, flag)
		if took := time.Since(began); failed || took > time.Minute || !strings.Contains(out, "new cases in") {
			t.Errorf("%s %s: failed: %v, after %v\n%s", explore, flag, failed, took, out)
		}
	}
	if out, failed := process(t, "draws", "soon"); !failed || !strings.Contains(out, Explore) {
		t.Errorf("failed: %v\n%s", failed, out)
	}
}

// The tests that try properties share the time, whichever function does it for
// them; those that are not run have none of it.
func TestPropertiesAreCounted(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"a_test.go": "package p\nfunc TestA(t *T) { propertytest.Check(t, nil) }\nfunc TestB(t *T) { check(t) }\nfunc TestC(t *T) { shared(t) }\nfunc TestD(t *T) {}",
		"b_test.go": "package p_test\nvar shared = check\nfunc check(t *T) { propertytest.CheckCases(t, 5, nil) }",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for run, want := range map[string]int{"": 3, "TestA$": 1, "TestD": 1, "A|B/x": 2} {
		if got := count(t, filepath.Join(folder, "*_test.go"), run); got != want {
			t.Errorf("-run %q: %d, want %d", run, got, want)
		}
	}
}
