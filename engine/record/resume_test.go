package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// finish resumes a folder, appends the sample runs that are missing, scores the
// ones that lack scores, and closes it, as the engine does.
func finish(t *testing.T, dir string, runs int) *Recovered {
	t.Helper()
	j, found, err := Resume(dir, Options{Delay: soon})
	must(t, err)
	for _, id := range found.Unscored {
		must(t, j.AppendScores(id, []Score{{Name: "exact", Value: 1}}, nil))
	}
	for n := range runs {
		run := sampleRun(n, 1)
		if _, ok := found.Finished[run.ID]; ok {
			continue
		}
		must(t, j.Append(run, sampleScores(run), nil))
	}
	must(t, j.Close())
	return found
}

func emptyFolder(t *testing.T) string { return sampleFolder(t, 0) }

func TestF4_AFullDiskAtEveryCallLosesNothingAcknowledged(t *testing.T) {
	const runs = 3
	for failAt := 1; ; failAt++ {
		dir := t.TempDir()
		disk := &faultyDisk{Disk: folder(dir), failAt: failAt}
		acknowledged, err := appendUntilItFails(dir, disk, runs)
		if disk.calls < failAt {
			if err != nil || len(acknowledged) != runs || failAt < 15 {
				t.Fatalf("%d calls, %v", disk.calls, err)
			}
			return
		}
		if err == nil {
			t.Fatalf("call %d failed (%v) without a word", failAt, disk.log)
		}
		if _, err := ReadManifest(dir); errors.Is(err, os.ErrNotExist) {
			continue // nothing was there yet
		}
		found := finish(t, dir, runs)
		for _, id := range acknowledged {
			if _, ok := found.Finished[id]; !ok {
				t.Fatalf("call %d: the acknowledged run %s is lost", failAt, id)
			}
		}
		expectOnce(t, dir, runs)
	}
}

// appendUntilItFails appends one group for each run and returns the ids that
// were acknowledged.
func appendUntilItFails(dir string, disk Disk, runs int) (acknowledged []string, err error) {
	j, err := Create(dir, Manifest{}, Options{Delay: soon, Disk: disk})
	if err != nil {
		return nil, err
	}
	for n := range runs {
		run := sampleRun(n, 1)
		done := make(chan error, 1)
		if err := j.Append(run, sampleScores(run), func(err error) { done <- err }); err != nil {
			return acknowledged, errors.Join(err, j.Close())
		}
		if <-done == nil {
			acknowledged = append(acknowledged, run.ID)
		}
	}
	return acknowledged, j.Close()
}

func TestAfterAFailedWriteNothingIsWrittenAnyMore(t *testing.T) {
	dir := t.TempDir()
	disk := &faultyDisk{Disk: folder(dir)}
	j, err := Create(dir, Manifest{}, Options{Delay: soon, Disk: disk})
	must(t, err)
	disk.failAt = disk.calls + 1
	told := make(chan error, 1)
	must(t, j.Append(sampleRun(1, 1), nil, func(err error) { told <- err }))
	if err := <-told; !errors.Is(err, errFull) {
		t.Errorf("told %v", err)
	}
	calls := disk.calls
	for range 3 {
		err := j.Append(sampleRun(2, 1), nil, func(error) { t.Error("acknowledged") })
		if !errors.Is(err, errFull) {
			t.Errorf("append: %v", err)
		}
	}
	if err := j.Close(); !errors.Is(err, errFull) {
		t.Errorf("close: %v", err)
	}
	if disk.calls != calls {
		t.Errorf("it went on: %v", disk.log)
	}
}

func TestF2_AFolderThatIsCutIsResumed(t *testing.T) {
	const runs = 3
	source := emptyFolder(t)
	finish(t, source, runs)
	for _, name := range fileNames {
		whole := readFile(t, source, name)
		for cut := len(whole); cut >= 0; cut -= 67 * stride() {
			dir := t.TempDir()
			for _, copied := range append(fileNames[:], manifestFile) {
				writeFile(t, dir, copied, readFile(t, source, copied))
			}
			writeFile(t, dir, name, whole[:cut])
			found := finish(t, dir, runs)
			if name == recordsFile && len(found.Finished) != bytes.Count(whole[:cut], []byte{'\n'}) {
				t.Fatalf("%s cut to %d: %d finished", name, cut, len(found.Finished))
			}
			if !bytes.Equal(readFile(t, dir, recordsFile), readFile(t, source, recordsFile)) {
				t.Fatalf("%s cut to %d: other records", name, cut)
			}
		}
	}
}

func TestRunsThatDoNotCountAreToBeTriedAgain(t *testing.T) {
	dir := t.TempDir()
	j, err := Create(dir, Manifest{}, Options{})
	must(t, err)
	for n, status := range []Status{Completed, Failed, Faulted, Cancelled} {
		run := sampleRun(n, 1)
		run.Outcome.Status = status
		must(t, j.Append(run, sampleScores(run), nil))
	}
	must(t, j.Close())
	found := finish(t, dir, 4)
	if len(found.Finished) != 2 || len(found.Unscored) != 0 {
		t.Errorf("finished %v, unscored %v", found.Finished, found.Unscored)
	}
	expectOnce(t, dir, 4)
}

