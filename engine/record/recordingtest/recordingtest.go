// Package recordingtest decides where tests find real agents' recorded runs, and
// what is known of them. They are not part of the product: a test that needs them
// is skipped where they are not.
package recordingtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Variable names the folder of the recordings; without it they are in
// ../shared/data beside the module.
const Variable = "AGENTBENCH_DATA"

// Folder is the absolute path of the recordings.
func Folder(t testing.TB) string {
	t.Helper()
	folder := os.Getenv(Variable)
	if folder == "" {
		folder = filepath.Join(filepath.Dir(module(t)), "shared", "data")
	}
	folder, err := filepath.Abs(folder)
	if err == nil {
		_, err = os.Stat(filepath.Join(folder, "expected.json"))
	}
	if err != nil {
		t.Skipf("no recordings: %v (%s names their folder)", err, Variable)
	}
	return folder
}

// module is the folder of go.mod above the test's.
func module(t testing.TB) string {
	t.Helper()
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		above := filepath.Dir(at)
		if above == at {
			t.Fatal("no go.mod stands above the test")
		}
		at = above
	}
}

// File is the path of a recording, as the folder's description names it.
func File(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(Folder(t), filepath.FromSlash(name))
}

// Read is the text of a recording.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(File(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Decode reads a recording that is one JSON value.
func Decode(t testing.TB, name string, into any) {
	t.Helper()
	if err := json.Unmarshal(Read(t, name), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// Expected is a part of the numbers that a correct product computes of the
// recordings.
func Expected(t testing.TB, key string, into any) {
	t.Helper()
	var parts map[string]json.RawMessage
	Decode(t, "expected.json", &parts)
	if parts[key] == nil {
		t.Fatalf("expected.json has no %q", key)
	}
	if err := json.Unmarshal(parts[key], into); err != nil {
		t.Fatalf("expected.json, %s: %v", key, err)
	}
}
