package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFeaturesNamesTestsOfEveryFeature: docs/features.md has one row for each
// feature, in their order, with tests that there are; one of them is named after
// the row.
func TestFeaturesNamesTestsOfEveryFeature(t *testing.T) {
	tests := testsByName(t)
	wanted := featureRows()
	for line := range strings.Lines(readDoc(t, "features.md")) {
		id, _, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if !isRow || !strings.HasPrefix(id, "S") {
			continue
		}
		if len(wanted) == 0 || id != wanted[0] {
			t.Fatalf("the row %q stands where %q should", id, wanted)
		}
		wanted = wanted[1:]
		provesFeature(t, id, line, tests)
	}
	if len(wanted) > 0 {
		t.Errorf("these rows are missing: %v", wanted)
	}
}

// provesFeature holds the tests of a row against those that there are.
func provesFeature(t *testing.T, id, line string, tests map[string]bool) {
	t.Helper()
	after := regexp.MustCompile(strings.ReplaceAll(id, ".", "_") + `(_|\.|$)`)
	named := false
	for _, found := range namedTest.FindAllStringSubmatch(line, -1) {
		if !tests[found[1]] {
			t.Errorf("%s: there is no test %s", id, found[1])
		}
		named = named || after.MatchString(found[1])
	}
	for _, found := range namedScript.FindAllStringSubmatch(line, -1) {
		if _, err := os.Stat(filepath.Join("../../../testdata", found[1])); err != nil {
			t.Errorf("%s: there is no script %s", id, found[1])
		}
		named = named || after.MatchString(found[1])
	}
	if !named {
		t.Errorf("%s has no test of its name: %s", id, line)
	}
}

// featureRows are the rows that have to be there.
func featureRows() []string {
	var rows []string
	for series, last := range []int{8, 15, 8, 6, 9} {
		for n := 1; n <= last; n++ {
			rows = append(rows, fmt.Sprintf("S%d.%d", series, n))
		}
	}
	return rows
}
