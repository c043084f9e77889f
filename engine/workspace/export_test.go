package workspace

import (
	"bytes"
	"errors"
	"fmt"
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

	seeds, err := from.Export(filepath.Join(dir, "seed"), []ID{seed.ID})
	if err != nil {
		t.Fatal(err)
	}
	states, err := from.Export(filepath.Join(dir, "states"), []ID{first.ID, second.ID, seed.ID}, seeds)
	if err != nil {
		t.Fatal(err)
	}
	nothing, err := from.Export(filepath.Join(dir, "nothing"), []ID{seed.ID}, seeds)
	if err != nil {
		t.Fatal(err)
	}
	if size(t, states.Path) > 2000 || size(t, seeds.Path) < int64(len(large)) || size(t, nothing.Path) != int64(packHeader) {
		t.Errorf("the seed takes %d bytes, the states %d, nothing %d", size(t, seeds.Path), size(t, states.Path), size(t, nothing.Path))
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 3 {
		t.Errorf("%v is left, %v", left, err)
	}

	into := openStore(t)
	early := copied(t, states.Path)
	if err := into.Import(early); !errors.Is(err, errMissing) || into.Has(second.ID) {
		t.Errorf("without the seed: %v", err)
	}
	for _, p := range []*Parcel{seeds, nothing, states} {
		if err := into.Import(p.Path); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []*Tree{seed, first, second} {
		if err := into.Check(want.ID, map[ID]error{}); err != nil || !into.Has(want.ID) {
			t.Errorf("%s: %v", want.ID, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if _, err := from.Export(filepath.Join(dir, "none"), []ID{{1}}); !errors.Is(err, errMissing) {
		t.Errorf("a tree that is not there: %v", err)
	}
}

// The seed may come from another store, which keeps it in another way.
func TestExportBesideAnotherStoresSeed(t *testing.T) {
	common := make([]byte, 2000)
	rand.NewChaCha8([32]byte{}).Read(common)
	dir, shared := t.TempDir(), string(common)
	one, other := openStore(t), openStore(t)
	seed := map[string]string{"a": shared + "seed"}
	plain := began(t, one, Options{}, seed).base
	f := began(t, other, Options{}, map[string]string{"a": shared + "of another task"})
	write(t, f.Dir, seed)
	snapshot(t, f)
	f = began(t, other, Options{}, seed)
	if f.base.ID != plain.ID || other.index[f.base.Entries[0].Hash].depth == 0 {
		t.Fatal("the other store keeps the seed as this one does")
	}
	write(t, f.Dir, map[string]string{"a": shared + "of another task", "b": shared + "more"})
	state := snapshot(t, f).Tree
	seeds, err := one.Export(filepath.Join(dir, "seed"), []ID{plain.ID})
	if err != nil {
		t.Fatal(err)
	}
	others, err := other.Export(filepath.Join(dir, "other"), []ID{plain.ID})
	if err != nil {
		t.Fatal(err)
	}
	states, err := other.Export(filepath.Join(dir, "states"), []ID{state.ID}, others)
	if err != nil {
		t.Fatal(err)
	}
	into := openStore(t)
	for _, p := range []*Parcel{seeds, states} {
		if err := into.Import(p.Path); err != nil {
			t.Fatal(err)
		}
	}
	if err := into.Check(state.ID, map[ID]error{}); err != nil {
		t.Error(err)
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func copied(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		path = filepath.Join(t.TempDir(), "copy")
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// What was cut off or changed on its way is refused.
func TestImportRefusesDamage(t *testing.T) {
	from, dir := openStore(t), t.TempDir()
	f := began(t, from, Options{}, map[string]string{"a": "a", "b": "b"})
	whole := filepath.Join(dir, "whole")
	if _, err := from.Export(whole, []ID{f.base.ID}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	damaged := [][]byte{nil, text[:10], text[:len(text)-1], append(bytes.Clone(text), 0)}
	for at := packHeader - 8; at < len(text); at++ { // before, it is another version's
		changed := bytes.Clone(text)
		changed[at] ^= 1
		damaged = append(damaged, changed)
	}
	for i, content := range damaged {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := openStore(t).Import(path); err == nil {
			t.Errorf("damage %d was taken", i)
		}
	}
}
