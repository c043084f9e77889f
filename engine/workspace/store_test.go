package workspace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

// storeSize is the apparent size of all that a store keeps.
func storeSize(t testing.TB, s *Store) (sum int64) {
	t.Helper()
	for _, file := range stored(t, s.dir) {
		sum += size(t, file)
	}
	return sum
}

// stored are the files of a store.
func stored(t testing.TB, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	must(t, err)
	return files
}

// A snapshot of a run takes what was edited, however many files there are, and however many snapshots there were.
func TestASnapshotTakesWhatWasEdited(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repo")
	makeRepository(t, dir, 400, 5000)
	s := openStore(t)
	tree := plantFolder(t, s, dir)
	if size := storeSize(t, s); size > tree.Size() {
		t.Errorf("a seed of %d bytes takes %d", tree.Size(), size)
	}
	seed := storeSize(t, s)
	f, err := s.Restore(context.Background(), tree, filepath.Join(t.TempDir(), "run"), Options{})
	must(t, err)
	var last Snapshot
	const snapshots = 15
	for round := range snapshots {
		for i := range 3 {
			editLine(t, f.Dir, (round*7+i*50)%400, round)
		}
		last = snapshot(t, f)
	}
	if each := (storeSize(t, s) - seed) / snapshots; each > 12_000 {
		t.Errorf("a snapshot takes %d bytes", each)
	}
	again, err := Open(s.dir)
	must(t, err)
	defer again.Close()
	read, err := again.Tree(last.Tree.ID)
	if err != nil || !slices.Equal(read.Entries, last.Tree.Entries) {
		t.Errorf("read again: %v", err)
	}
	whole(t, again)
}

func reopen(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// Whatever names, kinds, modes and bytes there are: a tree that was stored by what differs from another one is read as it was.
func TestTreesAreReadAsTheyWere(t *testing.T) {
	s, differences := openStore(t), 0
	entry := rapid.Custom(func(t *rapid.T) Entry {
		e := Entry{Path: string(rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(t, "path")), Kind: rapid.SampledFrom([]Kind{KindFolder, KindFile, KindLink}).Draw(t, "kind")}
		switch e.Kind {
		case KindLink:
			e.Link = string(rapid.SliceOfN(rapid.ByteRange(1, 255), 1, 4).Draw(t, "link"))
		case KindFile:
			e.Size, e.Hash = rapid.Int64Range(0, 9).Draw(t, "size"), ID{rapid.Byte().Draw(t, "hash")}
			fallthrough
		default:
			e.Mode = fs.FileMode(rapid.Uint32Range(0, 0o777).Draw(t, "mode"))
		}
		e.Path = strings.ReplaceAll(e.Path, "\x00", "0")
		return e
	})
	propertytest.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfNDistinct(entry, 0, 12, func(e Entry) string { return e.Path })
		var base *Tree
		for range 4 {
			next := entries.Draw(t, "entries")
			if base != nil && len(base.Entries) > 3 { // most stay as they were
				more := entry.Draw(t, "more")
				next = slices.DeleteFunc(slices.Clone(base.Entries), func(e Entry) bool { return e.Path == more.Path })
				if at := rapid.IntRange(0, len(next)-1).Draw(t, "removed"); rapid.Bool().Draw(t, "removes") {
					next = slices.Delete(next, at, at+1)
				}
				next = append(next, more)
			}
			tree := newTree(next)
			must(t, s.putTree(tree, base))
			got, err := s.Tree(tree.ID)
			if err == nil && got.base != nil {
				differences++
			}
			if err != nil || !slices.Equal(got.Entries, tree.Entries) {
				t.Fatalf("got %v (%v), want %v", got, err, tree.Entries)
			}
			base = tree
		}
	})
	if differences == 0 {
		t.Error("no tree was stored by what differs: the property says little")
	}
}

