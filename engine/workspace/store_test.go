package workspace

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// storeSize is the apparent size of all that a store keeps.
func storeSize(t testing.TB, s *Store) (sum int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	return sum
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
	if err != nil {
		t.Fatal(err)
	}
	var last Snapshot
	const snapshots = 60
	for round := range snapshots {
		for i := range 3 {
			editLine(t, f.Dir, (round*7+i*50)%400, round)
		}
		last = snapshot(t, f)
	}
	if each := (storeSize(t, s) - seed) / snapshots; each > 4096 {
		t.Errorf("a snapshot takes %d bytes", each)
	}
	again, err := Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	read, err := again.Tree(last.Tree.ID)
	if err != nil || !slices.Equal(read.Entries, last.Tree.Entries) {
		t.Errorf("read again: %v", err)
	}
	if faults := again.Verify(context.Background()); len(faults) > 0 {
		t.Error(faults)
	}
}

// filled is a closed store with some states of a folder, the last of which has a large file.
func filled(t *testing.T) (dir string, trees []*Tree) {
	t.Helper()
	s := openStore(t)
	f := began(t, s, Options{}, map[string]string{"a": strings.Repeat("line of a\n", 100), "b": "b"})
	for i := range 4 {
		write(t, f.Dir, map[string]string{"a": strings.Repeat("line of a\n", 100) + fmt.Sprint(i), fmt.Sprint("new", i): fmt.Sprint(i)})
		if i == 3 {
			random := make([]byte, 2*chunkSize+1)
			rand.NewChaCha8([32]byte{}).Read(random)
			write(t, f.Dir, map[string]string{"large": string(random)})
		}
		trees = append(trees, snapshot(t, f).Tree)
	}
	return s.dir, trees
}

