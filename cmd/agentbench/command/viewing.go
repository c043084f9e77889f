package command

import (
	"errors"
	"fmt"
	"html"
	"io"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/cmd/agentbench/view"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/browse"
	"github.com/agentbench/agentbench/reports/page"
)

// viewing is a page that is made again when its results change.
type viewing struct {
	*program
	args    []string
	flags   *againstFlags
	watched *results.Watched

	reading  *sync.Mutex // one page is made at a time
	shown    string      // the state of the results that document and sources are of
	document page.Page
	sources  *browse.Sources
}

// open makes the page, unless it is the one that was made last.
func (v *viewing) open() (err error) {
	now := v.watched.Stamp()
	if v.shown == now && v.document != nil {
		return nil
	}
	v.shown = now
	if v.document, v.sources, err = v.pageOf(v.args, v.flags); err != nil {
		v.document, v.sources = nil, nil // a part of a page is none
	}
	return err
}

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

func (v *viewing) Runs() ([]byte, error) {
	v.reading.Lock()
	defer v.reading.Unlock()
	if err := v.open(); err != nil {
		return (&browse.Sources{}).Head()
	}
	return v.sources.Head()
}

func (v *viewing) Texts(side int, run string) ([]byte, error) {
	v.reading.Lock()
	defer v.reading.Unlock()
	if err := v.open(); err != nil {
		return nil, err
	}
	text, err := v.sources.Texts(side, run)
	if errors.Is(err, browse.ErrNone) {
		err = view.ErrNone
	}
	return text, err
}

// state is how far the results have come: of two, the new ones.
func (v *viewing) state() view.State {
	status, parts := v.watched.State(v.now())
	return view.State{Results: v.watched.Stamp(), Status: string(status), Parts: parts}
}
