package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	exitAtOnce()
	testscript.Main(m, map[string]func(){"agentbench": main, "mcp-example": mcpExample, "filings-mcp": serveFilings, "bc": calculate})
}

// TestScripts runs what users type: testdata/script, a behaviour a file.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("COLUMNS", "100")
			e.Setenv("CI", "")
			return nil
		},
	})
}