func TestF2_DamageIsAnErrorAndLeftAlone(t *testing.T) {
	dir := sampleFolder(t, 3)
	for _, c := range []struct {
		file     string
		at, line int // the byte, from the end where it is below 0
	}{{recordsFile, 20, 1}, {scoresFile, 20, 1}, {scoresFile, -1, 3}} {
		whole := readFile(t, dir, c.file)
		damaged := bytes.Clone(whole)
		damaged[(c.at+len(whole))%len(whole)] ^= 1
		writeFile(t, dir, c.file, damaged)
		_, _, err := Resume(dir, Options{})
		told := []error{err}
		if c.file == scoresFile {
			_, _, err = OpenScores(dir, Options{})
			told = append(told, err)
		}
		for _, err := range told {
			if damage := (*Damage)(nil); !errors.As(err, &damage) || damage.File != filepath.Join(dir, c.file) || damage.Line != c.line {
				t.Errorf("%s damaged at %d: %v", c.file, c.at, err)
			}
		}
		if !bytes.Equal(readFile(t, dir, c.file), damaged) {
			t.Errorf("%s was changed", c.file)
		}
		writeFile(t, dir, c.file, whole)
	}
}

func TestResumeTellsWhichRunsSomeScorerHasNotJudged(t *testing.T) {
	run := func(n int) string { return sampleRun(n, 1).ID }
	for name, test := range map[string]struct {
		scorers []string
		added   []Score // to the run 0
		want    []string
	}{
		"all have":            {[]string{"exact"}, nil, nil},
		"one came later":      {[]string{"exact", "late"}, []Score{{Name: "late"}}, []string{run(1)}},
		"one is unscored":     {[]string{"exact"}, []Score{{Name: "exact", Unscored: "x"}}, []string{run(0)}},
		"one was taken back":  {[]string{"exact"}, []Score{{Name: "exact", Removed: true}}, []string{run(0)}},
		"and made again":      {[]string{"exact"}, []Score{{Name: "exact", Removed: true}, {Name: "exact"}}, nil},
		"only an iteration":   {[]string{"exact", "late"}, []Score{{Name: "late", Iteration: 1}}, []string{run(0), run(1)}},
		"another took leave":  {[]string{"exact"}, []Score{{Name: "gone", Removed: true}}, nil},
		"there is no scorer":  {nil, nil, nil},
		"more than bits know": {append(slices.Repeat([]string{"none"}, 70), "exact"), nil, []string{run(0), run(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := sampleFolder(t, 2)
			if len(test.added) > 0 {
				scoreMore(t, dir, run(0), test.added...)
			}
			j, m, err := OpenScores(dir, Options{})
			must(t, err)
			m.Scorers = test.scorers
			must(t, errors.Join(j.WriteManifest(m), j.Close()))
			j, found, err := Resume(dir, Options{})
			must(t, err)
			must(t, j.Close())
			if !slices.Equal(found.Unscored, test.want) {
				t.Errorf("%q, want %q", found.Unscored, test.want)
			}
		})
	}
}

const crashFolder = "RECORD_TEST_CRASH_FOLDER"

// TestF1_KilledWriters starts itself as a process that appends runs and says
// which ones were acknowledged, and kills it.
func TestF1_KilledWriters(t *testing.T) {
	if dir := os.Getenv(crashFolder); dir != "" {
		appendForEver(dir)
	}
	dir := emptyFolder(t)
	var acknowledged []string
	for kill := range 4 {
		acknowledged = append(acknowledged, killedAfter(t, dir, 20+30*kill)...)
		if _, damage := collected(t, ReadRuns(dir)); damage != nil {
			t.Fatal(damage)
		}
	}
	signals, _ := collected(t, ReadLight(dir))
	there := ids(signals)
	slices.Sort(there)
	if len(slices.Compact(slices.Clone(there))) != len(there) {
		t.Error("runs are there twice")
	}
	for _, id := range acknowledged {
		if _, ok := slices.BinarySearch(there, id); !ok {
			t.Errorf("the acknowledged run %s is lost", id)
		}
	}
}

func killedAfter(t *testing.T, dir string, acknowledgements int) (ids []string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestF1_KilledWriters$")
	child.Env = append(os.Environ(), crashFolder+"="+dir)
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "done "); ok {
			ids = append(ids, id)
		}
		if len(ids) == acknowledgements {
			child.Process.Kill()
		}
	}
	child.Wait() // it was killed
	if len(ids) < acknowledgements {
		t.Fatalf("the writer ended after %v", ids)
	}
	return ids
}

func appendForEver(dir string) {
	j, found, err := Resume(dir, Options{Delay: soon})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for n := len(found.Finished); ; n++ {
		run := sampleRun(n, 1)
		err := j.Append(run, sampleScores(run), func(err error) {
			if err == nil {
				fmt.Println("done " + run.ID)
			}
		})
		if err != nil {
			os.Exit(1)
		}
	}
}

// What is written to the files of a folder that is gone is lost with them.
func TestAFolderThatIsRemovedEndsItsJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	j, err := Create(dir, Manifest{}, Options{})
	must(t, err)
	must(t, errors.Join(j.Append(sampleRun(0, 1), nil, nil), j.Flush()))
	must(t, os.RemoveAll(dir))
	err = errors.Join(j.Append(sampleRun(1, 1), nil, nil), j.Flush())
	if err == nil || !strings.Contains(err.Error(), "results was removed or renamed") {
		t.Errorf("%v", err)
	}
	_ = j.Close()
}
