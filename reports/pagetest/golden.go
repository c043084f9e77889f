// Package pagetest decides what a page has to be in tests: the bytes of a golden file,
// and what its schema allows.
//
// It is no stable API.
package pagetest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/reports/page"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Golden holds a text against the file of that name in testdata.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew):\n%s", path, FirstDifference(got, string(want)))
	}
}

// FirstDifference is the first line in which two texts differ.
func FirstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d is\n%s\nnot\n%s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, not %d", len(g), len(w))
}

// Written is a page in a format.
func Written(t testing.TB, p page.Page, options page.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.Write(&out, p, options); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
