package record

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// flipped is a sample folder of five runs with one bit of a file flipped. It
// also returns the file's whole lines.
func flipped(t *testing.T, name string, at func(lines [][]byte) int) (dir string, lines [][]byte) {
	t.Helper()
	dir = sampleFolder(t, 5)
	text := readFile(t, dir, name)
	lines = bytes.SplitAfter(bytes.Clone(text), []byte{'\n'})
	text[at(lines)] ^= 1
	writeFile(t, dir, name, text)
	return dir, lines
}

// within is the 20th byte of the n-th line, from 0.
func within(n int) func([][]byte) int {
	return func(lines [][]byte) int { return len(bytes.Join(lines[:n], nil)) + 20 }
}

// behind is the line feed of the n-th line.
func behind(n int) func([][]byte) int {
	return func(lines [][]byte) int { return len(bytes.Join(lines[:n+1], nil)) - 1 }
}

func TestF2_RepairKeepsEveryGoodRecordAndMovesTheOthers(t *testing.T) {
	for name, c := range map[string]struct {
		at   func([][]byte) int
		lost []string
	}{
		"the first":            {within(0), []string{"default/task-0/1"}},
		"in the middle":        {within(2), []string{"default/task-2/1"}},
		"the last":             {within(4), []string{"default/task-4/1"}},
		"two that have merged": {behind(1), []string{"default/task-1/1", "default/task-2/1"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, lines := flipped(t, recordsFile, c.at)
			r, err := Repair(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Kept != 5-len(c.lost) || !reflect.DeepEqual(r.Lost, c.lost) || r.Moved != 1 || r.Unscored != len(c.lost) {
				t.Errorf("repaired %+v", r)
			}
			left := string(readFile(t, dir, recordsFile))
			for n, line := range lines[:5] {
				lost := bytes.Contains([]byte(strings.Join(c.lost, " ")), []byte(sampleRun(n, 1).ID))
				if strings.Contains(left, string(line)) == lost {
					t.Errorf("line %d: lost %v", n, lost)
				}
			}
			moved := readFile(t, dir, damagedFile)
			if size := len(bytes.Join(lines, nil)); len(moved) != size-len(left)+1 {
				t.Errorf("%d bytes of %d were moved", len(moved), size-len(left))
			}
			found := finish(t, dir, 5)
			if len(found.Problems) > 0 || found.Rebuilt > 0 {
				t.Errorf("found %+v", found)
			}
			expectOnce(t, dir, 5)
		})
	}
}

func TestF2_RepairDropsBadScoresAndMakesBadSignalsAgain(t *testing.T) {
	for _, name := range []string{scoresFile, signalsFile} {
		dir, _ := flipped(t, name, within(1))
		records := readFile(t, dir, recordsFile)
		r, err := Repair(dir, Options{})
		if err != nil || r.Kept != 5 || len(r.Lost) > 0 || len(r.Damage) != 1 || r.Whole() {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		if !bytes.Equal(readFile(t, dir, recordsFile), records) {
			t.Error("the records were changed")
		}
		if found := finish(t, dir, 5); len(found.Problems) > 0 || (len(found.Unscored) == 1) != (name == scoresFile) {
			t.Errorf("%s: found %+v", name, found)
		}
		expectOnce(t, dir, 5)
	}
}

// spoiled are signals of which whole lines are missing or there twice.
type spoiled struct {
	text   []byte
	line   int // the first that is not of its record; 0: none is told, a crash leaves as much
	missed int // the records that no line is of
}

// spoiledSignals are those of seven runs, of which the records 0, 3 and 6 are of the
// same length.
func spoiledSignals(lines [][]byte) map[string]spoiled {
	without := func(from, to int) []byte { return bytes.Join(slices.Delete(slices.Clone(lines), from, to), nil) }
	return map[string]spoiled{
		"without the first":  {without(0, 1), 1, 1},
		"without the second": {without(1, 2), 2, 1},
		"without two":        {without(2, 4), 3, 2},
		"all but the last":   {without(0, 6), 1, 6},
		"without the last":   {without(6, 7), 0, 1},
		"without any":        {nil, 0, 7},
		"one twice":          {bytes.Join(slices.Insert(slices.Clone(lines), 3, lines[2]), nil), 4, 0},
	}
}

func TestF2_SignalsThatLackLinesAreToldAndMadeAgain(t *testing.T) {
	dir := sampleFolder(t, 7)
	whole := readFile(t, dir, signalsFile)
	want, _ := collected(t, ReadSignals(dir))
	for name, c := range spoiledSignals(slices.Collect(bytes.Lines(whole))) {
		t.Run(name, func(t *testing.T) {
			if bytes.Equal(c.text, whole) {
				t.Fatal("nothing is spoiled")
			}
			told := func(problems []*Problem) bool {
				if c.line == 0 {
					return len(problems) == 0
				}
				return len(problems) == 1 && problems[0].File == signalsFile && problems[0].Line == c.line && problems[0].Bytes > 0
			}
			spoil := func() { writeFile(t, dir, signalsFile, c.text) }
			spoil()
			if got, problems := collected(t, ReadSignals(dir)); !reflect.DeepEqual(got, want) || !told(problems) {
				t.Errorf("read %v, %v", ids(got), problems)
			}
			for n := range 7 {
				if run, err := Find(dir, sampleRun(n, 1).ID); err != nil || run.ID != sampleRun(n, 1).ID {
					t.Errorf("run %d: %v, %v", n, run, err)
				}
			}
			if r, err := Inspect(dir); err != nil || r.Whole() || r.Unsignalled != c.missed || r.Disordered != (c.missed == 0) {
				t.Errorf("inspected %+v, %v", r, err)
			}
			if found := finish(t, dir, 7); !told(found.Problems) || !bytes.Equal(readFile(t, dir, signalsFile), whole) {
				t.Errorf("resumed %+v", found)
			}
			spoil()
			if r, err := Repair(dir, Options{}); err != nil || r.Unsignalled != c.missed || r.Kept != 7 || r.Moved > 0 {
				t.Errorf("repaired %+v, %v", r, err)
			}
			if !bytes.Equal(readFile(t, dir, signalsFile), whole) {
				t.Error("the signals are not as they were")
			}
			if r, err := Inspect(dir); err != nil || !r.Whole() {
				t.Errorf("after the repair %+v, %v", r, err)
			}
		})
	}
}

// Where the last record is damaged, its signals are whole all the same.
func TestSignalsOfADamagedRecordStayInTheirPlaces(t *testing.T) {
	for n := range 5 {
		dir, _ := flipped(t, recordsFile, within(n))
		if got, problems := collected(t, ReadSignals(dir)); len(got) != 5 || len(problems) > 0 {
			t.Errorf("record %d: %v, %v", n, ids(got), problems)
		}
	}
}

func TestF2_ATornEndIsDamageToo(t *testing.T) {
	dir := sampleFolder(t, 3)
	text := readFile(t, dir, recordsFile)
	writeFile(t, dir, recordsFile, text[:len(text)-10])
	r, err := Repair(dir, Options{})
	if err != nil || r.Kept != 2 || !reflect.DeepEqual(r.Lost, []string{"default/task-2/1"}) {
		t.Fatalf("%+v, %v", r, err)
	}
	if again, err := Inspect(dir); err != nil || !again.Whole() || again.Kept != 2 {
		t.Errorf("afterwards %+v, %v", again, err)
	}
}

func TestAWholeFolderIsLeftAlone(t *testing.T) {
	dir := sampleFolder(t, 3)
	before := filesOf(t, dir)
	disk := &faultyDisk{Disk: folder(dir)}
	if r, err := Repair(dir, Options{Disk: disk}); err != nil || !r.Whole() || r.Kept != 3 || disk.calls > 0 {
		t.Fatalf("%+v, %v, %v", r, err, disk.log)
	}
	if !reflect.DeepEqual(filesOf(t, dir), before) {
		t.Error("files were changed")
	}
}

func TestInspectFindsTheSameAndChangesNothing(t *testing.T) {
	dir, _ := flipped(t, recordsFile, within(3))
	before := filesOf(t, dir)
	seen, err := Inspect(dir)
	if err != nil || !reflect.DeepEqual(filesOf(t, dir), before) {
		t.Fatalf("%v", err)
	}
	done, err := Repair(dir, Options{})
	if err != nil || !reflect.DeepEqual(seen, done) {
		t.Errorf("inspected %+v, repaired %+v, %v", seen, done, err)
	}
}

// filesOf are the contents of all files but the lock.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		if e.Name() != lockFile {
			files[e.Name()] = string(readFile(t, dir, e.Name()))
		}
	}
	return files
}

