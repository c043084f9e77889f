package wiretest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Package is a package of npm: the folder in which it was installed, which an environment variable names, else one in which the test
// installs it. The test is skipped where there is neither.
type Package struct{ Name, Version, Variable string }

// Folder gives the folder with the package.
func (p Package) Folder(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed")
	}
	if dir := os.Getenv(p.Variable); dir != "" {
		return dir
	}
	if testing.Short() || p.Version == "" {
		t.Skipf("set %s to a folder with %s %s: .ci/run does", p.Variable, p.Name, p.Version)
	}
	dir := t.TempDir()
	npm := exec.CommandContext(t.Context(), "npm", "install", "--prefix", dir, "--no-save", "--ignore-scripts", p.Name+"@"+p.Version)
	if told, err := npm.CombinedOutput(); err != nil {
		t.Skipf("npm install: %v: %.300s; or set %s to a folder with %s %s", err, told, p.Variable, p.Name, p.Version)
	}
	return dir
}

// vendors has the script that asks a server with the vendors' clients for Node, the rules of that server, and what the clients make of it.
const vendors = "../mockserver/testdata/"

// VendorRules are the replies of a server for the script.
func VendorRules(t testing.TB) []byte {
	t.Helper()
	rules, err := os.ReadFile(vendors + "sdk.yaml")
	Must(t, err)
	return rules
}

// VendorFaults are those of a second server, one for each request of the script: statuses of whole answers, then streams that break.
var VendorFaults = []string{"at=1:400", "at=2:401", "at=3:403", "at=4:404", "at=5:429", "at=6:500", "at=7:529", "at=8:cut", "at=9:half-json"}

// Understood runs the script with a vendor's client, in the folder with it, at the addresses of both servers and with the keys for these.
// The client has to understand what it understands of the vendor. The models that were listed are given.
func Understood(t testing.TB, vendor, folder string, arguments ...string) (models any) {
	t.Helper()
	node := exec.CommandContext(t.Context(), "node", append([]string{vendors + "sdk.mjs", vendor, folder}, arguments...)...)
	var wrong strings.Builder
	node.Stderr = &wrong
	printed, err := node.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, wrong.String())
	}
	expected, err := os.ReadFile(filepath.Join(vendors, "sdk_"+vendor+".json"))
	Must(t, err)
	var got, want map[string]any
	Must(t, json.Unmarshal(printed, &got))
	Must(t, json.Unmarshal(expected, &want))
	for name := range want {
		if !reflect.DeepEqual(got[name], want[name]) {
			has, _ := json.Marshal(got[name]) // of JSON
			t.Errorf("%s:\n%s", name, has)
		}
	}
	if len(got) != len(want)+1 {
		t.Errorf("%d results, want %d and the models", len(got), len(want))
	}
	return got["models"]
}
