package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

func openStore(t testing.TB) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "store"))
	must(t, err)
	t.Cleanup(func() {
		must(t, s.Close())
	})
	return s
}

// write makes files below a folder.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		must(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)))
	}
}

// seen is what a folder holds, read with nothing of this package: kind, mode and bytes by path.
func seen(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		below, _ := filepath.Rel(dir, name)
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode().IsRegular():
			raw, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			content = string(raw)
		case info.Mode()&fs.ModeSymlink != 0:
			content, err = os.Readlink(name)
			all[below] = "link to " + content
			return err
		}
		all[below] = info.Mode().String() + " " + content
		return nil
	})
	must(t, err)
	return all
}

func snapshot(t testing.TB, f *Folder) Snapshot {
	t.Helper()
	made, err := f.Snapshot(context.Background())
	must(t, err)
	return made
}

// began is a folder of a tree with some files, and what follows it.
func began(t testing.TB, s *Store, o Options, files map[string]string) *Folder {
	t.Helper()
	planted, err := s.Plant(context.Background(), Seed{Files: files}, Limits{})
	must(t, err)
	f, err := s.Restore(context.Background(), planted.Tree, filepath.Join(t.TempDir(), "run"), o)
	must(t, err)
	return f
}

// restored is a new folder of a tree.
func restored(t testing.TB, s *Store, tree *Tree) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	_, err := s.Restore(context.Background(), tree, dir, Options{})
	must(t, err)
	return dir
}

// whole fails a test whose store has a fault.
func whole(t testing.TB, s *Store) {
	t.Helper()
	if faults := s.Verify(context.Background()); len(faults) > 0 {
		t.Error(faults)
	}
}

func paths(t *Tree) (all []string) {
	for _, e := range t.Entries {
		all = append(all, e.Path)
	}
	return all
}

// edit changes a folder in some way that a program may.
func edit(t *rapid.T, dir string) {
	names := rapid.SampledFrom([]string{"a", "A", "a.b", "b", "deep/a", "deep/er/b", "deep-er", ".git/HEAD", "n\xff", "sp ace\n"})
	name := filepath.Join(dir, names.Draw(t, "name"))
	// A path below a file or a link that leads nowhere cannot be made: then nothing changes.
	os.MkdirAll(filepath.Dir(name), 0o755)
	switch rapid.SampledFrom([]string{"write", "append", "truncate", "remove", "mode", "folder", "link", "rename", "large"}).Draw(t, "edit") {
	case "write":
		os.WriteFile(name, []byte(rapid.SampledFrom([]string{"", "x", "y", strings.Repeat("line\n", 2000)}).Draw(t, "content")), 0o600)
	case "append":
		if f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0); err == nil {
			f.WriteString("more")
			f.Close()
		}
	case "truncate":
		os.Truncate(name, int64(rapid.IntRange(0, 3).Draw(t, "size")))
	case "remove":
		os.RemoveAll(name)
	case "mode":
		if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink == 0 {
			os.Chmod(name, rapid.SampledFrom([]fs.FileMode{0o755, 0o700, 0o640, 0o777}).Draw(t, "mode"))
		}
	case "folder":
		os.RemoveAll(name)
		os.Mkdir(name, 0o750)
	case "link":
		os.Symlink(rapid.SampledFrom([]string{"a", "..", "/etc/passwd", "nowhere", "deep"}).Draw(t, "target"), name)
	case "rename":
		os.Rename(name, filepath.Join(dir, names.Draw(t, "to")))
	case "large":
		os.WriteFile(name, []byte(strings.Repeat("0123456789abcdef", 70000)+rapid.StringN(0, 3, 3).Draw(t, "end")), 0o644)
	}
}

