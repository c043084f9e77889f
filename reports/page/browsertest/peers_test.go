package browsertest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/agentbench/agentbench/reports/browse"
)

// What CI installs from npm, and tells in variables; without these the tests skip.
const (
	axeVersion    = "4.14.1"
	eslintVersion = "10.15.0"
)

// axe is the script of axe-core.
func axe(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("AGENTBENCH_AXE")
	if dir == "" {
		t.Skipf("no axe-core %s: CI_ONLY=\"download browser\" .ci/run installs it", axeVersion)
	}
	script, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// accessible reports what axe finds wrong with what is shown. The driver runs axe past the page's
// policy, as a browser's own tools do.
func (b *tab) accessible(axe, view string) {
	b.t.Helper()
	if value[string](b, "typeof globalThis.axe") == "undefined" {
		value[chromedp.Void](b, axe+"\n;undefined")
	}
	found := b.text(`axe.run(document, {resultTypes: ["violations"]}).then(({violations}) => JSON.stringify(violations.map(({id, impact, help, nodes}) =>
		({id, impact, help, nodes: nodes.slice(0, 3).map(({html, failureSummary}) => html.slice(0, 200) + " " + failureSummary)}))))`)
	var violations []any
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		b.t.Fatal(err)
	}
	for _, violation := range violations {
		b.t.Errorf("%s: %v", view, violation)
	}
}

func TestTheScriptIsLinted(t *testing.T) {
	dir := os.Getenv("AGENTBENCH_ESLINT")
	if dir == "" {
		t.Skipf("no eslint %s: CI_ONLY=\"download browser\" .ci/run installs it", eslintVersion)
	}
	script, err := browse.Script()
	if err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string]struct {
		text, finds string
	}{"script.js": {text: script}, "bad.js": {text: "document.body.innerHTML = unknown;", finds: "innerHTML"}} {
		said, err := linted(t, dir, name, wants.text)
		if wants.finds == "" && err != nil {
			t.Errorf("%v: %s", err, said)
		}
		if wants.finds != "" && (err == nil || !strings.Contains(said, wants.finds) || !strings.Contains(said, "no-undef")) {
			t.Errorf("eslint finds nothing in %s: %v: %s", name, err, said)
		}
	}
}

// linted is what eslint says of a script.
func linted(t *testing.T, eslint, name, script string) (string, error) {
	t.Helper()
	in := t.TempDir()
	config, err := os.ReadFile("eslint.config.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"eslint.config.mjs": config, name: []byte(script)} {
		if err := os.WriteFile(filepath.Join(in, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lint := exec.CommandContext(t.Context(), filepath.Join(eslint, "node_modules", ".bin", "eslint"), "--max-warnings", "0", name)
	lint.Dir = in
	said, err := lint.CombinedOutput()
	return fmt.Sprintf("%s", said), err
}
