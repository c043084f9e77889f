package record

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
)

// Compacted is what CompactScores has done to scores.jsonl.
type Compacted struct {
	Before, After int64 // bytes
	// Damage are the bad lines that went.
	Damage []*Problem
}

// CompactScores writes scores.jsonl anew with the scores that count: of several
// by one scorer on the same thing the last one, unless it was taken back. Each run
// has one line, where its last one stood. A crash leaves the old file or the new
// one. Memory grows by 24 bytes a line.
func CompactScores(dir string, options Options) (*Compacted, error) {
	if _, err := ReadManifest(dir); err != nil {
		return nil, err
	}
	home, err := lock(dir)
	if err != nil {
		return nil, err
	}
	c := &Compacted{}
	err = c.compact(dir, newJournal(home, options).disk)
	return c, errors.Join(err, home.unlock())
}

func (c *Compacted) compact(dir string, disk Disk) error {
	f, err := openFile(filepath.Join(dir, scoresFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the scores: %w", err)
	}
	defer f.Close()
	lines, err := c.readLines(f)
	if err != nil {
		return err
	}
	return writing(disk.Replace(scoresFile, func(to io.Writer) error {
		sameRun := func(a, b *scoreLine) bool { return a.run == b.run }
		var text []byte
		for of, rest := splitOff(lines, sameRun); len(of) > 0; of, rest = splitOff(rest, sameRun) {
			if text, err = appendStanding(emptied(text), f, of); err != nil {
				return err
			}
			c.After += int64(len(text))
			if _, err := to.Write(text); err != nil {
				return err
			}
		}
		return nil
	}))
}

// readLines finds the lines of each run and puts them beside each other, the runs in
// the order of their last lines.
func (c *Compacted) readLines(f io.Reader) (lines []scoreLine, err error) {
	seed, last := maphash.MakeSeed(), map[uint64]int64{}
	for l, err := range walk(scoresFile, f, place{}, scoresOf) {
		if bad, is := errors.AsType[*Problem](err); is {
			c.Before += bad.Bytes
			c.Damage = append(c.Damage, bad)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the scores: %w", err)
		}
		c.Before += l.bytes
		run := maphash.String(seed, l.is.Run)
		lines = append(lines, scoreLine{run, RecordPlace{l.offset, l.bytes}})
		last[run] = l.offset
	}
	slices.SortFunc(lines, func(a, b scoreLine) int {
		return cmp.Or(cmp.Compare(last[a.run], last[b.run]), cmp.Compare(a.offset, b.offset))
	})
	return lines, nil
}

// appendStanding appends the one line of all lines of a run; none where nothing counts.
// Runs whose ids share a hash have a line each.
func appendStanding(text []byte, f io.ReaderAt, lines []scoreLine) ([]byte, error) {
	var runs []string
	all, snapshots := map[string][]Score{}, map[string][]Snapshot{}
	for _, l := range lines {
		object, err := objectAt(scoresFile, f, place{offset: l.offset}, l.bytes)
		if err != nil {
			return nil, err
		}
		line, err := readScores(object)
		if err != nil {
			return nil, err
		}
		if _, known := all[line.Run]; !known {
			runs = append(runs, line.Run)
		}
		all[line.Run] = append(all[line.Run], line.Scores...)
		snapshots[line.Run] = append(snapshots[line.Run], line.Snapshots...)
	}
	for _, run := range runs {
		if standing := Standing(all[run]); len(standing)+len(snapshots[run]) > 0 {
			var err error
			if text, err = appendScores(text, run, standing, StandingSnapshots(snapshots[run])); err != nil {
				return nil, err
			}
		}
	}
	return text, nil
}

// scoreLine is where a line stands, and whose it is.
type scoreLine struct {
	run uint64 // the hash of its id
	RecordPlace
}
