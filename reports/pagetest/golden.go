// Package pagetest decides what a page has to be in tests: the bytes of a golden file,
// and what its schema allows.
//
// It is no stable API.
package pagetest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/reports/page"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Golden holds a text against the file of that name in testdata.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew):\n%s", path, FirstDifference(got, string(want)))
	}
}

// FirstDifference is the first line in which two texts differ.
func FirstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d is\n%s\nnot\n%s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, not %d", len(g), len(w))
}

// Written is a page in a format.
func Written(t testing.TB, p page.Page, options page.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.Write(&out, p, options); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Answer is the answer of a page with its texts from outside as quote shows them.
type Answer struct {
	State page.State
	Text  string
	More  []string
}

// AnswerOf shows an answer.
func AnswerOf(a page.Answer, quote func(string) string) Answer {
	shown := Answer{State: a.State, Text: Quoted(a.Text, quote)}
	for _, more := range a.More {
		shown.More = append(shown.More, Quoted(more, quote))
	}
	return shown
}

func (a Answer) String() string { return strings.Join(append([]string{a.Text}, a.More...), "; ") }

// Quoted are words with their texts from outside as quote shows them.
func Quoted(w page.Words, quote func(string) string) string {
	begins, ends, _ := strings.Cut(page.Foreign("x"), "x")
	own, rest, found := strings.Cut(string(w), begins)
	if !found {
		return own
	}
	foreign, after, _ := strings.Cut(rest, ends)
	return own + quote(foreign) + Quoted(page.Words(after), quote)
}
