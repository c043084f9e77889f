package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

// attempt is a record that goes into a shard, with or without scores.
type attempt struct {
	run    *Run
	scores []Score
}

func attemptAt(number, iterations int, status Status) attempt {
	a := attempt{run: sampleRun(number, iterations)}
	if a.run.Outcome.Status = status; a.run.Outcome.Counts() {
		a.scores = sampleScores(a.run)
	}
	return a
}

// unsynced is a folder for tests of what it holds.
type unsynced string

type unsyncedFile struct{ *os.File }

func (unsyncedFile) Sync() error { return nil }

func (dir unsynced) Append(name string) (File, error) {
	f, err := os.OpenFile(filepath.Join(string(dir), name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return unsyncedFile{f}, err
}

func (dir unsynced) Replace(name string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(string(dir), name), text.Bytes(), 0o600)
}

func (dir unsynced) Truncate(string, int64) error { return errors.ErrUnsupported }

// shardFolder is the result folder of a shard, of which the wanted tasks are
// done.
func shardFolder(t fataler, dir string, number, of, tasks, whole int, attempts []attempt) {
	m := Manifest{
		Suite: "sample", Tasks: tasks, Trials: 1, Configurations: []ConfigurationHead{{Name: "default"}}, Scorers: []string{"exact"},
		Totals: Totals{Planned: tasks}, Status: StateComplete,
	}
	m.Volatile.Started, m.Volatile.Finished, m.Volatile.Wall = time.Unix(int64(1000-number), 0).UTC(), time.Unix(int64(2000+number), 0).UTC(), time.Second
	done := map[string]bool{}
	for _, a := range attempts {
		m.Volatile.Add(a.run)
		if delete(done, a.run.ID); a.run.Outcome.Status != Cancelled {
			done[a.run.ID] = true
		}
	}
	if len(done) < tasks {
		m.Status = StateStopped
	}
	m.Volatile.Shards = &Shards{Of: of, Partition: "d", Tasks: whole, Held: []Shard{{number, tasks, tasks, len(done), m.Status}}}
	m.Incomplete = m.Volatile.Shards.Incomplete()
	j, err := Create(dir, m, Options{Delay: soon, Disk: unsynced(dir)})
	must(t, err)
	for _, a := range attempts {
		must(t, j.Append(a.run, a.scores, nil))
	}
	must(t, j.Close())
}

func partsOf(t fataler, dirs ...string) (parts []Part) {
	for _, dir := range dirs {
		m, err := ReadManifest(dir)
		must(t, err)
		parts = append(parts, Part{dir, m})
	}
	return parts
}

func mergedInto(t fataler, out string, dirs ...string) *Manifest {
	merged, err := Merge(out, partsOf(t, dirs...), Options{Disk: unsynced(out + ".merging")})
	must(t, err)
	return merged
}

// contents are the files of a folder, the lock aside.
func contents(t fataler, dir string) map[string]string {
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if e.Name() != lockFile {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			must(t, err)
			all[e.Name()] = string(text)
		}
	}
	return all
}

func sortedLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(runIn(a), runIn(b)) })
	return strings.Join(lines, "")
}

