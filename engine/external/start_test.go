package external

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/propertytest"
)

var must = propertytest.Must

func shell(script string) Program {
	return Program{Argv: []string{"sh", "-c", script}, Env: Environment(os.Getenv), Timeout: time.Minute}
}

// F39, P17: keys do not reach programs.
func TestEnvironment(t *testing.T) {
	full := map[string]string{"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "OPENAI_API_KEY": "k", "LD_PRELOAD": "x"}
	got := Environment(func(name string) string { return full[name] })
	if want := []string{"PATH=/bin", "HOME=/h", "LC_ALL=C"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	t.Setenv("OPENAI_API_KEY", "canary")
	p := Program{Argv: []string{"/usr/bin/env"}}
	done, err := p.Run(t.Context(), nil)
	if err != nil || strings.Contains(string(done.Stdout), "canary") {
		t.Errorf("a program without environment gets %s (%v)", done.Stdout, err)
	}
}

// A program is found where it would itself find programs.
func TestProgramsAreFoundInTheirOwnPath(t *testing.T) {
	folder := t.TempDir()
	script := []byte("#!/bin/sh\necho \"$0 $1\"\n")
	must(t, os.WriteFile(filepath.Join(folder, "ours"), script, 0o700))
	for path, found := range map[string]bool{"/nowhere:" + folder: true, "/nowhere": false, ".": false} {
		p := Program{Argv: []string{"ours", "here"}, Env: []string{"PATH=" + path}, Dir: folder}
		done, err := p.Run(t.Context(), nil)
		if found != (err == nil) || found && string(done.Stdout) != filepath.Join(folder, "ours")+" here\n" {
			t.Errorf("%s: %q, %v", path, done.Stdout, err)
		}
	}
}

// An error quotes the line in which a program says what was wrong, whatever follows it.
func TestTheLineWithTheErrorIsQuoted(t *testing.T) {
	for stderr, want := range map[string]string{
		"":                  "",
		"out of luck\n":     "out of luck",
		"loading\n  }\n}\n": "loading",
		"  }\n}\n":          "}",
		"x.js:3\n    throw e\n    ^\n\nTypeError: x is undefined\n    at f (x.js:3) {\n  code: 'E'\n}\n\nNode.js v22\n": "TypeError: x is undefined",
		"Traceback (most recent call last):\n  File \"x.py\", line 1\nKeyError: 'x'\n":                                  "KeyError: 'x'",
		"panic: no luck\n\ngoroutine 1 [running]:\nmain.main()\n\tx.go:3 +0x1\nexit status 2\n":                         "panic: no luck",
		"an error long ago\n" + strings.Repeat("working\n", 20) + "Killed\n":                                            "Killed",
	} {
		if got := errorLine(stderr); got != want {
			t.Errorf("%q: got %q, want %q", stderr, got, want)
		}
	}
}
