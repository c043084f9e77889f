package record

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// rewrite writes a file of a folder anew: in the place of each line, good or damaged, what keep gives for it, which may be nothing.
// A crash leaves the old file or the new one.
func rewrite[T any](disk Disk, path string, read func([]byte) (T, error), keep func(*line[T]) ([]byte, error)) error {
	f, err := openFile(path)
	if err != nil {
		return fmt.Errorf("reading the results: %w", err)
	}
	defer f.Close()
	return writing(disk.Replace(filepath.Base(path), func(to io.Writer) error {
		for l, err := range allLines(f, 1, read) {
			var text []byte
			if err == nil {
				text, err = keep(l)
			}
			if err == nil {
				_, err = to.Write(text)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// Compacted is what CompactScores has done to scores.jsonl.
type Compacted struct{ Before, After int64 } // bytes

// CompactScores writes scores.jsonl anew with the scores that count: of several
// by one scorer on the same thing the last one, unless it was taken back. The error may be a *[Damage].
// Memory grows with the number of scores, not with what they say.
func CompactScores(dir string, options Options) (*Compacted, error) {
	if _, err := ReadManifest(dir); err != nil {
		return nil, err
	}
	home, err := lock(dir)
	if err != nil {
		return nil, err
	}
	c := &Compacted{}
	err = c.compact(filepath.Join(dir, scoresFile), newJournal(home, options).disk)
	return c, errors.Join(err, home.unlock())
}

// judged is what a score or a snapshot is of.
type judged struct {
	run, of   string // the scorer, or the key of the snapshot's state
	iteration int
	snapshot  bool
}

func (s *Score) judged() judged    { return judged{s.Run, s.Name, s.Iteration, false} }
func (s *Snapshot) judged() judged { return judged{s.Run, s.Key, s.Iteration, true} }

func (c *Compacted) compact(path string, disk Disk) error {
	last := map[judged]int{} // the line of the one that counts
	for l, err := range fileLines(path, scoresOf) {
		if err != nil {
			return err
		}
		c.Before += l.bytes
		for i := range l.is.Scores {
			last[l.is.Scores[i].judged()] = l.line
		}
		for i := range l.is.Snapshots {
			last[l.is.Snapshots[i].judged()] = l.line
		}
	}
	if c.Before == 0 {
		return nil
	}
	return rewrite(disk, path, scoresOf, func(l *line[scoresLine]) ([]byte, error) {
		scores := slices.DeleteFunc(Standing(l.is.Scores), func(s Score) bool { return last[s.judged()] != l.line })
		snapshots := slices.DeleteFunc(StandingSnapshots(l.is.Snapshots), func(s Snapshot) bool { return last[s.judged()] != l.line })
		if l.damage != nil || len(scores)+len(snapshots) == 0 {
			return nil, nil
		}
		text, err := lineOfScores(l.is.Run, scores, snapshots)
		c.After += int64(len(text))
		return text, err
	})
}