// However a folder was edited, its snapshot has all of it; restored, it is the same folder; and it is the
// same tree whether all files were read or those alone that changed.
func TestASnapshotRestoredIsTheSameTree(t *testing.T) {
	s := openStore(t)
	ctx := context.Background()
	propertytest.CheckCases(t, 60, func(r *rapid.T) {
		base := t.TempDir()
		dir := filepath.Join(base, "run")
		empty := newTree(nil)
		f, err := s.Restore(ctx, empty, dir, Options{})
		must(r, err)
		for range rapid.IntRange(1, 4).Draw(r, "snapshots") {
			for range rapid.IntRange(0, 8).Draw(r, "edits") {
				edit(r, dir)
			}
			made := snapshot(t, f)
			if len(made.Left) > 0 {
				r.Fatalf("left out: %v", made.Left)
			}
			again := snapshot(t, s.Track(dir, empty, Options{}))
			if again.Tree.ID != made.Tree.ID {
				r.Fatalf("%v read as %v where all was read", paths(made.Tree), paths(again.Tree))
			}
			stored, err := s.Tree(made.Tree.ID)
			if err != nil || !slices.Equal(stored.Entries, made.Tree.Entries) {
				r.Fatalf("stored as %v: %v", stored, err)
			}
			copied := filepath.Join(base, "copy")
			_, err = s.Restore(ctx, stored, copied, Options{})
			must(r, err)
			if want, got := seen(t, dir), seen(t, copied); !maps.Equal(want, got) {
				r.Fatalf("restored %q, want %q", got, want)
			}
			if back := snapshot(t, s.Track(copied, empty, Options{})); back.Tree.ID != made.Tree.ID {
				r.Fatalf("the copy is tree %s, want %s", back.Tree.ID, made.Tree.ID)
			}
			must(r, Remove(copied))
		}
		must(r, Remove(base))
	})
	whole(t, s)
}

// Whatever a program does to a file, some part of its stamp changes.
func TestAnEditThatIsHiddenIsSeen(t *testing.T) {
	s := openStore(t)
	for name, hide := range map[string]func(file string, was fs.FileInfo) error{
		"the time is set back": func(file string, was fs.FileInfo) error {
			return errors.Join(os.WriteFile(file, []byte("two"), 0o644), os.Chtimes(file, was.ModTime(), was.ModTime()))
		},
		"another file takes its place": func(file string, was fs.FileInfo) error {
			return errors.Join(os.WriteFile(file+"2", []byte("two"), 0o644), os.Chtimes(file+"2", was.ModTime(), was.ModTime()), os.Rename(file+"2", file))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := began(t, s, Options{}, map[string]string{"a.txt": "one"})
			file := filepath.Join(f.Dir, "a.txt")
			was, err := os.Stat(file)
			must(t, err)
			before := snapshot(t, f)
			stamp, tells := stampOf(was)
			if tells { // as if it had been written long ago
				f.known["a.txt"] = known{stamp, before.Tree.Find("a.txt").Hash}
			}
			must(t, hide(file, was))
			if after := snapshot(t, f); after.Tree.ID == before.Tree.ID {
				t.Error("the edit was not seen")
			}
		})
	}
}

// A file is read again after the moment that its stamp cannot tell from another.
func TestStampsSettle(t *testing.T) {
	written := time.Unix(1000, 7)
	for _, c := range []struct {
		stamp stamp
		read  time.Time
		want  bool
	}{
		{stamp{modified: written.UnixNano(), changed: 1}, written, false},
		{stamp{modified: 1, changed: written.UnixNano()}, written.Add(tick), false},
		{stamp{modified: 1, changed: written.UnixNano()}, written.Add(tick + 1), true},
		{stamp{modified: written.UnixNano() - 7, changed: 1}, written.Add(time.Second), false}, // whole seconds
		{stamp{modified: written.UnixNano() - 7, changed: 1}, written.Add(2 * time.Second), true},
		{stamp{modified: written.Add(time.Hour).UnixNano(), changed: 1}, written, false}, // of the future
	} {
		if got := c.stamp.settled(c.read); got != c.want {
			t.Errorf("%+v read at %v: %v", c.stamp, c.read, got)
		}
	}
}

// A file changed in the same tick of the file system's clock has the same stamp, and is read again.
func TestAFileThatWasJustWrittenIsReadAgain(t *testing.T) {
	s := openStore(t)
	f := began(t, s, Options{}, nil)
	for i := range 50 {
		content := fmt.Sprintf("%03d", i)
		write(t, f.Dir, map[string]string{"a.txt": content})
		made := snapshot(t, f)
		if got, err := s.ReadFile(*made.Tree.Find("a.txt"), 10); err != nil || string(got) != content {
			t.Fatalf("snapshot %d has %q: %v", i, got, err)
		}
	}
}