func TestF4_ARepairThatFailsAtAnyCallCanBeDoneAgain(t *testing.T) {
	for failAt := 1; ; failAt++ {
		dir, lines := flipped(t, recordsFile, within(2))
		disk := &faultyDisk{Disk: folder(dir), failAt: failAt}
		_, err := Repair(dir, Options{Disk: disk})
		if disk.calls < failAt {
			if err != nil || failAt < 8 {
				t.Fatalf("%d calls, %v", disk.calls, err)
			}
			return
		}
		if err == nil {
			t.Fatalf("call %d failed (%v) without a word", failAt, disk.log)
		}
		if _, err := Repair(dir, Options{}); err != nil {
			t.Fatalf("call %d: %v", failAt, err)
		}
		if want := bytes.Join([][]byte{lines[0], lines[1], lines[3], lines[4]}, nil); !bytes.Equal(readFile(t, dir, recordsFile), want) {
			t.Fatalf("call %d: records are lost", failAt)
		}
		finish(t, dir, 5)
		expectOnce(t, dir, 5)
	}
}

func TestRepairRefusesWhatItCannotKnow(t *testing.T) {
	if _, err := Repair(t.TempDir(), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	dir := sampleFolder(t, 2)
	if err := os.Remove(filepath.Join(dir, recordsFile)); err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, dir)
	if _, err := Repair(dir, Options{}); err == nil || !reflect.DeepEqual(filesOf(t, dir), before) {
		t.Error(err)
	}
	j, _, err := Resume(sampleFolder(t, 1), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var busy *InUse
	if _, err := Repair(j.folder.dir, Options{}); !errors.As(err, &busy) {
		t.Error(err)
	}
}

// Signals that are whole hide that the records behind them are not.
func TestDamageIsFoundWhereSignalsAreWhole(t *testing.T) {
	dir := t.TempDir()
	j, err := Create(dir, Manifest{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		if err := j.Append(sampleRun(n, 1), nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if found, _, err := Damage(dir, 0); len(found) != 0 || err != nil {
		t.Errorf("whole records: %v, %v", found, err)
	}
	path := filepath.Join(dir, recordsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	text[len(text)-3] ^= 1
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, err := range ReadSignals(dir) {
		if err != nil {
			t.Errorf("the signals tell of %v", err)
		}
	}
	found, _, err := Damage(dir, 0)
	if err != nil || len(found) != 2 || found[0].Line != 3 || found[0].Torn || found[1].Line != 5 {
		t.Errorf("found %v, %v", found, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if found, _, err := Damage(dir, 0); len(found) != 0 || err != nil {
		t.Errorf("no records: %v, %v", found, err)
	}
}

// Of large records only parts are read, unless one of them is bad: then all
// damage is told, as if all had been read at once.
func TestLargeRecordsAreLookedAtInPlaces(t *testing.T) {
	dir := sampleFolder(t, 3000)
	path := filepath.Join(dir, recordsFile)
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	most := int64(len(sound) / 10)
	for _, c := range []struct {
		name  string
		harm  func(text []byte) []byte
		whole bool
		lines int
	}{
		{"sound", func(text []byte) []byte { return text }, false, 0},
		{"the first line", func(text []byte) []byte { text[20] ^= 1; return text }, true, 1},
		{"the last line", func(text []byte) []byte { text[len(text)-3] ^= 1; return text }, true, 1},
		{"a torn end", func(text []byte) []byte { return text[:len(text)-9] }, true, 1},
		{"a long part", func(text []byte) []byte { clear(text[len(text)/2 : len(text)/2+len(text)/30]); return text }, true, 1},
		{"two lines far from each other", func(text []byte) []byte { text[20] ^= 1; text[len(text)-3] ^= 1; return text }, true, 2},
	} {
		if err := os.WriteFile(path, c.harm(slices.Clone(sound)), 0o644); err != nil {
			t.Fatal(err)
		}
		found, whole, err := Damage(dir, most)
		if err != nil || whole != c.whole || len(found) != c.lines {
			t.Errorf("%s: %v, whole %v, %v", c.name, found, whole, err)
		}
		if all, _, _ := Damage(dir, 0); !reflect.DeepEqual(found, all) {
			t.Errorf("%s: %v, of the whole %v", c.name, found, all)
		}
	}
}
