// Package spectest has loops and suites for tests: Loop and Document load them from their texts.
//
// It is no stable API.
package spectest

import (
	"testing/fstest"

	"github.com/agentbench/agentbench/spec"
)

// T is what ends a test: that of a test, a benchmark or a property.
type T interface {
	Helper()
	Fatal(...any)
}

// Must ends a test at an error.
func Must(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Document is one of some files, loaded with those that it names.
func Document(t T, name string, files map[string]string) *spec.Document {
	t.Helper()
	all := fstest.MapFS{}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	d, faults := spec.LoadFS(all, name, spec.Options{})
	Must(t, faults.Err())
	return d
}

// Loop is a loop, of which the name is not written.
func Loop(t T, text string) *spec.Loop {
	t.Helper()
	return Document(t, "l.yaml", map[string]string{"l.yaml": "loop: l\n" + text}).Loop
}
