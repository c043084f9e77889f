package record

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

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
