package command

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/engine/secret"
)

// What is no page yet is a page that says so, in the browser that follows it.
func TestViewOfResultsThatAreNoPageYet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p := &program{env: os.Getenv, in: strings.NewReader(""), out: io.Discard, err: io.Discard, now: time.Now, secrets: secret.New()}
	v := &viewing{program: p, args: []string{dir}, flags: &againstFlags{}, watched: &results.Watched{Places: []*results.Place{{Text: dir, Results: &record.Results{Path: dir}}}}, reading: &sync.Mutex{}}
	var page bytes.Buffer
	if err := v.Write(&page); err != nil || !strings.Contains(page.String(), "Nothing can be shown now") {
		t.Errorf("%v: %.300s", err, page.String())
	}
}

// viewingQuickstart views new results of the quickstart.
func viewingQuickstart(t *testing.T) *viewing {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	typed(t, 0, nil, "run", "quickstart", "-q", "--out", dir)
	p := &program{env: os.Getenv, in: strings.NewReader(""), out: io.Discard, err: io.Discard, now: time.Now, secrets: secret.New()}
	at, err := p.openPlace(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	return &viewing{program: p, args: []string{dir}, flags: &againstFlags{}, watched: &results.Watched{Places: []*results.Place{at}}, reading: &sync.Mutex{}}
}

// An error of the flags is shown at each load, and never a part of the page in its place.
func TestViewSaysAnErrorEachTime(t *testing.T) {
	v := viewingQuickstart(t)
	v.flags.margins = []string{"typo=0.1"}
	for range 2 {
		var page bytes.Buffer
		if err := v.Write(&page); err != nil || !strings.Contains(page.String(), "Nothing can be shown now") {
			t.Errorf("%v: %.300s", err, page.String())
		}
		if _, err := v.Runs(); err != nil {
			t.Error(err)
		}
	}
}

// Results that are damaged while they are followed: the damage is named, and all of them are shown once they are whole again.
func TestViewOfResultsThatAreDamaged(t *testing.T) {
	v := viewingQuickstart(t)
	dir := v.args[0]
	garbage := func(was []byte) []byte { return append(bytes.Clone(was), "garbage\n"...) }
	cut := func(was []byte) []byte { return was[:len(was)*2/3] }
	whole := func(was []byte) []byte { return was }
	const all, none = "1080 runs", "Nothing can be shown now: "
	for _, c := range []struct {
		name   string
		damage func([]byte) []byte // nil: the file is removed
		says   []string
		texts  string // the error of texts
		status string
	}{
		{"records.jsonl", garbage, []string{none, "records.jsonl:1081: no checksum"}, "records.jsonl:1081: ", "complete"},
		{"records.jsonl", cut, []string{"of 360 runs are missing"}, "", "complete"},
		{"records.jsonl", nil, []string{none, "no such file"}, "records.jsonl: ", "complete"},
		{"scores.jsonl", cut, []string{all, "of 360 runs have no score by right yet"}, "", "complete"},
		{"scores.jsonl", nil, []string{all, "360 of 360 runs have no score by right yet"}, "", "complete"},
		{"manifest.json", cut, []string{none, "manifest.json: the checksum does not fit"}, "the checksum does not fit", "failed"},
		{"manifest.json", nil, []string{none, "manifest.json: it is missing"}, "manifest.json: it is missing", "failed"},
		{"manifest.json", whole, []string{all, "baseline single-pass"}, "", "complete"},
	} {
		path := filepath.Join(dir, c.name)
		was, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before := v.state().Results
		if c.damage == nil {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, c.damage(was), 0o644)
		}
		var page bytes.Buffer
		if err = errors.Join(err, v.Write(&page)); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.says {
			if !strings.Contains(page.String(), want) {
				t.Errorf("%s: the page does not say %q: %.600s", c.name, want, page.String()[strings.Index(page.String(), "<h1>"):])
			}
		}
		said := ""
		if _, err := v.Texts(0, "default/problem-001/1"); err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, c.texts) || (said == "") != (c.texts == "") {
			t.Errorf("%s: the texts of a run: %q", c.name, said)
		}
		if _, err := v.Runs(); err != nil {
			t.Errorf("%s: the runs: %v", c.name, err)
		}
		if s := v.state(); s.Status != c.status || s.Results == before {
			t.Errorf("%s: the state is %+v, before it was %s", c.name, s, before)
		}
		if err := os.WriteFile(path, was, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A browser that is not found, or does not start, leaves no folder; one that starts finds its file until the end.
func TestNoBrowserLeavesNoFolder(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	left := func() int {
		all, err := os.ReadDir(temporary)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	for _, c := range []struct {
		name, browser, says string
		folders             int
	}{
		{"none", "", "no browser was found", 0},
		{"one that is not there", filepath.Join(temporary, "no-such-browser"), "the browser does not start", 0},
		{"one", os.Args[0] + " -test.run=^$", "", 1},
	} {
		var errs bytes.Buffer
		env := func(name string) string { return map[string]string{"BROWSER": c.browser}[name] }
		p := &program{env: env, err: &errs}
		if c.browser == "" && p.browser() != nil {
			continue // this system always has one
		}
		remove := p.openBrowser("http://127.0.0.1:1/?token=secret")
		if n := left(); n != c.folders || !strings.Contains(errs.String(), c.says) || (c.says == "") != (errs.Len() == 0) {
			t.Errorf("%s: %d folders are there: %s", c.name, n, errs.String())
		}
		if remove(); left() > 0 {
			t.Errorf("%s: a folder is left", c.name)
		}
	}
}
