package browse

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/trajectory"
)

const (
	// chunkSize is the length from which on a chunk of texts is closed, before it is packed.
	chunkSize = 128 << 10
	// mostOfARun is the length of a run's texts from which on they are left out.
	mostOfARun = 2 << 20
)

// textChunks are the texts of some runs, in chunks that are unpacked when one of their
// runs is opened.
type textChunks struct {
	sources *Sources
	table   *table
	changes changes
	chunks  []chunk
	in      int // runs whose texts are in chunks

	open  []json.RawMessage // the texts of the chunk that is not closed yet
	rows  []int             // of their runs
	long  int               // their length
	sized int               // the length of all chunks as they are written
	full  bool
}

// fill takes the texts of runs, in that order, until there is no more room.
func (c *textChunks) fill(picked []int) error {
	scores, err := c.scoresOf(picked)
	if err != nil {
		return err
	}
	records, err := c.openRecords()
	if err != nil {
		return err
	}
	defer func() {
		for _, r := range records {
			if r != nil {
				r.Close()
			}
		}
	}()
	for _, at := range picked {
		run, err := records[c.table.rows[at].side].Run(c.table.rows[at].id)
		if err != nil {
			continue // its line is damaged, and the page says that the texts are not here
		}
		if err := c.add(at, run, record.Standing(scores[at])); err != nil {
			return err
		}
		if c.full {
			return nil
		}
	}
	return c.close()
}

// openRecords opens those of each side; nil for a baseline.
func (c *textChunks) openRecords() (all []*record.Runs, err error) {
	for i := range c.sources.Sides {
		var runs *record.Runs
		if side := &c.sources.Sides[i]; !side.Baseline() {
			if runs, err = record.OpenRuns(side.Path); err != nil {
				return all, err
			}
		}
		all = append(all, runs)
	}
	return all, nil
}

// scoresOf are the scores of runs with all that they say.
func (c *textChunks) scoresOf(picked []int) (map[int][]record.Score, error) {
	of := make(map[int][]record.Score, len(picked))
	for _, at := range picked {
		of[at] = nil
	}
	for side := range c.sources.Sides {
		for s, err := range c.sources.Sides[side].Scores() {
			if err != nil {
				return nil, err
			}
			at, known := c.table.at[place{side, s.Run}]
			if _, wanted := of[at]; known && wanted {
				s.Votes = slices.Clone(s.Votes) // the reader uses its memory again
				of[at] = append(of[at], s)
			}
		}
	}
	return of, nil
}

func (c *textChunks) add(at int, run *record.Run, scores []record.Score) error {
	side := c.table.rows[at].side
	texts := trajectory.TextsOf(run, scores, c.changes.of(side, run))
	texts.Side = side
	text, err := json.Marshal(texts)
	if err != nil || len(text) > mostOfARun {
		return err
	}
	c.open, c.rows, c.long = append(c.open, text), append(c.rows, at), c.long+len(text)
	if c.long >= chunkSize {
		return c.close()
	}
	return nil
}

// close packs what is open, and leaves it out where there is no room for it.
func (c *textChunks) close() error {
	if len(c.open) == 0 {
		return nil
	}
	packed, err := c.sources.packed("texts-"+strconv.Itoa(len(c.chunks)), c.open)
	if err != nil {
		return err
	}
	if c.full = c.sized+len(packed.text) > c.sources.MostTexts; !c.full {
		for _, at := range c.rows {
			c.table.rows[at].chunk = int32(len(c.chunks))
		}
		c.in += len(c.rows)
		c.sized += len(packed.text)
		c.chunks = append(c.chunks, packed)
	}
	c.open, c.rows, c.long = nil, nil, 0
	return nil
}
