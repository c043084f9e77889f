package command

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/external"
)

func TestMain(m *testing.M) {
	exitAtOnce()
	testscript.Main(m, map[string]func(){"agentbench": func() { os.Exit(Main()) }, "mcp-example": mcpExample, "filings-mcp": serveFilings, "bc": calculate, "reseal": reseal, "flip": flip})
}

// reseal makes the digest of a manifest that a script has changed.
func reseal() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	digits := text[bytes.LastIndex(text, []byte(`"sha256:`))+len(`"sha256:`):][:2*sha256.Size]
	copy(digits, bytes.Repeat([]byte("0"), len(digits)))
	sum := sha256.Sum256(text)
	hex.Encode(digits, sum[:])
	if err := os.WriteFile(os.Args[1], text, 0o644); err != nil {
		panic(err)
	}
}

// flip flips a bit of a file: flip FILE BYTE, where -1 is the last byte.
func flip() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	at, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	text[(at+len(text))%len(text)] ^= 1
	if err := os.WriteFile(os.Args[1], text, 0o644); err != nil {
		panic(err)
	}
}

// TestScripts runs what users type: testdata/script, a behaviour a file.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../../testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("COLUMNS", "100")
			e.Setenv("CI", "")
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "hidden" {
				return (&external.Confinement{}).Exposed() == "", nil
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
	})
}

func TestNamesAreListedOnce(t *testing.T) {
	if got := exit.Some([]string{"right", "right", "cost_usd", "right"}); got != "right, cost_usd" {
		t.Errorf("%q", got)
	}
	if got := exit.Some(strings.Split("a b c d e f g h i j a", " ")); got != "a, b, c, d, e, f, g, h and 2 more" {
		t.Errorf("%q", got)
	}
}
