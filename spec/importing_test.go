package spec

import (
	"os"
	"path/filepath"
	"testing"
)

// TestShippedMappingsAreFine also makes the loop of each.
func TestShippedMappingsAreFine(t *testing.T) {
	files, err := filepath.Glob("../suites/mappings/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		d, faults := Load(file, Options{Env: os.Getenv})
		if len(faults) > 0 {
			t.Errorf("%s:\n%s", file, printed(faults))
			continue
		}
		if _, err := d.Import.Loop("gpt-4"); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
