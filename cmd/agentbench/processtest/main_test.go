package processtest

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
)

func TestMain(m *testing.M) {
	exitAtOnce()
	if len(os.Args) > 1 && os.Args[1] == "forward" { // as a sandbox starts us
		os.Exit(command.Main())
	}
	testscript.Main(m, map[string]func(){"agentbench": func() { os.Exit(command.Main()) }})
}

// skipLong leaves a test to the part test of .ci/run: it takes long, or does one
// thing at a time, or the race detector would distort it.
func skipLong(t *testing.T) {
	t.Helper()
	if testing.Short() || raceEnabled {
		t.Skip("a long test; it runs without -short and the race detector")
	}
}
