package record

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
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
			before := contents(t, dir)
			seen, err := Inspect(dir)
			if err != nil || !reflect.DeepEqual(contents(t, dir), before) {
				t.Errorf("inspecting changes the folder, %v", err)
			}
			r, err := Repair(dir, Options{})
			if err != nil || !reflect.DeepEqual(seen, r) {
				t.Errorf("inspected %+v, repaired %+v, %v", seen, r, err)
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
			if size := len(bytes.Join(lines, nil)); len(moved) != size-len(left) {
				t.Errorf("%d bytes of %d were moved", len(moved), size-len(left))
			}
			finish(t, dir, 5)
			expectOnce(t, dir, 5)
		})
	}
}

func TestF2_RepairDropsBadScores(t *testing.T) {
	dir, _ := flipped(t, scoresFile, within(1))
	records := readFile(t, dir, recordsFile)
	r, err := Repair(dir, Options{})
	if err != nil || r.Kept != 5 || len(r.Lost) > 0 || len(r.Damage) != 1 || r.Whole() {
		t.Fatalf("%+v, %v", r, err)
	}
	if !bytes.Equal(readFile(t, dir, recordsFile), records) {
		t.Error("the records were changed")
	}
	if found := finish(t, dir, 5); len(found.Unscored) != 1 {
		t.Errorf("found %+v", found)
	}
	expectOnce(t, dir, 5)
}

// A line that a crash left half written is no damage, and goes with what is.
func TestF2_ATornEndIsDropped(t *testing.T) {
	dir := sampleFolder(t, 3)
	text := readFile(t, dir, recordsFile)
	writeFile(t, dir, recordsFile, text[:len(text)-10])
	writeFile(t, dir, scoresFile, bytes.Join(bytes.SplitAfter(readFile(t, dir, scoresFile), []byte{'\n'})[:2], nil))
	if r, err := Inspect(dir); err != nil || !r.Whole() || r.Kept != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	damaged := bytes.Clone(text[:len(text)-10])
	damaged[20] ^= 1
	writeFile(t, dir, recordsFile, damaged)
	if r, err := Repair(dir, Options{}); err != nil || r.Kept != 1 || r.Moved != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if left := readFile(t, dir, recordsFile); !bytes.Equal(left, bytes.SplitAfter(text, []byte{'\n'})[1]) {
		t.Errorf("left is %s", left)
	}
}

func TestAWholeFolderIsLeftAlone(t *testing.T) {
	dir := sampleFolder(t, 3)
	before := contents(t, dir)
	disk := &faultyDisk{Disk: folder(dir)}
	if r, err := Repair(dir, Options{Disk: disk}); err != nil || !r.Whole() || r.Kept != 3 || disk.calls > 0 {
		t.Fatalf("%+v, %v, %v", r, err, disk.log)
	}
	if !reflect.DeepEqual(contents(t, dir), before) {
		t.Error("files were changed")
	}
}

func TestF4_ARepairThatFailsAtAnyCallCanBeDoneAgain(t *testing.T) {
	for failAt := 1; ; failAt++ {
		dir, lines := flipped(t, recordsFile, within(2))
		disk := &faultyDisk{Disk: folder(dir), failAt: failAt}
		_, err := Repair(dir, Options{Disk: disk})
		if disk.calls < failAt {
			if err != nil || failAt < 5 {
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
	must(t, os.Remove(filepath.Join(dir, recordsFile)))
	before := contents(t, dir)
	if _, err := Repair(dir, Options{}); err == nil || !reflect.DeepEqual(contents(t, dir), before) {
		t.Error(err)
	}
}
