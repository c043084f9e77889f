package workspace

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The states of a run travel without what its seed has, and are whole where that is.
func TestExport(t *testing.T) {
	from, dir := openStore(t), t.TempDir()
	large := make([]byte, 2*chunkSize)
	rand.NewChaCha8([32]byte{}).Read(large)
	f := began(t, from, Options{}, map[string]string{"large": string(large), "a": strings.Repeat("a line\n", 100)})
	seed := f.base
	write(t, f.Dir, map[string]string{"a": strings.Repeat("a line\n", 100) + "more", "new": "new"})
	first := snapshot(t, f).Tree
	write(t, f.Dir, map[string]string{"a": strings.Repeat("a line\n", 100) + "more and more"})
	second := snapshot(t, f).Tree

	seeds, states, nothing := filepath.Join(dir, "seed"), filepath.Join(dir, "states"), filepath.Join(dir, "nothing")
	err := errors.Join(from.Export(seeds, []ID{seed.ID}), from.Export(states, []ID{first.ID, second.ID, seed.ID}, seed.ID), from.Export(nothing, []ID{seed.ID}, seed.ID))
	must(t, err)
	if size(t, states) > 12_000 || size(t, seeds) < int64(len(large)) || size(t, nothing) > 1024 {
		t.Errorf("the seed takes %d bytes, the states %d, nothing %d", size(t, seeds), size(t, states), size(t, nothing))
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 3 {
		t.Errorf("%v is left, %v", left, err)
	}

	into := openStore(t)
	early := copied(t, states)
	if err := into.Import(early, []ID{first.ID, second.ID}); !errors.Is(err, errMissing) || into.Has(second.ID) {
		t.Errorf("without the seed: %v", err)
	}
	for _, p := range []string{seeds, nothing, states} {
		must(t, into.Import(p, []ID{seed.ID}))
	}
	for _, want := range []*Tree{seed, first, second} {
		if err := into.Check(want.ID, map[ID]error{}); err != nil || !into.Has(want.ID) {
			t.Errorf("%s: %v", want.ID, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if err := from.Export(filepath.Join(dir, "none"), []ID{{1}}); !errors.Is(err, errMissing) {
		t.Errorf("a tree that is not there: %v", err)
	}
}

func size(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Size()
}

func copied(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		path = filepath.Join(t.TempDir(), "copy")
		err = os.WriteFile(path, text, 0o644)
	}
	must(t, err)
	return path
}

// What was cut off or changed on its way is refused.
func TestImportRefusesDamage(t *testing.T) {
	from, dir := openStore(t), t.TempDir()
	f := began(t, from, Options{}, map[string]string{"a": "a", "b": "b"})
	whole := filepath.Join(dir, "whole")
	must(t, from.Export(whole, []ID{f.base.ID}))
	text, err := os.ReadFile(whole)
	must(t, err)
	taken := 0
	try := func(content []byte) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "parcel")
		must(t, os.WriteFile(path, content, 0o644))
		into := openStore(t)
		if into.Import(path, []ID{f.base.ID}) == nil {
			taken++
			if err := into.Check(f.base.ID, map[ID]error{}); err != nil {
				t.Errorf("damage was taken: %v", err)
			}
		} else if faults := into.Verify(context.Background()); len(faults) > 0 {
			t.Errorf("damage was kept: %v", faults)
		}
	}
	tried := 0
	for at := 0; at < len(text); at += 67 {
		changed := bytes.Clone(text)
		changed[at] ^= 1
		try(changed)
		try(text[:at])
		tried += 2
	}
	if taken > tried*3/4 || taken == 0 { // most of a tar file of small files is padding
		t.Errorf("%d of %d damaged parcels were taken", taken, tried)
	}
}