func runIn(line string) string {
	_, rest, _ := strings.Cut(line, `"run":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

func drawAttempts(t *rapid.T, runs int) (all [][]attempt) {
	for n := range runs {
		var attempts []attempt
		for range rapid.IntRange(0, 2).Draw(t, "faults") {
			attempts = append(attempts, attemptAt(n, 1, Faulted))
		}
		status := rapid.SampledFrom([]Status{Completed, Completed, Failed, Cancelled}).Draw(t, "status")
		all = append(all, append(attempts, attemptAt(n, rapid.IntRange(1, 3).Draw(t, "iterations"), status)))
	}
	return all
}

// Whatever the split, the order and what was merged before, the result is that
// of a folder which holds all runs.
func TestMergeIsAssociativeAndKnowsNoOrder(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		home, err := os.MkdirTemp("", "merge")
		must(t, err)
		defer os.RemoveAll(home)
		runs := rapid.IntRange(3, 9).Draw(t, "runs")
		of := rapid.IntRange(2, 4).Draw(t, "of")
		shards, whole := make([][]attempt, of), []attempt{}
		tasks := make([]int, of)
		for _, attempts := range drawAttempts(t, runs) {
			s := rapid.IntRange(0, of-1).Draw(t, "shard")
			shards[s], whole = append(shards[s], attempts...), append(whole, attempts...)
			tasks[s]++
		}
		var dirs []string
		for i := range shards {
			dirs = append(dirs, filepath.Join(home, fmt.Sprint("s", i+1)))
			shardFolder(t, dirs[i], i+1, of, tasks[i], runs, shards[i])
		}
		all := filepath.Join(home, "whole")
		shardFolder(t, all, 1, 1, runs, runs, whole)

		mergedInto(t, filepath.Join(home, "at-once"), dirs...)
		order := rapid.Permutation(dirs).Draw(t, "order")
		cut := rapid.IntRange(1, of-1).Draw(t, "cut")
		mergedInto(t, filepath.Join(home, "some"), order[:cut]...)
		mergedInto(t, filepath.Join(home, "in-steps"), append(order[cut:], filepath.Join(home, "some"))...)

		got, want := contents(t, filepath.Join(home, "at-once")), contents(t, all)
		for name, text := range contents(t, filepath.Join(home, "in-steps")) {
			if text != got[name] {
				t.Fatalf("%s, merged in steps:\n%s\nat once:\n%s", name, text, got[name])
			}
		}
		for _, name := range fileNames {
			if got[name] != sortedLines(want[name]) {
				t.Fatalf("%s:\n%s\nwant:\n%s", name, got[name], sortedLines(want[name]))
			}
		}
		sameManifests(t, filepath.Join(home, "at-once"), all)
	})
}

// sameManifests compares a merged folder with one that was never dealt.
func sameManifests(t fataler, dir, whole string) {
	parts := partsOf(t, dir, whole)
	got, want := parts[0].Manifest, parts[1].Manifest
	if got.Volatile.Effort != want.Volatile.Effort || got.Volatile.Wall != time.Duration(got.Volatile.Shards.Of)*time.Second {
		t.Fatal(fmt.Sprintf("effort %+v, want %+v", got.Volatile, want.Volatile))
	}
	for s := range ReadLight(whole) {
		want.Totals.Add(s.Outcome.Status, s.Usage, s.Judging, s.User)
	}
	got.Volatile, want.Volatile = ManifestVolatile{}, ManifestVolatile{}
	got.Incomplete, want.Incomplete = "", ""
	text, _ := encodeManifest(&got, nil)
	wanted, _ := encodeManifest(&want, nil)
	if !bytes.Equal(text, wanted) {
		t.Fatal(fmt.Sprintf("the manifest is\n%s\nwant\n%s", text, wanted))
	}
}

func TestMergeRefusesARunThatTwoFoldersHold(t *testing.T) {
	home := t.TempDir()
	one, two, out := filepath.Join(home, "one"), filepath.Join(home, "two"), filepath.Join(home, "out")
	shardFolder(t, one, 1, 2, 1, 2, []attempt{attemptAt(1, 1, Completed)})
	shardFolder(t, two, 2, 2, 1, 2, []attempt{attemptAt(2, 1, Completed), attemptAt(1, 1, Completed)})
	_, err := Merge(out, partsOf(t, two, one), Options{})
	if want := (Overlap{"default/task-1/1", one, two}); err == nil || err.Error() != want.Error() {
		t.Errorf("the error is %v, want %v", err, &want)
	}
	if left, _ := filepath.Glob(out + "*"); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// Scores of a run whose record was lost are left out.
func TestMergeLeavesOutTheScoresOfLostRuns(t *testing.T) {
	home := t.TempDir()
	one, out := filepath.Join(home, "one"), filepath.Join(home, "out")
	shardFolder(t, one, 1, 1, 1, 1, []attempt{attemptAt(1, 1, Completed)})
	scoreMore(t, one, "default/lost/1", Score{Name: "exact", Value: 1})
	mergedInto(t, out, one)
	if scores := contents(t, out)[scoresFile]; strings.Count(scores, "\n") != 1 || strings.Contains(scores, "lost") {
		t.Errorf("the scores are\n%s", scores)
	}
}

// What one part alone was scored by, and runs that were mixed on purpose, are told in the manifest, in whichever shard.
func TestMergeJoinsScorersAndMixedSpecs(t *testing.T) {
	home := t.TempDir()
	one, two := filepath.Join(home, "one"), filepath.Join(home, "two")
	shardFolder(t, one, 1, 2, 1, 2, []attempt{attemptAt(1, 1, Completed)})
	shardFolder(t, two, 2, 2, 1, 2, []attempt{attemptAt(2, 1, Completed)})
	parts := partsOf(t, one, two)
	parts[1].Manifest.Scorers = []string{"late", "exact"}
	parts[0].Manifest.Mixed, parts[1].Manifest.Mixed = []string{"c", "b"}, []string{"a", "b"}
	merged, err := Merge(filepath.Join(home, "out"), parts, Options{})
	if err != nil || !slices.Equal(merged.Scorers, []string{"exact", "late"}) || !slices.Equal(merged.Mixed, []string{"a", "b", "c"}) {
		t.Errorf("%q, %q, %v", merged.Scorers, merged.Mixed, err)
	}
}

func TestMergeSumsWhatWasSpent(t *testing.T) {
	home := t.TempDir()
	one, two, out := filepath.Join(home, "one"), filepath.Join(home, "two"), filepath.Join(home, "out")
	shardFolder(t, one, 1, 2, 3, 4, []attempt{attemptAt(1, 1, Completed), attemptAt(2, 3, Completed), attemptAt(3, 1, Failed)})
	shardFolder(t, two, 2, 2, 1, 4, []attempt{attemptAt(4, 1, Completed)})
	for i, dir := range []string{one, two} {
		ledger := ledgerIn(t, dir)
		reserve(t, ledger, Usage{Calls: int64(10 + i)})
		must(t, ledger.Close())
	}
	mergedInto(t, out, one, two)
	if spent := balanceOf(t, out, &Manifest{}); spent.Doubt.Calls != 21 || spent.Spent().Total.Calls != 21 {
		t.Errorf("spent %+v", spent)
	}
}

func TestMergeNamesDamage(t *testing.T) {
	for _, c := range []struct {
		name, file string
		harm       func([]byte) []byte
		want       string // "": it is dropped
	}{
		{"in the middle", recordsFile, func(b []byte) []byte { b[30] ^= 1; return b }, "records.jsonl:1: the checksum does not fit"},
		{"in the scores", scoresFile, func(b []byte) []byte { b[30] ^= 1; return b }, "scores.jsonl:1: the checksum does not fit"},
		{"at the end", recordsFile, func(b []byte) []byte { return append(b, "half"...) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			one, out := filepath.Join(home, "one"), filepath.Join(home, "out")
			shardFolder(t, one, 1, 2, 2, 4, []attempt{attemptAt(1, 1, Completed)})
			writeFile(t, one, c.file, c.harm(readFile(t, one, c.file)))
			_, err := Merge(out, partsOf(t, one), Options{})
			_, made := os.Stat(out)
			switch {
			case c.want == "" && (err != nil || made != nil || !strings.HasSuffix(contents(t, out)[recordsFile], "}\n")):
				t.Errorf("%v, %v", err, made)
			case c.want != "" && (err == nil || err.Error() != filepath.Join(one, c.want) || made == nil):
				t.Errorf("the error is %v; made: %v", err, made)
			}
		})
	}
}

// On a disk that is full at whatever point, nothing appears; what a crash left
// beside is no hindrance.
func TestMergeAppearsWholeOrNotAtAll(t *testing.T) {
	home := t.TempDir()
	one, out := filepath.Join(home, "one"), filepath.Join(home, "out")
	shardFolder(t, one, 1, 1, 2, 2, []attempt{attemptAt(1, 1, Completed), attemptAt(2, 1, Completed)})
	beside := out + ".merging"
	for failAt := 1; ; failAt++ {
		disk := &faultyDisk{Disk: folder(beside), failAt: failAt}
		_, err := Merge(out, partsOf(t, one), Options{Disk: disk})
		if err == nil {
			if failAt < 4 {
				t.Errorf("it did only %v", disk.log)
			}
			break
		}
		if left, _ := filepath.Glob(out + "*"); len(left) > 0 {
			t.Fatalf("after %v it left %v", disk.log, left)
		}
		if err := errors.Join(os.MkdirAll(beside, 0o755), os.WriteFile(filepath.Join(beside, recordsFile+".tmp"), []byte("left"), 0o644)); err != nil { // by a crash
			t.Fatal(err)
		}
	}
	if files := contents(t, out); len(files) != 3 {
		t.Errorf("it made %d files", len(files))
	}
	if _, err := Merge(out, partsOf(t, one), Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("into what exists: %v", err)
	}
}

// A folder or link of somebody else's where a merge builds is left alone.
func TestMergeRemovesNothingOfOthers(t *testing.T) {
	home := t.TempDir()
	one, theirs := filepath.Join(home, "one"), filepath.Join(home, "theirs")
	shardFolder(t, one, 1, 1, 2, 2, []attempt{attemptAt(1, 1, Completed), attemptAt(2, 1, Completed)})
	must(t, errors.Join(os.Mkdir(theirs, 0o755), os.WriteFile(filepath.Join(theirs, "notes"), nil, 0o644)))
	for name, occupy := range map[string]func(beside string) error{
		"a folder": func(beside string) error { return os.CopyFS(beside, os.DirFS(theirs)) },
		"a link":   func(beside string) error { return os.Symlink(theirs, beside) },
		"a file":   func(beside string) error { return os.WriteFile(beside, nil, 0o644) },
		"a link in it": func(beside string) error {
			return errors.Join(os.Mkdir(beside, 0o755), os.Symlink(filepath.Join(theirs, "notes"), filepath.Join(beside, lockFile)))
		},
		"a folder in it": func(beside string) error { return os.MkdirAll(filepath.Join(beside, recordsFile), 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			if err := occupy(out + ".merging"); err != nil {
				t.Skip(err) // no links here
			}
			if _, err := Merge(out, partsOf(t, one), Options{}); !errors.Is(err, fs.ErrExist) {
				t.Errorf("%v", err)
			}
			if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) || len(contents(t, theirs)) != 1 {
				t.Errorf("it made %s, or removed %s: %v", out, theirs, err)
			}
		})
	}
}

// What a shard that was killed did is counted from its records.
func TestMergeOfAShardThatWasKilled(t *testing.T) {
	home := t.TempDir()
	one, two := filepath.Join(home, "one"), filepath.Join(home, "two")
	shardFolder(t, one, 1, 2, 3, 4, []attempt{attemptAt(1, 1, Faulted), attemptAt(2, 1, Completed), attemptAt(1, 1, Completed)})
	shardFolder(t, two, 2, 2, 1, 4, []attempt{attemptAt(4, 1, Completed)})
	parts := partsOf(t, one, two)
	killed := &parts[0].Manifest
	want := killed.Volatile.Effort
	killed.Status, killed.Volatile.Effort, killed.Volatile.Shards.Held[0] = StateRunning, Effort{}, Shard{1, 3, 3, 0, StateRunning}
	merged, err := Merge(filepath.Join(home, "out"), parts, Options{})
	must(t, err)
	m := merged
	if m.Incomplete != "shard 1 did 2 of 3 runs" || m.Status != StateStopped || m.Totals.Planned != 4 || m.Totals.Completed != 3 {
		t.Errorf("%q, %s, %+v", m.Incomplete, m.Status, m.Totals)
	}
	if got := m.Volatile.Effort; got != want.Plus(parts[1].Manifest.Volatile.Effort) {
		t.Errorf("the effort is %+v", got)
	}
}

// Long trajectories pass through: what merging takes does not grow with them.
func TestMergeHoldsNoTrajectories(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector allocates as well")
	}
	home := t.TempDir()
	one, out := filepath.Join(home, "one"), filepath.Join(home, "out")
	var attempts []attempt
	for n := range 24 {
		a := attemptAt(n, 1, Completed)
		a.run.Iterations[0].Thinking = strings.Repeat("x", 1<<20)
		attempts = append(attempts, a)
	}
	shardFolder(t, one, 1, 1, len(attempts), len(attempts), attempts)
	parts := partsOf(t, one)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Merge(out, parts, Options{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 8<<20 {
		t.Errorf("%d MiB were allocated for %d MiB of records", taken>>20, len(attempts))
	}
}

func TestWhatShardsLack(t *testing.T) {
	done := func(number int) Shard {
		return Shard{Number: number, Tasks: 10, Runs: 20, Done: 20, Status: StateComplete}
	}
	half := Shard{Number: 2, Tasks: 10, Runs: 20, Done: 7, Status: StateStopped}
	for _, c := range []struct {
		name    string
		shards  *Shards
		missing []int
		want    string
	}{
		{"a suite that was not dealt", nil, nil, ""},
		{"all", &Shards{Of: 2, Tasks: 20, Held: []Shard{done(1), done(2)}}, nil, ""},
		{"one", &Shards{Of: 3, Tasks: 30, Held: []Shard{done(2)}}, []int{1, 3}, "only shard 2 of 3, with 10 of 30 tasks"},
		{"two, one of them unfinished", &Shards{Of: 3, Tasks: 30, Held: []Shard{done(1), half}}, []int{3}, "only shards 1 and 2 of 3, with 20 of 30 tasks; shard 2 did 7 of 20 runs"},
		{"all, one of them unfinished", &Shards{Of: 2, Tasks: 20, Held: []Shard{done(1), half}}, nil, "shard 2 did 7 of 20 runs"},
	} {
		if got := c.shards.Incomplete(); got != c.want || c.shards.Whole() != (got == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if c.shards != nil && !slices.Equal(c.shards.Missing(), c.missing) {
			t.Errorf("%s: %v, want %v", c.name, c.shards.Missing(), c.missing)
		}
	}
}

func TestShardNumbers(t *testing.T) {
	for want, numbers := range map[string][]int{
		"shard 7": {7}, "shards 1 and 2": {1, 2}, "shards 1, 3 and 4": {1, 3, 4},
		"shards 1, 2, 3, 4, 5, 6, 7, 8 and 2 more": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
	} {
		if got := ShardNumbers(numbers); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestManifestsOfShardsThatCannotBeAreRefused(t *testing.T) {
	for name, shards := range map[string]Shards{
		"none": {Of: 2}, "twice": {Of: 2, Held: []Shard{{Number: 1}, {Number: 1}}}, "zero": {Of: 2, Held: []Shard{{}}},
		"beyond the last": {Of: 2, Held: []Shard{{Number: 3}}}, "too many": {Of: 1e9, Held: []Shard{{Number: 1}}},
	} {
		dir := t.TempDir()
		text, err := encodeManifest(&Manifest{Volatile: ManifestVolatile{Shards: &shards}}, nil)
		must(t, err)
		writeFile(t, dir, manifestFile, text)
		if _, err := ReadManifest(dir); err == nil || !strings.HasSuffix(err.Error(), "manifest.json: invalid shards") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
