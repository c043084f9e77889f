package record

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// soon is a delay that tests do not notice.
const soon = time.Nanosecond

func TestARunIsAcknowledgedAfterItsSync(t *testing.T) {
	dir := t.TempDir()
	disk := &faultyDisk{Disk: folder(dir)}
	j, err := Create(dir, Manifest{}, Options{Disk: disk})
	must(t, err)
	disk.note("---")
	for n := range 2 {
		run := sampleRun(n, 1)
		must(t, j.Append(run, sampleScores(run), func(err error) { disk.note("done") }))
	}
	must(t, j.Close())
	want := []string{
		"---", "write records.jsonl", "sync records.jsonl", "write scores.jsonl", "sync scores.jsonl", "done", "done",
	}
	if at := slices.Index(disk.log, "---"); !reflect.DeepEqual(disk.log[at:], want) {
		t.Errorf("it did %v\nwant %v", disk.log[at:], want)
	}
}

// bigRun fills a group.
func bigRun() *Run {
	big := sampleRun(2, 1)
	big.Iterations[0].Thinking = strings.Repeat("x", fullGroup)
	return big
}

func TestAGroupWaits50MillisecondsUnlessItIsFull(t *testing.T) {
	for _, c := range []struct {
		name string
		runs []*Run
		want time.Duration
	}{
		{"one run", []*Run{sampleRun(1, 1)}, defaultDelay},
		{"a full group", []*Run{sampleRun(1, 1), bigRun()}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				j, err := Create(dir, Manifest{}, Options{Disk: nowhere{}})
				must(t, err)
				start, took := time.Now(), make(chan time.Duration, len(c.runs))
				for _, run := range c.runs {
					must(t, j.Append(run, nil, func(error) { took <- time.Since(start) }))
				}
				for range c.runs {
					if got := <-took; got != c.want {
						t.Errorf("acknowledged after %v instead of %v", got, c.want)
					}
				}
				if err := j.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// slow is a disk whose every sync takes that long.
type slow struct {
	nowhere
	sync time.Duration
}

func (s slow) Append(string) (File, error) { return s, nil }
func (s slow) Sync() error                 { time.Sleep(s.sync); return nil }

func TestAFullGroupDoesNotHurryTheNext(t *testing.T) {
	dir := t.TempDir()
	big := bigRun()
	synctest.Test(t, func(t *testing.T) {
		j, err := Create(dir, Manifest{}, Options{Disk: slow{sync: 10 * time.Millisecond}})
		must(t, err)
		first := make(chan struct{})
		j.Append(big, nil, func(error) { close(first) })
		time.Sleep(5 * time.Millisecond)
		j.Append(big, nil, nil) // full while the first is being synced, until 10 ms
		<-first
		synctest.Wait() // now the second is being synced, until 20 ms
		start, took := time.Now(), make(chan time.Duration, 1)
		j.Append(sampleRun(1, 1), nil, func(error) { took <- time.Since(start) })
		if got := <-took; got != defaultDelay+10*time.Millisecond {
			t.Errorf("acknowledged after %v", got)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}

// expectOnce expects the first so many sample runs, each once and with a score.
func expectOnce(t *testing.T, dir string, runs int) {
	t.Helper()
	signals, damage := collected(t, ReadLight(dir))
	scores, more := collected(t, ReadScores(dir))
	seen := map[string]int{}
	for _, s := range signals {
		seen[s.ID]++
	}
	for _, s := range scores {
		seen[s.Run] += 10
	}
	for n := range runs {
		if id := sampleRun(n, 1).ID; seen[id] != 11 {
			t.Errorf("run %s is there %d times, with %d scores", id, seen[id]%10, seen[id]/10)
		}
	}
	if len(seen) != runs || damage != nil || more != nil {
		t.Errorf("%d runs, %v %v", len(seen), damage, more)
	}
}

// A panic of who is told of a run ends the journal as an error of the disk does;
// the runtime would print it with its secrets. What was written is there.
func TestF8_APanicOfTheJournalIsItsError(t *testing.T) {
	dir := t.TempDir()
	j, err := Create(dir, Manifest{}, Options{Delay: soon})
	must(t, err)
	told, run := make(chan struct{}), sampleRun(0, 1)
	must(t, j.Append(run, sampleScores(run), func(error) { defer close(told); panic("no view") }))
	<-told
	if err := j.Close(); err == nil || !strings.HasPrefix(err.Error(), "panic: no view\n") {
		t.Errorf("Close returns %v", err)
	}
	expectOnce(t, dir, 1)
}

func TestNothingIsAppendedAfterClose(t *testing.T) {
	j, err := Create(t.TempDir(), Manifest{}, Options{})
	must(t, err)
	for range 2 {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
	called := false
	if err := j.Append(sampleRun(1, 1), nil, func(error) { called = true }); !errors.Is(err, ErrClosed) || called {
		t.Errorf("error %v, called %v", err, called)
	}
}

func TestF9_ASecondJournalIsRefused(t *testing.T) {
	dir := t.TempDir()
	j, err := Create(dir, Manifest{}, Options{})
	must(t, err)
	for name, open := range map[string]func() error{
		"create":  func() error { _, err := Create(dir, Manifest{}, Options{}); return err },
		"resume":  func() error { _, _, err := Resume(dir, Options{}); return err },
		"scores":  func() error { _, _, err := OpenScores(dir, Options{}); return err },
		"compact": func() error { _, err := CompactScores(dir, Options{}); return err },
		"repair":  func() error { _, err := Repair(dir, Options{}); return err },
	} {
		var busy *InUse
		if err := open(); !errors.As(err, &busy) || busy.PID != os.Getpid() || busy.Since.IsZero() {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, j.Close())
	again, _, err := Resume(dir, Options{})
	must(t, err)
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Create(dir, Manifest{}, Options{}); !errors.Is(err, ErrExists) {
		t.Errorf("created over results: %v", err)
	}
}

func TestAfterAFlushEverythingIsOnTheDisk(t *testing.T) {
	dir := t.TempDir()
	j, err := Create(dir, Manifest{}, Options{Delay: time.Hour})
	must(t, err)
	for n := range 5 {
		run := sampleRun(n, 1)
		must(t, errors.Join(j.Append(run, sampleScores(run), nil), j.Flush()))
		if runs, _ := collected(t, ReadRuns(dir)); len(runs) != n+1 {
			t.Fatalf("%d runs, want %d", len(runs), n+1)
		}
	}
	if err := errors.Join(j.Flush(), j.Close(), j.Flush()); err != nil {
		t.Error(err)
	}
}
