package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Part is a result folder that holds some of a suite's shards.
type Part struct {
	Dir      string
	Manifest Manifest
}

// Merged is what Merge has made.
type Merged struct {
	Manifest Manifest
	// Dropped are what crashes left half written at the ends of files.
	Dropped []error
}

// Contradiction says that two folders hold one run with different content.
type Contradiction struct{ Run, One, Other, What string }

func (c *Contradiction) Error() string {
	return fmt.Sprintf("%s and %s contradict each other: %s of run %s", c.One, c.Other, c.What, c.Run)
}

// Merge joins the parts of a suite in a new folder, which appears whole or not at
// all. The caller has seen to it that the parts are of one spec and one deal, and
// hold different shards.
//
// Records, signals and scores are copied line by line, sorted by run, so that the
// result does not depend on the order of the parts, or on which were merged
// before. A run that several parts hold is kept once; where it differs in more
// than what is volatile, the error is a *Contradiction. Its scores are those of the
// part that was scored on from where the others stand; where there is no such part
// and not the same scores count in all, they contradict each other. Damage is an error that
// is a *Problem, except for a torn end of a part that is not complete. Memory
// grows with the number of runs, not with their trajectories.
func Merge(out string, parts []Part, options Options) (*Merged, error) {
	out = filepath.Clean(out)
	if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, fmt.Errorf("%w: %s", fs.ErrExist, out))
	}
	m := newMerger(parts)
	defer m.close()
	if err := m.read(); err != nil {
		return nil, err
	}
	if err := m.build(out, options); err != nil {
		return nil, err
	}
	return &Merged{m.manifest, m.dropped}, nil
}

// build makes the folder beside its place and moves it there.
func (m *merger) build(out string, options Options) error {
	beside := out + ".merging"
	if err := errors.Join(ours(beside), writing(os.MkdirAll(beside, 0o755))); err != nil {
		return err
	}
	home, err := lock(beside)
	if err != nil {
		return err
	}
	disk := options.Disk
	if disk == nil {
		disk = folder(beside)
	}
	if err = clearOut(beside); err == nil {
		err = m.write(disk, beside)
	}
	if err == nil {
		err = writing(os.Rename(beside, out))
	}
	if err != nil {
		return errors.Join(err, home.unlock(), os.RemoveAll(beside))
	}
	return errors.Join(writing(folder(filepath.Dir(out)).sync()), home.unlock())
}

// ours refuses a folder with anything that no merge leaves behind, which would
// be lost. The error is fs.ErrExist.
func ours(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.IsDir() {
		return &fs.PathError{Op: "merging", Path: dir, Err: fs.ErrExist}
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".tmp")
		if !e.Type().IsRegular() || !slices.Contains([]string{lockFile, recordsFile, signalsFile, scoresFile, ledgerFile, ledgerHead, manifestFile, manifestCopy}, name) {
			return &fs.PathError{Op: "merging", Path: filepath.Join(dir, e.Name()), Err: fs.ErrExist}
		}
	}
	return writing(err)
}

// clearOut removes what a crash left behind of an earlier merge.
func clearOut(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return writing(err)
	}
	for _, e := range entries {
		if e.Name() != lockFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return writing(err)
}

// write puts all files of the result down.
func (m *merger) write(disk Disk, dir string) error {
	steps := []struct {
		name  string
		write func(io.Writer) error
	}{{recordsFile, m.writeRecords}, {signalsFile, m.writeSignals}, {scoresFile, m.writeScores}}
	for _, s := range steps {
		if err := disk.Replace(s.name, s.write); err != nil {
			return writing(err)
		}
	}
	if err := m.join(); err != nil {
		return err
	}
	if m.spent.Kept {
		if err := m.writeLedger(dir); err != nil {
			return err
		}
	}
	text, err := encodeManifest(&m.manifest, nil)
	if err != nil {
		return err
	}
	return replaceManifest(disk, text)
}

// writeLedger begins a ledger with what those of all parts come to.
func (m *merger) writeLedger(dir string) error {
	ledger, err := OpenLedger(dir, &m.spent)
	if err != nil {
		return err
	}
	sealed := ledger.Sealed()
	m.manifest.Volatile.Ledger = &sealed
	return ledger.Close()
}

// join makes the manifest of all parts from theirs, after their runs were counted.
func (m *merger) join() error {
	all := m.parts[0].Manifest // that with the first shard, whatever the order
	v := &all.Volatile
	for i := range m.parts {
		part := &m.parts[i].Manifest
		if err := m.account(&m.parts[i]); err != nil {
			return err
		}
		if i == 0 {
			v.Shards, v.Effort = part.Volatile.Shards, part.Volatile.Effort
			continue
		}
		all.Mixed = slices.Concat(all.Mixed, part.Mixed)
		all.Scorers = joinedNames(all.Scorers, part.Scorers)
		v.Shards = v.Shards.Joined(part.Volatile.Shards)
		v.Effort = v.Effort.Plus(part.Volatile.Effort)
		v.Wall += part.Volatile.Wall
		if part.Volatile.Started.Before(v.Started) {
			v.Started = part.Volatile.Started
		}
		if part.Volatile.Finished.After(v.Finished) {
			v.Finished = part.Volatile.Finished
		}
	}
	slices.Sort(all.Mixed)
	all.Mixed = slices.Compact(all.Mixed)
	all.Tasks, all.Totals, all.Incomplete = v.Shards.Tasks, m.totals, v.Shards.Incomplete()
	all.Totals.Planned = all.Tasks * all.Trials * len(all.Configurations)
	all.Status = StateStopped
	if t := &all.Totals; v.Shards.Whole() && t.Runs()-t.Cancelled >= t.Planned {
		all.Status = StateComplete
	}
	m.manifest = all
	return nil
}

// joinedNames are the names of both, those of the first in front.
func joinedNames(first, second []string) []string {
	joined := slices.Clone(first)
	for _, name := range second {
		if !slices.Contains(joined, name) {
			joined = append(joined, name)
		}
	}
	return joined
}

// account sums up what a part spent, and what a session that was killed could
// not say.
func (m *merger) account(part *Part) error {
	spent, err := ReadLedger(part.Dir, &part.Manifest)
	if err != nil {
		return err
	}
	m.spent.join(spent)
	v := &part.Manifest.Volatile
	if part.Manifest.Status == StateRunning {
		if v.Effort, err = EffortOf(part.Dir); err != nil {
			return err
		}
	}
	if len(v.Shards.Held) == 1 && v.Shards.Held[0].Unfinished() {
		shards := *v.Shards
		shards.Held = slices.Clone(shards.Held)
		shards.Held[0].Done = m.done[part.Dir]
		v.Shards = &shards
	}
	return nil
}
