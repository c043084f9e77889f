package suites_test

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/suites"
)

func TestEverySuiteLoadsWithoutAWarning(t *testing.T) {
	for _, suite := range suites.All() {
		document, faults := spec.LoadFS(suite.FS, suites.File, spec.Options{})
		if len(faults) > 0 {
			t.Errorf("%s: %v", suite.Name, faults)
			continue
		}
		if _, faults := document.CountTasks(); len(faults) > 0 {
			t.Errorf("%s: %v", suite.Name, faults)
		}
		expect.Equal(t, "the suite of the folder", document.Suite.Name, suite.Name)
		if faults := document.Programs(); len(faults) > 0 {
			t.Errorf("%s cannot run: %v", suite.Name, faults)
		}
		for _, model := range document.Suite.Models {
			if model.Value.Provider == "openai" {
				t.Errorf("%s needs a key: the model %s is a real one", suite.Name, model.Key)
			}
		}
	}
}

func TestEveryFolderIsListed(t *testing.T) {
	entries, err := os.ReadDir(".")
	expect.NoError(t, err)
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != "mappings" && !slices.Contains(suites.Names(), entry.Name()) {
			t.Errorf("the folder %s is not listed", entry.Name())
		}
	}
}

func TestEveryPatternShips(t *testing.T) {
	ships := map[string]bool{}
	for _, suite := range suites.All() {
		document, faults := spec.LoadFS(suite.FS, suites.File, spec.Options{})
		expect.NoError(t, faults.Err())
		for _, loop := range document.Loops() {
			ships[string(loop.Pattern)] = true
			ships["phases"] = ships["phases"] || len(loop.Phases) > 0
		}
	}
	for _, pattern := range []string{"confidence", "improvement", "checklist", "multi_strategy", "phases"} {
		if !ships[pattern] {
			t.Errorf("no suite shows %s", pattern)
		}
	}
}

// Whoever starts from a suite should find out from it what stands where.
func TestEveryYAMLFileStartsWithAComment(t *testing.T) {
	for _, suite := range suites.All() {
		files, err := fs.Glob(suite.FS, "*.yaml")
		expect.NoError(t, err)
		for _, name := range files {
			text, err := fs.ReadFile(suite.FS, name)
			expect.NoError(t, err)
			isData := !strings.Contains(string(text), "\nloop:") && !strings.Contains(string(text), "\nsuite:")
			if !isData && !strings.HasPrefix(string(text), "# ") {
				t.Errorf("%s/%s does not start with a comment", suite.Name, name)
			}
		}
	}
}
