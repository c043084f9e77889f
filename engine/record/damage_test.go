package record

import (
	"os"
	"path/filepath"
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
	if found, err := Damage(dir); len(found) != 0 || err != nil {
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
	found, err := Damage(dir)
	if err != nil || len(found) != 2 || found[0].Line != 3 || found[0].Torn || found[1].Line != 5 {
		t.Errorf("found %v, %v", found, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if found, err := Damage(dir); len(found) != 0 || err != nil {
		t.Errorf("no records: %v, %v", found, err)
	}
}