// A bit that the disk lost is found, and costs what it is in.
func TestDamageIsFound(t *testing.T) {
	s := openStore(t)
	f := began(t, s, Options{}, map[string]string{"a": strings.Repeat("line of a\n", 100), "b": "b"})
	random := make([]byte, 2*chunkSize+1)
	rand.NewChaCha8([32]byte{}).Read(random)
	write(t, f.Dir, map[string]string{"large": string(random)})
	tree := snapshot(t, f).Tree
	for _, file := range stored(t, s.dir) {
		content, err := os.ReadFile(file)
		must(t, err)
		const frame = 8 // bytes of a header, of which some change nothing
		for at := frame; at < len(content); at += max(1, len(content)/7) {
			changed := bytes.Clone(content)
			changed[at] ^= 4
			for _, damaged := range [][]byte{changed, content[:at], nil} {
				must(t, os.WriteFile(file, damaged, 0o644))
				if faults := s.Verify(context.Background()); !slices.ContainsFunc(faults, func(err error) bool { return errors.Is(err, errDamaged) }) {
					t.Errorf("%s is damaged at byte %d of %d, and found is %v", file, at, len(content), faults)
				}
				if large := *tree.Find("large"); strings.HasSuffix(filepath.ToSlash(file), name(filesFolder, large.Hash)) {
					if _, err := s.ReadFile(large, large.Size); !errors.Is(err, errDamaged) {
						t.Errorf("damaged at byte %d of %d, it is read: %v", at, len(content), err)
					}
				}
			}
		}
		must(t, os.WriteFile(file, content, 0o644))
	}
	whole(t, s)
	write(t, f.Dir, map[string]string{"b": "c"})
	other := snapshot(t, f).Tree
	text, err := os.ReadFile(filepath.Join(s.dir, name(treesFolder, other.ID)))
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, name(treesFolder, tree.ID)), text, 0o644)
	}
	if _, wrong := s.Tree(tree.ID); err != nil || !errors.Is(wrong, errDamaged) {
		t.Errorf("another tree is in its place: %v, %v", wrong, err)
	}
	must(t, errors.Join(s.remove(name(treesFolder, tree.ID)), s.remove(name(treesFolder, other.ID)), s.putTree(tree, nil)))
	must(t, s.remove(name(filesFolder, tree.Find("large").Hash)))
	if faults := s.Verify(context.Background()); len(faults) != 1 || !errors.Is(faults[0], errMissing) {
		t.Errorf("a file is missing: %v", faults)
	}
	if err := s.Check(tree.ID, map[ID]error{}); !errors.Is(err, errMissing) {
		t.Errorf("a tree without a file is whole: %v", err)
	}
}

func TestGoroutinesShareAStore(t *testing.T) {
	s := openStore(t)
	base := began(t, s, Options{}, map[string]string{"a": "a", "sub/b": "b"}).base
	ids := make([]ID, 8)
	var all sync.WaitGroup
	dir := t.TempDir()
	for i := range ids {
		all.Go(func() {
			f, err := s.Restore(context.Background(), base, filepath.Join(dir, fmt.Sprint(i)), Options{})
			if err != nil {
				t.Error(err)
				return
			}
			for round := range 10 {
				if err := os.WriteFile(filepath.Join(f.Dir, "a"), fmt.Appendf(nil, "%d of %d", round, i%2), 0o644); err != nil {
					t.Error(err)
				}
				made, err := f.Snapshot(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = made.Tree.ID
			}
		})
	}
	all.Wait()
	if ids[0] == ids[1] || ids[0] != ids[2] || ids[1] != ids[7] {
		t.Errorf("runs saw each other: %v", ids)
	}
	whole(t, s)
}

func TestJoin(t *testing.T) {
	stores := []*Store{openStore(t), openStore(t)}
	var trees []*Tree
	states := []string{strings.Repeat("a line\n", 50) + "one", strings.Repeat("a line\n", 50) + "two"}
	for i, s := range stores {
		f := began(t, s, Options{}, map[string]string{"a": states[i], "own": fmt.Sprint(i)})
		trees = append(trees, f.base)
		write(t, f.Dir, map[string]string{"a": states[1-i], "large": strings.Repeat(fmt.Sprint(i), 3*chunkSize/2)})
		trees = append(trees, snapshot(t, f).Tree)
		made, err := s.Setup(context.Background(), f.base, fmt.Sprint("setup", i), Limits{}, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "installed"), nil, 0o644)
		})
		must(t, err)
		trees = append(trees, made)
	}
	into := openStore(t)
	for _, s := range []*Store{stores[0], stores[1], stores[0]} {
		must(t, into.Join(s))
	}
	some := openStore(t)
	must(t, some.Join(stores[1], trees[4].ID, trees[5].ID))
	for _, c := range []struct {
		store *Store
		holds []*Tree
	}{{into, trees}, {some, trees[4:]}} {
		whole(t, c.store)
		for _, want := range c.holds {
			got, err := c.store.Tree(want.ID)
			if err != nil || !slices.Equal(got.Entries, want.Entries) {
				t.Errorf("%v: %v", paths(want), err)
				continue
			}
			restored(t, c.store, got)
		}
	}
	never := func(string) error { return errors.New("it was made already") }
	if _, err := some.Setup(context.Background(), trees[3], "setup1", Limits{}, never); err != nil {
		t.Errorf("the setup did not come along: %v", err)
	}
	if _, err := some.Setup(context.Background(), trees[3], "setup0", Limits{}, never); err == nil {
		t.Error("a setup came along whose tree did not")
	}
	if err := some.Join(stores[1], ID{1}); !errors.Is(err, errMissing) {
		t.Errorf("a tree that is not there: %v", err)
	}
}

