package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
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
// one. Memory grows with the number of lines, not with what they say.
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
	lines, err := c.linesOfRuns(dir)
	if err != nil || c.Before == 0 {
		return err
	}
	f, err := openFile(filepath.Join(dir, scoresFile))
	if err != nil {
		return fmt.Errorf("reading the scores: %w", err)
	}
	defer f.Close()
	end := func(run string) int64 { return lines[run][len(lines[run])-1].offset }
	runs := slices.SortedFunc(maps.Keys(lines), func(a, b string) int { return cmp.Compare(end(a), end(b)) })
	return writing(disk.Replace(scoresFile, func(to io.Writer) error {
		for _, run := range runs {
			line, err := standingLine(f, run, lines[run])
			if err != nil {
				return err
			}
			c.After += int64(len(line))
			if _, err := to.Write(line); err != nil {
				return err
			}
		}
		return nil
	}))
}

// linesOfRuns finds the lines of each run.
func (c *Compacted) linesOfRuns(dir string) (map[string][]RecordPlace, error) {
	lines := map[string][]RecordPlace{}
	for l, err := range fileLines(dir, scoresFile, scoresOf) {
		if bad, is := errors.AsType[*Problem](err); is {
			c.Before += bad.Bytes
			c.Damage = append(c.Damage, bad)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the scores: %w", err)
		}
		c.Before += l.bytes
		lines[l.is.Run] = append(lines[l.is.Run], RecordPlace{l.offset, l.bytes})
	}
	return lines, nil
}

// standingLine is the one line of all lines of a run; none where nothing counts.
func standingLine(f io.ReaderAt, run string, lines []RecordPlace) ([]byte, error) {
	var all scoresLine
	for _, at := range lines {
		object, err := objectAt(scoresFile, f, place{offset: at.offset}, at.bytes)
		if err != nil {
			return nil, err
		}
		line, err := readScores(object)
		if err != nil {
			return nil, err
		}
		all.Scores, all.Snapshots = append(all.Scores, line.Scores...), append(all.Snapshots, line.Snapshots...)
	}
	scores, snapshots := Standing(all.Scores), StandingSnapshots(all.Snapshots)
	if len(scores)+len(snapshots) == 0 {
		return nil, nil
	}
	return appendScores(nil, run, scores, snapshots)
}
