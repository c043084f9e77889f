package imports_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/spec"
)

// mapping loads a mapping that ships.
func mapping(t testing.TB, name string) *spec.Import {
	t.Helper()
	d, faults := spec.Load(filepath.Join("../../suites/mappings", name+".yaml"), spec.Options{})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return d.Import
}

// read reads files, of which everything must be readable.
func read(t testing.TB, im *imports.Importer, files ...string) []*imports.Imported {
	t.Helper()
	var all []*imports.Imported
	for _, path := range files {
		f, err := os.Open(path)
		must(t, err)
		defer f.Close()
		for imported, err := range im.Read(filepath.Base(path), f) {
			must(t, err)
			all = append(all, imported)
		}
	}
	return all
}
