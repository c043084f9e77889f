package record

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
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
	c := &compaction{disk: options.Disk, seed: maphash.MakeSeed()}
	if c.disk == nil {
		c.disk = folder(dir)
	}
	err = c.run(dir)
	return &c.Compacted, errors.Join(err, home.unlock())
}

// compaction is scores.jsonl while it is written anew.
type compaction struct {
	Compacted
	disk  Disk
	seed  maphash.Seed
	from  *os.File
	lines []scoreLine
	in    reader
}

// scoreLine is where a line stands, and whose it is.
type scoreLine struct {
	run uint64 // the hash of its id
	span
}

func (c *compaction) run(dir string) error {
	f, err := openFile(filepath.Join(dir, scoresFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the scores: %w", err)
	}
	defer f.Close()
	c.from = f
	if err := c.read(); err != nil {
		return err
	}
	return writing(c.disk.Replace(scoresFile, c.write))
}

// read finds the lines of each run and puts them beside each other, the runs in
// the order of their last lines.
func (c *compaction) read() error {
	last := map[uint64]int64{}
	for o, err := range scan(scoresFile, c.from, place{}) {
		id := ""
		if err == nil {
			id, _, err = scoresOf(&o, &c.in)
		}
		c.Before += o.bytes
		if bad := (*Problem)(nil); errors.As(err, &bad) {
			c.Before += bad.Bytes - o.bytes
			c.Damage = append(c.Damage, bad)
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the scores: %w", err)
		}
		run := maphash.String(c.seed, id)
		c.lines = append(c.lines, scoreLine{run, span{o.offset, o.bytes}})
		last[run] = o.offset
	}
	slices.SortFunc(c.lines, func(a, b scoreLine) int {
		return cmp.Or(cmp.Compare(last[a.run], last[b.run]), cmp.Compare(a.offset, b.offset))
	})
	return nil
}

func (c *compaction) write(to io.Writer) error {
	sameRun := func(a, b *scoreLine) bool { return a.run == b.run }
	var text []byte
	for of, rest := splitOff(c.lines, sameRun); len(of) > 0; of, rest = splitOff(rest, sameRun) {
		var err error
		if text, err = c.lineOf(emptied(text), of); err != nil {
			return err
		}
		c.After += int64(len(text))
		if _, err := to.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// lineOf is the one line of all lines of a run; none where nothing counts. Runs
// whose ids share a hash have a line each.
func (c *compaction) lineOf(text []byte, lines []scoreLine) ([]byte, error) {
	var runs []string
	all := map[string][]Score{}
	for i := range lines {
		run, scores, err := c.scores(lines[i].span)
		if err != nil {
			return nil, err
		}
		if _, known := all[run]; !known {
			runs = append(runs, run)
		}
		all[run] = append(all[run], scores...)
	}
	for _, run := range runs {
		standing := Standing(all[run])
		if len(standing) == 0 {
			continue
		}
		var err error
		if text, err = appendScores(text, run, standing); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func (c *compaction) scores(at span) (run string, scores []Score, err error) {
	line := make([]byte, at.bytes)
	if _, err := c.from.ReadAt(line, at.offset); err != nil {
		return "", nil, fmt.Errorf("reading the scores: %w", err)
	}
	object, err := unseal(line[:len(line)-1])
	if err != nil {
		return "", nil, fmt.Errorf("reading the scores: %w", err)
	}
	return c.in.readScores(object)
}

// Standing are the scores that count among those of one run, which come in the
// order in which they were made: of several by one scorer on the same thing the
// last one, unless it was taken back. They are in the order in which their things
// were first judged.
func Standing(scores []Score) []Score {
	type thing struct {
		name      string
		iteration int
	}
	at := make(map[thing]int, len(scores))
	var last []Score
	for _, s := range scores {
		key := thing{s.Name, s.Iteration}
		i, judged := at[key]
		if !judged {
			at[key], last = len(last), append(last, s)
			continue
		}
		last[i] = s
	}
	return slices.DeleteFunc(last, func(s Score) bool { return s.Removed })
}
