package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest   = regexp.MustCompile("`(\\w+\\.(?:Test|Fuzz)\\w+)`")
	namedScript = regexp.MustCompile("`((?:script|spec)/\\w+\\.txtar)`")
)

// TestFaultsNamesTestsOfEveryFault: docs/faults.md has a row for each promise
// and each fault that is not about what is still to be built, with tests that
// there are; none has two.
func TestFaultsNamesTestsOfEveryFault(t *testing.T) {
	text, err := os.ReadFile("../../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testsByName(t)
	for _, named := range namedTest.FindAllStringSubmatch(string(text), -1) {
		if !tests[named[1]] {
			t.Errorf("there is no test %s", named[1])
		}
	}
	for _, named := range namedScript.FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join("../../../testdata", named[1])); err != nil {
			t.Errorf("there is no script %s", named[1])
		}
	}
	for _, row := range faultRows() {
		at := regexp.MustCompile(`(?m)^\| `+row+` \|.*$`).FindAllString(string(text), -1)
		if len(at) != 1 || !namedTest.MatchString(at[0]) && !namedScript.MatchString(at[0]) {
			t.Errorf("%s has no test, or not one row: %q", row, at)
		}
	}
}

// faultRows are the rows that have to be there.
func faultRows() []string {
	rows := []string{"F9b"}
	for _, each := range []struct {
		letter      string
		first, last int
	}{{"P", 1, 22}, {"F", 1, 26}, {"F", 30, 45}, {"F", 50, 61}, {"F", 70, 78}, {"F", 80, 83}, {"F", 85, 85}} {
		for n := each.first; n <= each.last; n++ {
			rows = append(rows, fmt.Sprintf("%s%d", each.letter, n))
		}
	}
	return rows
}

// testsByName are all tests, each by its folder and its name.
func testsByName(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir("../../..", func(path string, entry os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
			tests[filepath.Base(filepath.Dir(path))+"."+found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