func TestIgnoredPathsStayAsTheyWere(t *testing.T) {
	ignore, err := ParsePatterns([]string{"node_modules/", "*.log", "build"})
	must(t, err)
	s := openStore(t)
	f := began(t, s, Options{Ignore: ignore}, map[string]string{"a.txt": "a", "node_modules/dep/index.js": "1", "sub/node_modules/x": "1", "sub/b": "b", "build/out": "1"})
	first := snapshot(t, f)
	if first.Tree.ID != f.base.ID {
		t.Fatalf("an untouched folder is %v", paths(first.Tree))
	}
	write(t, f.Dir, map[string]string{"node_modules/dep/index.js": "2", "node_modules/new": "2", "run.log": "2", "a.txt": "b"})
	must(t, errors.Join(os.RemoveAll(filepath.Join(f.Dir, "sub")), os.RemoveAll(filepath.Join(f.Dir, "node_modules"))))
	second := snapshot(t, f)
	want := []string{"a.txt", "build", "build/out", "node_modules", "node_modules/dep", "node_modules/dep/index.js"}
	if got := paths(second.Tree); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, err := s.ReadFile(*second.Tree.Find("node_modules/dep/index.js"), 10); err != nil || string(got) != "1" {
		t.Errorf("the ignored file is %q: %v", got, err)
	}
}

// The file takes the place of an ignored folder of that name.
func TestAFileInThePlaceOfAnIgnoredFolderIsKept(t *testing.T) {
	ignore, _ := ParsePatterns([]string{"build/"})
	s := openStore(t)
	f := began(t, s, Options{Ignore: ignore}, map[string]string{"build/out": "1"})
	must(t, os.RemoveAll(filepath.Join(f.Dir, "build")))
	write(t, f.Dir, map[string]string{"build": "a file"})
	if got := paths(snapshot(t, f).Tree); !slices.Equal(got, []string{"build"}) {
		t.Errorf("got %q", got)
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		folder, want  bool
	}{
		{"*.pyc", "a.pyc", false, true},
		{"*.pyc", "deep/er/a.pyc", false, true},
		{"*.pyc", "a.pyc/b", false, false}, // its folder is ignored, which the walk knows
		{".git/", ".git", true, true},
		{".git/", ".git", false, false},
		{".git/", "sub/.git", true, true},
		{"/top", "top", false, true},
		{"/top", "sub/top", false, false},
		{"a/b", "a/b", false, true},
		{"a/b", "x/a/b", false, false},
		{"a/*", "a/b/c", false, false},
		{"a/**", "a/b/c", false, true},
		{"a/**", "a", true, false},
		{"**/b", "b", false, true},
		{"a/**/b", "a/b", false, true},
		{"a/**/b", "a/x/y/b", false, true},
		{"a/**/b", "a/x/y/c", false, false},
		{"a?c", "abc", false, true},
		{"[ab]", "b", false, true},
	} {
		p, err := ParsePatterns([]string{c.pattern})
		must(t, err)
		if got := p.Match(c.path, c.folder); got != c.want {
			t.Errorf("%s on %s (folder %v): %v", c.pattern, c.path, c.folder, got)
		}
	}
	for _, bad := range []string{"", "/", "!a", "a[", "a//b", "../a", "./a"} {
		if _, err := ParsePatterns([]string{bad}); err == nil {
			t.Errorf("pattern %q was accepted", bad)
		}
	}
}

func TestScoresAreReusedWhereOnlyIgnoredPathsDiffer(t *testing.T) {
	ignore, err := ParsePatterns(ScoreIgnore)
	must(t, err)
	s := openStore(t)
	f := began(t, s, Options{}, map[string]string{"a.py": "a", "sub/b.py": "b"})
	first := snapshot(t, f).Tree
	write(t, f.Dir, map[string]string{".git/HEAD": "x", "sub/__pycache__/b.cpython.pyc": "x", "a.pyc": "x", "sub/.git/index": "x"})
	second := snapshot(t, f).Tree
	if first.ID == second.ID || ScoreKey(first, ignore) != ScoreKey(second, ignore) {
		t.Error("caches and repositories make another key")
	}
	write(t, f.Dir, map[string]string{"a.py": "c"})
	if ScoreKey(snapshot(t, f).Tree, ignore) == ScoreKey(first, ignore) {
		t.Error("an edit makes the same key")
	}
	if ScoreKey(first, nil) != first.ID {
		t.Error("without patterns the key is not the id")
	}
}
