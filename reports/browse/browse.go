// Package browse decides what a page to browse holds besides its tables: the runs of
// one or two result folders as columns, the texts of some of them, and the script that
// filters, sorts and shows them.
//
// The stages of the data, in order: Collect reads signals and scores into columns
// (columns.go), chooses the runs whose texts the page has (pick.go) and packs these in
// chunks (texts.go); Write puts everything into inert elements (pack.go), from which the
// script takes it (script/). docs/report.md describes the format.
//
// It is no stable API.
package browse

import (
	"fmt"
	"io"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Format is the version of the data. It changes where a script of this version could
// not read them.
const Format = "agentbench-page/1"

// Warned is the size from which on a page is large, in bytes.
const Warned = 10_000_000

// Side is a result folder or a baseline.
type Side struct {
	*record.Results
	Name          string // as the user named it
	Configuration string // the only one that is shown; "": all are
	// Document is the suite that the results were made of; nil: it is unknown.
	Document *spec.Document
}

// Sources are what a page is made of.
type Sources struct {
	Suite string
	Sides []Side // the base comes before the new side
	// Flips are the runs of the last side whose task's success changed: "lost" or "won", by their ids.
	Flips map[string]string
	// Disagree reports whether votes on the same question differ; nil: no run is marked as one of such votes.
	Disagree func([]record.Vote) bool
	// Workspaces opens the workspaces of a side's runs; nil: their diffs are those since the seed.
	Workspaces func(dir string) (Workspaces, error)
	// Redact removes secrets; nil: nothing is removed.
	Redact func([]byte) []byte
	// MostTexts bounds the texts, in bytes as they are written.
	MostTexts int
}

// MostTexts is the usual bound.
const MostTexts = 2_000_000

// Data is what a page holds, packed.
type Data struct {
	Runs      int // all of them
	WithTexts int
	chunks    []chunk
}

// Collect makes the data. Lines that cannot be read are left out: the report warns of them.
func (s *Sources) Collect() (*Data, error) {
	t, err := s.read()
	if err != nil {
		return nil, err
	}
	texts := textChunks{sources: s, table: t, changes: changes{s, map[int]Workspaces{}}}
	defer texts.changes.close()
	if err := texts.fill(t.picked()); err != nil {
		return nil, fmt.Errorf("reading the texts of runs: %w", err)
	}
	head, err := s.packed("runs", t.head(texts.in))
	if err != nil {
		return nil, err
	}
	return &Data{Runs: len(t.rows), WithTexts: texts.in, chunks: append([]chunk{head}, texts.chunks...)}, nil
}

func (s *Sources) read() (*table, error) {
	t := newTable(s)
	for side := range s.Sides {
		if err := t.read(side); err != nil {
			return nil, fmt.Errorf("reading the runs: %w", err)
		}
	}
	t.order()
	return t, nil
}

// Write writes the data as inert elements.
func (d *Data) Write(w io.Writer) error {
	for i := range d.chunks {
		if err := d.chunks[i].write(w); err != nil {
			return err
		}
	}
	return nil
}
