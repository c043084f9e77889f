// Package pagetest says what a page has to be in tests: the bytes of a golden file,
// and what its schema allows.
package pagetest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
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
		t.Errorf("%s differs (go test -update writes it anew): it is\n%s", path, got)
	}
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
