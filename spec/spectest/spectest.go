// Package spectest has loops and suites for tests: Loop and Document load them from their texts, Expr and Prompt compile parts of them.
//
// It is no stable API.
package spectest

import (
	"testing/fstest"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
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

// Expr is an expression of an environment.
func Expr(t T, env *expr.Env, text string, want expr.Want) *spec.Expr {
	t.Helper()
	program, faults := env.Compile(text, want)
	refuse(t, text, faults)
	return &spec.Expr{Text: text, Program: program}
}

// Prompt is a prompt of an environment.
func Prompt(t T, env *expr.Env, text string) *spec.Prompt {
	t.Helper()
	template, faults := env.Template(text)
	refuse(t, text, faults)
	return &spec.Prompt{Text: text, Template: template}
}

// refuse ends a test at a fault that is no warning.
func refuse(t T, text string, faults []expr.Fault) {
	t.Helper()
	for _, fault := range faults {
		if !fault.Warning {
			t.Fatal(text, ": ", fault.What)
		}
	}
}