func reopen(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// copyStore is the pack of a store, cut or changed, in a folder of its own.
func copyStore(t *testing.T, pack []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pack-000001"), pack, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A process that is killed leaves a part of what it wrote last. Whatever part: all before it is read,
// and what is written afterwards as well.
func TestATornRecordIsCut(t *testing.T) {
	dir, trees := filled(t)
	pack, err := os.ReadFile(filepath.Join(dir, "pack-000001"))
	if err != nil {
		t.Fatal(err)
	}
	whole := reopen(t, copyStore(t, pack))
	var ends []int64
	for _, at := range whole.index {
		ends = append(ends, at.at+int64(at.stored))
	}
	slices.Sort(ends)
	last := ends[len(ends)-2]
	cuts := []int64{0, 3, int64(packHeader), int64(packHeader) + 1, last, last + 1, last + headerSize - 1, last + headerSize, int64(len(pack)) - 1}
	for at := int64(20); at < int64(len(pack)); at += int64(len(pack)) / 50 {
		cuts = append(cuts, at)
	}
	for _, cut := range cuts {
		torn := copyStore(t, pack[:cut])
		s := reopen(t, torn)
		if faults := s.Verify(context.Background()); len(faults) > 0 && cut > int64(packHeader) {
			for _, fault := range faults {
				if !errors.Is(fault, errMissing) { // parts of a tree that was not written
					t.Errorf("cut at %d: %v", cut, fault)
				}
			}
		}
		readable := 0
		for _, end := range ends {
			if end <= cut {
				readable++
			}
		}
		if len(s.index) != readable {
			t.Errorf("cut at %d: %d records, want %d", cut, len(s.index), readable)
		}
		planted, err := s.Plant(context.Background(), Seed{Files: map[string]string{"after": fmt.Sprint(cut)}}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		again := reopen(t, torn)
		if _, err := again.Tree(planted.Tree.ID); err != nil {
			t.Errorf("cut at %d: what was written afterwards: %v", cut, err)
		}
		if len(again.index) < readable {
			t.Errorf("cut at %d: %d of %d records are left", cut, len(again.index), readable)
		}
	}
	if _, err := whole.Tree(trees[3].ID); err != nil {
		t.Error(err)
	}
}

// One bit that the disk lost costs the record it is in, and is found.
func TestDamageIsFound(t *testing.T) {
	dir, trees := filled(t)
	pack, err := os.ReadFile(filepath.Join(dir, "pack-000001"))
	if err != nil {
		t.Fatal(err)
	}
	whole := reopen(t, dir)
	last := int64(0) // where the record begins that looks torn
	for _, at := range whole.index {
		last = max(last, at.at-headerSize)
	}
	for at := packHeader; at < len(pack); at += max(1, len(pack)/97) {
		changed := bytes.Clone(pack)
		changed[at] ^= 4
		s := reopen(t, copyStore(t, changed))
		faults := s.Verify(context.Background())
		if torn := int64(at) >= last; torn && len(s.index) == len(whole.index) || !torn && !slices.ContainsFunc(faults, func(err error) bool { return errors.Is(err, errDamaged) }) {
			t.Errorf("byte %d was changed, and nothing is damaged: %v", at, faults)
		}
		if len(s.index) < len(whole.index)-1 {
			t.Errorf("byte %d was changed: %d of %d records are left", at, len(s.index), len(whole.index))
		}
		for _, tree := range trees {
			if read, err := s.Tree(tree.ID); err == nil && !slices.Equal(read.Entries, tree.Entries) {
				t.Errorf("byte %d was changed: tree %s is another one", at, tree.ID)
			}
		}
	}
	if faults := whole.Verify(context.Background()); len(faults) > 0 {
		t.Error(faults)
	}
}

// A file of a workspace that looks like records is not read as some, even where a pack is damaged before it.
func TestAProgramCannotForgeRecords(t *testing.T) {
	forger := openStore(t)
	random := make([]byte, 4000) // so that nothing of the pack is compressed where it is kept
	rand.NewChaCha8([32]byte{}).Read(random)
	forged, err := forger.Plant(context.Background(), Seed{Files: map[string]string{"a": string(random)}}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(forger.dir, "pack-000001"))
	if err != nil {
		t.Fatal(err)
	}
	s := openStore(t)
	if _, err := s.Plant(context.Background(), Seed{Files: map[string]string{"file": string(content)}}, Limits{}); err != nil {
		t.Fatal(err)
	}
	pack, err := os.ReadFile(filepath.Join(s.dir, "pack-000001"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(pack, content[packHeader:packHeader+100]) {
		t.Fatal("the file is not stored as it is: the test shows nothing")
	}
	pack[packHeader] ^= 1 // the header of the first record
	damaged := reopen(t, copyStore(t, pack))
	if _, err := damaged.Tree(forged.Tree.ID); !errors.Is(err, errMissing) {
		t.Errorf("got %v", err)
	}
	if len(damaged.index) != len(s.index)-1 {
		t.Errorf("%d records, want all but the damaged one of %d", len(damaged.index), len(s.index))
	}
}

// Two stores on one folder stand for two processes: flock tells them apart.
func TestProcessesShareAStore(t *testing.T) {
	first := openStore(t)
	second := reopen(t, first.dir)
	a, err := first.Plant(context.Background(), Seed{Files: map[string]string{"a": "a"}}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := second.Plant(context.Background(), Seed{Files: map[string]string{"b": "b"}}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{first, second} {
		for _, id := range []ID{a.Tree.ID, b.Tree.ID} {
			if _, err := s.Tree(id); err != nil {
				t.Error(err)
			}
		}
	}
	if err := first.Prune(a.Tree.ID); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("pruned under another process: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	third := reopen(t, first.dir)
	if _, err := third.Plant(context.Background(), Seed{Files: map[string]string{"c": "c"}}, Limits{}); err != nil {
		t.Fatal(err)
	}
	packs, err := filepath.Glob(filepath.Join(first.dir, "pack-*[0-9]"))
	if err != nil || len(packs) != 2 {
		t.Errorf("the pack that was let go is not used again: %v", packs)
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
	if faults := s.Verify(context.Background()); len(faults) > 0 {
		t.Error(faults)
	}
}

func TestJoin(t *testing.T) {
	// Both keep both states of a file, each as a difference from the other.
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
		if err != nil {
			t.Fatal(err)
		}
		trees = append(trees, made)
	}
	into := openStore(t)
	for _, s := range []*Store{stores[0], stores[1], stores[0]} {
		if err := into.Join(s); err != nil {
			t.Fatal(err)
		}
	}
	some := openStore(t)
	if err := some.Join(stores[1], trees[4].ID, trees[5].ID); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		store *Store
		holds []*Tree
	}{{into, trees}, {some, trees[4:]}} {
		if faults := c.store.Verify(context.Background()); len(faults) > 0 {
			t.Error(faults)
		}
		for _, want := range c.holds {
			got, err := c.store.Tree(want.ID)
			if err != nil || !slices.Equal(got.Entries, want.Entries) {
				t.Errorf("%v: %v", paths(want), err)
				continue
			}
			if _, err := c.store.Restore(context.Background(), got, filepath.Join(t.TempDir(), "run"), Options{}); err != nil {
				t.Error(err)
			}
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

func TestChainsOfDifferencesStayShort(t *testing.T) {
	from, into := openStore(t), openStore(t)
	f := began(t, from, Options{}, map[string]string{"a": strings.Repeat("a line\n", 100)})
	var last *Tree
	for i := range 5 * mostDepth {
		write(t, f.Dir, map[string]string{"a": strings.Repeat("a line\n", 100) + fmt.Sprint(i), fmt.Sprint("a file with a long name ", i): ""})
		last = snapshot(t, f).Tree
	}
	if err := into.Join(from, last.ID); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{from, into} {
		deepest := byte(0)
		for _, at := range s.index {
			deepest = max(deepest, at.depth)
		}
		if deepest == 0 || deepest > mostDepth {
			t.Errorf("a record needs %d others", deepest)
		}
		if faults := s.Verify(context.Background()); len(faults) > 0 {
			t.Error(faults)
		}
	}
}

// A record that is copied may find what it is a difference from at the end of a long chain.
func TestJoinedChainsStayShort(t *testing.T) {
	shared := make([]byte, 400)
	rand.NewChaCha8([32]byte{}).Read(shared)
	state := func(i int) ([]byte, ID) {
		raw := fmt.Append(bytes.Clone(shared), i)
		return raw, sha256.Sum256(raw)
	}
	put := func(s *Store, i int, base ID) {
		raw, key := state(i)
		if err := s.put(kindChunk, key, raw, base); err != nil {
			t.Fatal(err)
		}
	}
	from, into := openStore(t), openStore(t)
	var base ID
	for i := range mostDepth + 1 {
		put(into, i, base)
		_, base = state(i)
	}
	put(from, mostDepth, ID{})
	put(from, mostDepth+1, base)
	delete(from.index, base) // as in a parcel beside another
	if err := into.Join(from); err != nil {
		t.Fatal(err)
	}
	raw, key := state(mostDepth + 1)
	if into.index[base].depth != mostDepth || from.index[key].depth != 1 || into.index[key].depth != 0 {
		t.Errorf("depths %d, %d and %d", into.index[base].depth, from.index[key].depth, into.index[key].depth)
	}
	if got, err := into.get(key); err != nil || !bytes.Equal(got, raw) {
		t.Errorf("got %q: %v", got, err)
	}
}

func TestPrune(t *testing.T) {
	s := openStore(t)
	f := began(t, s, Options{}, map[string]string{"a": "a"})
	write(t, f.Dir, map[string]string{"large": strings.Repeat("0123456789abcdef", chunkSize/10), "b": "b"})
	dropped := snapshot(t, f).Tree
	if err := os.Remove(filepath.Join(f.Dir, "large")); err != nil {
		t.Fatal(err)
	}
	kept := snapshot(t, f).Tree
	for i := range 5 {
		write(t, f.Dir, map[string]string{"c": strings.Repeat(fmt.Sprint(i), 1000+i)})
		snapshot(t, f)
	}
	before := storeSize(t, s)
	if err := s.Prune(kept.ID); err != nil {
		t.Fatal(err)
	}
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
		if faults := at.Verify(context.Background()); len(faults) > 0 {
			t.Error(faults)
		}
	}
	write(t, f.Dir, map[string]string{"d": "d"})
	if more := snapshot(t, s.Track(f.Dir, kept, Options{})); reopen(t, s.dir).Verify(context.Background()) != nil || more.Tree.find("d") == nil {
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
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		told := ""
		for range 5 + 20*round {
			if !lines.Scan() {
				t.Fatal("the process ended by itself")
			}
			told = lines.Text()
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		c.Wait() // killed
		id, err := ParseID(told)
		if err != nil {
			t.Fatal(err)
		}
		s := reopen(t, dir)
		if _, err := s.Tree(id); err != nil {
			t.Errorf("a finished snapshot is lost: %v", err)
		}
		if faults := s.Verify(context.Background()); len(faults) > 0 {
			t.Error(faults)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	packs, err := filepath.Glob(filepath.Join(dir, "pack-*[0-9]"))
	if err != nil || len(packs) != 1 {
		t.Errorf("the next process does not go on in the pack of a killed one: %v", packs)
	}
}

// writeSnapshots stores one state after another, and prints the id of each, until the process is killed.
func writeSnapshots(t *testing.T, dir string) {
	s := reopen(t, dir)
	f, err := s.Restore(context.Background(), newTree(nil), filepath.Join(t.TempDir(), "run"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		write(t, f.Dir, map[string]string{"a": fmt.Sprint(os.Getpid(), i), fmt.Sprint("file", i%50): strings.Repeat(fmt.Sprint(i), 10_000)})
		fmt.Println(snapshot(t, f).Tree.ID)
	}
}
