package command

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agentbench/agentbench/cmd/agentbench/view"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/browse"
	"github.com/agentbench/agentbench/reports/page"
)

// viewing is a page that is made again when its results change.
type viewing struct {
	*program
	args   []string
	flags  *pageFlags
	places []*results.Place

	reading  *sync.Mutex // one page is made at a time
	shown    string      // the state of the results that document and sources are of
	document page.Page
	sources  *browse.Sources

	looking sync.Mutex
	heads   []head
}

// head is the manifest's status, read when the file changed.
type head struct {
	stamp  string
	status record.State
}

// open makes the page, unless it is the one that was made last.
func (v *viewing) open() (err error) {
	now := v.stamp()
	if v.shown == now && v.document != nil {
		return nil
	}
	v.document, v.sources, err = v.pageOf(v.args, v.flags)
	v.shown = now
	return err
}

// Write implements [view.Source].
func (v *viewing) Write(w io.Writer) error {
	v.reading.Lock()
	defer v.reading.Unlock()
	script, err := browse.Script()
	if err != nil {
		return err
	}
	var document page.Page
	if err := v.open(); err != nil { // it may be no error once more runs are there
		document = &page.Sheet{Kind: "view", Head: page.Saying(strings.Join(v.args, " → ")), Said: page.Saying("Nothing can be shown now: " + page.Visible(err.Error())), List: []page.Table{{Name: "runs", Title: "Runs", Rows: func(func([]page.Cell) bool) {}}}}
		v.document = nil
	} else {
		document = v.document
	}
	from := func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "<script type=\"application/octet-stream\" data-from=\"data/\" data-results=\"%s\"></script>\n", html.EscapeString(v.shown))
		return err
	}
	hiding := v.secrets.Writer(w)
	return errors.Join(page.Write(hiding, document, page.Options{Format: "html", Live: &page.Live{Script: script, Style: browse.Style, Data: from, Served: true}}), hiding.Flush())
}

// Runs implements [view.Source].
func (v *viewing) Runs() ([]byte, error) {
	v.reading.Lock()
	defer v.reading.Unlock()
	if err := v.open(); err != nil {
		return (&browse.Sources{}).Head()
	}
	return v.sources.Head()
}

// Texts implements [view.Source].
func (v *viewing) Texts(side int, run string) ([]byte, error) {
	v.reading.Lock()
	defer v.reading.Unlock()
	if err := v.open(); err != nil {
		return nil, view.ErrNone
	}
	text, err := v.sources.Texts(side, run)
	if errors.Is(err, browse.ErrNone) {
		err = view.ErrNone
	}
	return text, err
}

// stamp changes when the results do.
func (v *viewing) stamp() string {
	sum := sha256.New()
	for _, at := range v.places {
		if at.Baseline() {
			fmt.Fprint(sum, stampOf(at.Path))
			continue
		}
		for _, name := range []string{"manifest.json", "records.jsonl", "signals.jsonl", "scores.jsonl"} {
			fmt.Fprint(sum, stampOf(filepath.Join(at.Path, name)))
		}
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:9])
}

// stampOf tells a file from what it was before.
func stampOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "-"
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano(), ";")
}

// state is how far the results have come: of two, the new ones.
func (v *viewing) state() view.State {
	v.looking.Lock()
	defer v.looking.Unlock()
	s := view.State{Results: v.stamp(), Status: string(record.StateComplete), Parts: []string{}}
	newest := len(v.places) - 1
	at := v.places[newest]
	if at.Baseline() {
		return s
	}
	if now := stampOf(filepath.Join(at.Path, "manifest.json")); v.heads[newest].stamp != now {
		m, err := record.ReadManifest(at.Path)
		v.heads[newest] = head{now, m.Status}
		if err != nil {
			v.heads[newest].status = record.StateFailed
		}
	}
	s.Status = string(v.heads[newest].status)
	if v.heads[newest].status == record.StateRunning {
		s.Parts = v.progress(at.Path)
	}
	return s
}

// quietTime is how long a command that makes runs may be silent before nobody is thought to make them.
const quietTime = 10 * time.Second

// progress is what the command says that makes the runs of a folder.
func (v *viewing) progress(dir string) (parts []string) {
	path := filepath.Join(dir, results.Progress)
	info, err := os.Stat(path)
	if err != nil {
		return []string{}
	}
	if v.now().Sub(info.ModTime()) > quietTime {
		return []string{"no progress since " + info.ModTime().Format(time.TimeOnly)}
	}
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &parts) != nil {
		return []string{}
	}
	return parts
}