func TestPrune(t *testing.T) {
	s := openStore(t)
	f := began(t, s, Options{}, map[string]string{"a": "a"})
	write(t, f.Dir, map[string]string{"large": strings.Repeat("0123456789abcdef", chunkSize/10), "b": "b"})
	dropped := snapshot(t, f).Tree
	must(t, os.Remove(filepath.Join(f.Dir, "large")))
	kept := snapshot(t, f).Tree
	for i := range 5 {
		write(t, f.Dir, map[string]string{"c": strings.Repeat(fmt.Sprint(i), 1000+i)})
		snapshot(t, f)
	}
	before := storeSize(t, s)
	must(t, s.Prune(kept.ID))
	if after := storeSize(t, s); after >= before {
		t.Errorf("%d bytes before, %d after", before, after)
	}
	for _, at := range []*Store{s, reopen(t, s.dir)} {
		if _, err := at.Tree(dropped.ID); !errors.Is(err, errMissing) {
			t.Error("the tree is still there")
		}
		if got, err := at.Tree(kept.ID); err != nil || !slices.Equal(got.Entries, kept.Entries) {
			t.Errorf("got %v", err)
		}
		whole(t, at)
	}
	write(t, f.Dir, map[string]string{"d": "d"})
	if more := snapshot(t, s.Track(f.Dir, kept, Options{})); reopen(t, s.dir).Verify(context.Background()) != nil || more.Tree.Find("d") == nil {
		t.Error("the store cannot be used after it was pruned")
	}
}

// A process that is killed at any moment leaves a store that is whole up to what it was writing.
func TestAProcessIsKilledWhileItWrites(t *testing.T) {
	if dir := os.Getenv("WRITE_SNAPSHOTS_TO"); dir != "" {
		writeSnapshots(t, dir)
	}
	dir := t.TempDir()
	for round := range 3 {
		c := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		c.Env = append(os.Environ(), "WRITE_SNAPSHOTS_TO="+dir, "TMPDIR="+t.TempDir())
		out, err := c.StdoutPipe()
		must(t, err)
		must(t, c.Start())
		lines := bufio.NewScanner(out)
		told := ""
		for range 5 + 20*round {
			if !lines.Scan() {
				t.Fatal("the process ended by itself")
			}
			told = lines.Text()
		}
		must(t, c.Process.Kill())
		c.Wait() // killed
		id, err := ParseID(told)
		must(t, err)
		s := reopen(t, dir)
		if _, err := s.Tree(id); err != nil {
			t.Errorf("a finished snapshot is lost: %v", err)
		}
		whole(t, s)
		must(t, s.Close())
	}
}

// writeSnapshots stores one state after another, and prints the id of each, until the process is killed.
func writeSnapshots(t *testing.T, dir string) {
	s := reopen(t, dir)
	f, err := s.Restore(context.Background(), newTree(nil), filepath.Join(t.TempDir(), "run"), Options{})
	must(t, err)
	for i := 0; ; i++ {
		write(t, f.Dir, map[string]string{"a": fmt.Sprint(os.Getpid(), i), fmt.Sprint("file", i%50): strings.Repeat(fmt.Sprint(i), 10_000)})
		fmt.Println(snapshot(t, f).Tree.ID)
	}
}
