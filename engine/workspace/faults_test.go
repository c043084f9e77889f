//go:build unix

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestLinksAreKeptAndNeverFollowed(t *testing.T) {
	s := openStore(t)
	outside := t.TempDir()
	write(t, outside, map[string]string{"secret": "canary"})
	f := began(t, s, Options{}, map[string]string{"a": "a"})
	for name, to := range map[string]string{"abs": outside, "file": filepath.Join(outside, "secret"), "up": "../../..", "self": ".", "loop": "loop", "nowhere": "x/y", "in": "a"} {
		must(t, os.Symlink(to, filepath.Join(f.Dir, name)))
	}
	made := snapshot(t, f)
	if len(made.Left) > 0 || len(made.Tree.Entries) != 8 {
		t.Errorf("got %q, left out %v", paths(made.Tree), made.Left)
	}
	if e := made.Tree.Find("abs"); e.Kind != KindLink || e.Link != outside {
		t.Errorf("got %+v", e)
	}
	copied := restored(t, s, made.Tree)
	if to, err := os.Readlink(filepath.Join(copied, "file")); err != nil || to != filepath.Join(outside, "secret") {
		t.Errorf("restored as %q: %v", to, err)
	}
	must(t, Remove(copied))
	if _, err := os.Stat(filepath.Join(outside, "secret")); err != nil {
		t.Error("removing a workspace removed what a link leads to")
	}
}

func TestWhatIsNoFileIsLeftOutAndReported(t *testing.T) {
	s := openStore(t)
	f := began(t, s, Options{}, map[string]string{"a": "a"})
	must(t, syscall.Mkfifo(filepath.Join(f.Dir, "pipe"), 0o600))
	t.Chdir(f.Dir) // the path of a socket is short
	socket, err := net.Listen("unix", "socket")
	must(t, err)
	defer socket.Close()
	want := []Omission{{"pipe", "a FIFO is not kept"}, {"socket", "a socket is not kept"}}
	if mknod(filepath.Join(f.Dir, "device")) == nil { // root alone may
		want = append([]Omission{{"device", "a device is not kept"}}, want...)
	}
	made := snapshot(t, f)
	if !slices.Equal(made.Left, want) || !slices.Equal(paths(made.Tree), []string{"a"}) {
		t.Errorf("left out %v, kept %q", made.Left, paths(made.Tree))
	}
}

func TestModesAreKeptWithoutSetuid(t *testing.T) {
	s := openStore(t)
	f := began(t, s, Options{}, map[string]string{"su": "x", "sub/odd": "x", "ro/a": "x"})
	for name, mode := range map[string]fs.FileMode{"su": 0o755 | fs.ModeSetuid | fs.ModeSetgid, "sub": 0o1777 | fs.ModeSticky, "sub/odd": 0o602, "ro": 0o555, "ro/a": 0o444} {
		must(t, os.Chmod(filepath.Join(f.Dir, name), mode))
	}
	made := snapshot(t, f)
	if want := []Omission{{"su", "kept without its setuid and setgid bits"}}; !slices.Equal(made.Left, want) {
		t.Errorf("left out %v", made.Left)
	}
	copied := restored(t, s, made.Tree)
	want := map[string]string{"su": "-rwxr-xr-x x", "sub": "drwxrwxrwx ", "sub/odd": "-rw-----w- x", "ro": "dr-xr-xr-x ", "ro/a": "-r--r--r-- x"}
	if got := seen(t, copied); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("restored %q", got)
	}
	must(t, Remove(copied))
}

// asNobody runs a test again as a user who may not read everything. It reports whether this is that run.
func asNobody(t *testing.T) bool {
	t.Helper()
	if os.Getuid() != 0 {
		return true
	}
	binary, err := os.Executable()
	must(t, err)
	dir, err := os.MkdirTemp("/tmp", "nobody")
	must(t, err)
	t.Cleanup(func() { Remove(dir) })
	content, err := os.ReadFile(binary)
	must(t, err)
	copied := filepath.Join(dir, "test")
	must(t, errors.Join(os.WriteFile(copied, content, 0o755), os.Mkdir(filepath.Join(dir, "tmp"), 0o777), os.Chmod(filepath.Join(dir, "tmp"), 0o777), os.Chmod(dir, 0o755)))
	c := exec.Command(copied, "-test.run", "^"+t.Name()+"$", "-test.v")
	c.Dir, c.Env = filepath.Join(dir, "tmp"), []string{"TMPDIR=" + filepath.Join(dir, "tmp"), "PATH=" + os.Getenv("PATH")}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
	return false
}

func TestUnreadablePathsAreLeftOutAndReported(t *testing.T) {
	if !asNobody(t) {
		return
	}
	s := openStore(t)
	f := began(t, s, Options{}, map[string]string{"a": "a", "locked": "x", "closed/below": "x", "ro/a": "a"})
	for name, mode := range map[string]fs.FileMode{"locked": 0, "closed": 0, "ro": 0o555} {
		must(t, os.Chmod(filepath.Join(f.Dir, name), mode))
	}
	made := snapshot(t, s.Track(f.Dir, f.base, Options{}))
	if want := []Omission{{"closed", "it may not be read"}, {"locked", "it may not be read"}}; !slices.Equal(made.Left, want) {
		t.Errorf("left out %v", made.Left)
	}
	if want := []string{"a", "closed", "ro", "ro/a"}; !slices.Equal(paths(made.Tree), want) {
		t.Errorf("kept %q", paths(made.Tree))
	}
	copied := restored(t, s, made.Tree)
	must(t, os.Chmod(f.Dir, 0))
	if made := snapshot(t, f); len(made.Tree.Entries) > 0 || !slices.Equal(made.Left, []Omission{{".", "it may not be read"}}) {
		t.Errorf("of an unreadable workspace %q is kept, %v left out", paths(made.Tree), made.Left)
	}
	for _, dir := range []string{copied, f.Dir} {
		must(t, Remove(dir))
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
}

// Without a way into the folder itself there is nothing to keep, and that is told.
func TestAWorkspaceThatIsGone(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, map[string]string{"secret": "canary"})
	for name, c := range map[string]struct {
		do   func(dir string) error
		want Omission
	}{
		"deleted":          {os.RemoveAll, Omission{".", "the workspace is gone"}},
		"moved":            {func(dir string) error { return os.Rename(dir, dir+"2") }, Omission{".", "the workspace is gone"}},
		"replaced by link": {func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Symlink(outside, dir)) }, Omission{".", "the workspace is no folder but a link"}},
		"replaced by file": {func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o644)) }, Omission{".", "the workspace is no folder but a file"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t)
			f := began(t, s, Options{}, map[string]string{"a": "a"})
			must(t, c.do(f.Dir))
			made := snapshot(t, f)
			if len(made.Tree.Entries) > 0 || !slices.Equal(made.Left, []Omission{c.want}) {
				t.Errorf("kept %q, left out %v", paths(made.Tree), made.Left)
			}
		})
	}
	s := openStore(t)
	f := began(t, s, Options{}, map[string]string{"a": "a"})
	must(t, os.RemoveAll(f.Dir))
	write(t, f.Dir, map[string]string{"b": "b"})
	if made := snapshot(t, f); !slices.Equal(paths(made.Tree), []string{"b"}) || len(made.Left) > 0 {
		t.Errorf("made anew it holds %q, left out %v", paths(made.Tree), made.Left)
	}
}

func TestAWorkspaceOverItsLimits(t *testing.T) {
	s := openStore(t)
	f := began(t, s, Options{Limits: Limits{Size: 1000, Files: 5}}, map[string]string{"a": "a"})
	write(t, f.Dir, map[string]string{"grows": strings.Repeat("x", 999)})
	within := snapshot(t, f)
	for name, over := range map[string]func() error{
		"a file that grew": func() error { return os.Truncate(filepath.Join(f.Dir, "grows"), 1000) },
		"too many folders": func() error {
			return errors.Join(os.Truncate(filepath.Join(f.Dir, "grows"), 1), os.MkdirAll(filepath.Join(f.Dir, "1/2/3/4"), 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			must(t, over())
			if _, err := f.Snapshot(context.Background()); !errors.Is(err, ErrLimit) {
				t.Errorf("got %v", err)
			}
			must(t, errors.Join(os.RemoveAll(filepath.Join(f.Dir, "1")), os.WriteFile(filepath.Join(f.Dir, "grows"), []byte(strings.Repeat("x", 999)), 0o644)))
			if back := snapshot(t, f); back.Tree.ID != within.Tree.ID {
				t.Error("within its limits again, the folder is another tree")
			}
		})
	}
}

// The file costs neither disk nor memory.
func TestAFileOfAGigabyteOfHoles(t *testing.T) {
	if testing.Short() {
		t.Skip("hashing a gigabyte takes seconds")
	}
	s := openStore(t)
	f := began(t, s, Options{}, map[string]string{"huge": "begin"})
	const size = 1 << 30
	must(t, os.Truncate(filepath.Join(f.Dir, "huge"), size))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	made := snapshot(t, f)
	copied := restored(t, s, made.Tree)
	runtime.ReadMemStats(&after)
	if grown := int64(after.Sys) - int64(before.Sys); grown > 100<<20 {
		t.Errorf("it took %d bytes of memory", grown)
	}
	if e := made.Tree.Find("huge"); e.Size != size {
		t.Errorf("kept as %+v", e)
	}
	info, err := os.Stat(filepath.Join(copied, "huge"))
	if err != nil || info.Size() != size {
		t.Fatalf("restored with %d bytes: %v", info.Size(), err)
	}
	if blocks := info.Sys().(*syscall.Stat_t).Blocks * 512; blocks > 4<<20 {
		t.Errorf("restored, it takes %d bytes of the disk", blocks)
	}
	if kept := storeSize(t, s); kept > 1<<20 {
		t.Errorf("it takes %d bytes of the store", kept)
	}
}

func TestNamesAreBytes(t *testing.T) {
	s := openStore(t)
	f := began(t, s, Options{}, nil)
	files := map[string]string{"Readme": "1", "README": "2", "caf\xe9": "3", "cafe\u0301": "4", "caf\u00e9": "5", "-rf": "6", "new\nline": "7", `back\slash`: "8"}
	write(t, f.Dir, files)
	made := snapshot(t, f)
	if runtime.GOOS == "linux" && len(made.Tree.Entries) != len(files) { // elsewhere some of these are one name
		t.Errorf("kept %q", paths(made.Tree))
	}
	copied := restored(t, s, made.Tree)
	if want, got := seen(t, f.Dir), seen(t, copied); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("restored %q", got)
	}
}

// A file system that does not tell two names apart finds the second there already.
func TestNamesThatCollideAreAnError(t *testing.T) {
	s := openStore(t)
	hash, size, err := s.putFile(context.Background(), strings.NewReader("x"))
	must(t, err)
	for _, twice := range []Entry{{Path: "a", Kind: KindFile, Mode: 0o644, Size: size, Hash: hash}, {Path: "a", Kind: KindFolder, Mode: 0o755}, {Path: "a", Kind: KindLink, Link: "x"}} {
		dir := filepath.Join(t.TempDir(), "run")
		_, err := s.Restore(context.Background(), newTree([]Entry{twice, twice}), dir, Options{})
		if err == nil || !strings.Contains(err.Error(), "does not tell") {
			t.Errorf("got %v", err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a part is left: %v", err)
		}
	}
}

func TestRestoreNeedsAnEmptyFolder(t *testing.T) {
	s := openStore(t)
	f := began(t, s, Options{}, map[string]string{"a": "a"})
	if _, err := s.Restore(context.Background(), f.base, f.Dir, Options{}); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("got %v", err)
	}
	if got := seen(t, f.Dir); len(got) != 1 {
		t.Errorf("the folder that was there is now %q", got)
	}
	if _, err := s.Restore(context.Background(), f.base, t.TempDir(), Options{}); err != nil {
		t.Error(err)
	}
}

func TestRepositoriesBelowAreKeptWhole(t *testing.T) {
	s := openStore(t)
	files := map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/objects/ab/cd": "\x00", ".gitignore": "ignored\n", "ignored": "kept", "nested/.git/HEAD": "x", "nested/f": "f", "sub/.git": "gitdir: ../.git/modules/sub\n", ".gitattributes": "* text eol=crlf\n", "text": "a\nb\r\n"}
	f := began(t, s, Options{}, files)
	must(t, os.MkdirAll(filepath.Join(f.Dir, ".git/refs/heads"), 0o755))
	made := snapshot(t, f)
	copied := restored(t, s, made.Tree)
	got := seen(t, copied)
	for name, content := range files {
		if got[name] != "-rw-r--r-- "+content {
			t.Errorf("%s is %q", name, got[name])
		}
	}
	if got[".git/refs/heads"] == "" {
		t.Error("an empty folder is missing")
	}
}

// grower appends to a file whenever it was read.
type grower struct {
	context.Context
	file string
	t    *testing.T
	left int
}

// Err is asked between the parts of a file.
func (g *grower) Err() error {
	if g.left > 0 {
		g.left--
		f, err := os.OpenFile(g.file, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			g.t.Error(err)
			return err
		}
		defer f.Close()
		f.WriteString("more")
	}
	return g.Context.Err()
}

func TestAFileThatChangesWhileItIsRead(t *testing.T) {
	s := openStore(t)
	f := began(t, s, Options{}, nil)
	write(t, f.Dir, map[string]string{"log": strings.Repeat("x", 2*chunkSize), "still": "x"})
	info, err := os.Lstat(filepath.Join(f.Dir, "log"))
	must(t, err)
	root, err := os.OpenRoot(f.Dir)
	must(t, err)
	defer root.Close()
	w := &walk{store: s}
	ctx := &grower{context.Background(), filepath.Join(f.Dir, "log"), t, 1}
	read, size, err := w.file(ctx, root, "log", info)
	if err != nil || size != 2*chunkSize+4 {
		t.Errorf("a file that changed once is read again: %d bytes, %v", size, err)
	}
	if content, err := s.ReadFile(Entry{Path: "log", Hash: read.hash, Size: size}, 3*chunkSize); err != nil || !strings.HasSuffix(string(content), "xmore") {
		t.Errorf("it was kept without its end: %v", err)
	}
	ctx.left = 1000
	if _, _, err := w.file(ctx, root, "log", info); !errors.Is(err, errUnsteady) {
		t.Errorf("a file that never stands still: %v", err)
	}
	if err := w.leave("log", err); err == nil && len(w.left) > 0 {
		t.Error("leave reports no error as one")
	}
}

func TestFilesOverAStateFollowNoLink(t *testing.T) {
	s := openStore(t)
	outside := t.TempDir()
	write(t, outside, map[string]string{"a_test.go": "host's"})
	hidden := map[string]string{"tests/a_test.go": "hidden", "b_test.go": "hidden", "c/d": "hidden", "kept/e": "hidden"}
	f := began(t, s, Options{}, map[string]string{"c": "a file", "b_test.go/x": "a folder", "kept/f": "stays", "real/a_test.go": "not this"})
	must(t, errors.Join(os.Symlink(outside, filepath.Join(f.Dir, "tests")), os.Chmod(filepath.Join(f.Dir, "kept"), 0o700)))
	overlaid := func() map[string]string {
		t.Helper()
		tree, err := s.Over(context.Background(), snapshot(t, f).Tree, hidden)
		must(t, err)
		return seen(t, restored(t, s, tree))
	}
	want := map[string]string{
		"tests": "drwxr-xr-x ", "tests/a_test.go": "-rw-r--r-- hidden", "b_test.go": "-rw-r--r-- hidden", "c": "drwxr-xr-x ", "c/d": "-rw-r--r-- hidden",
		"kept": "drwx------ ", "kept/e": "-rw-r--r-- hidden", "kept/f": "-rw-r--r-- stays", "real": "drwxr-xr-x ", "real/a_test.go": "-rw-r--r-- not this",
	}
	if got := overlaid(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
	// Inside of the workspace no link is followed either, nor one that takes the place of the file.
	must(t, errors.Join(os.RemoveAll(filepath.Join(f.Dir, "tests")), os.Symlink("real", filepath.Join(f.Dir, "tests")), os.RemoveAll(filepath.Join(f.Dir, "b_test.go")), os.Symlink(filepath.Join(outside, "a_test.go"), filepath.Join(f.Dir, "b_test.go"))))
	if got := overlaid(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
	if content, err := os.ReadFile(filepath.Join(outside, "a_test.go")); err != nil || string(content) != "host's" {
		t.Errorf("outside of the workspace there is now %q: %v", content, err)
	}
}

// Where two files can share blocks, an edit of one still leaves the other alone, and a kept file that
// somebody changed is not cloned.
func TestClonedFilesAreFilesOfTheirOwn(t *testing.T) {
	dir := t.TempDir()
	if !clones(dir, dir) {
		t.Skip("files cannot be cloned on the file system of TMPDIR")
	}
	s := openStore(t)
	f := began(t, s, Options{}, map[string]string{"a": strings.Repeat("a", worthCloning), "b": strings.Repeat("b", 5000)})
	kept, err := s.keep(context.Background(), f.base, f.Dir)
	if err != nil || kept == nil {
		t.Fatalf("nothing is kept: %v", err)
	}
	for _, path := range []string{"a", "b"} { // also those that were written just now
		info, err := os.Stat(filepath.Join(kept.Dir, path))
		must(t, err)
		now, _ := stampOf(info)
		kept.known[path] = known{now, f.base.Find(path).Hash}
	}
	dirs := []string{restored(t, s, f.base), restored(t, s, f.base)}
	target, err := os.Create(filepath.Join(dir, "target"))
	must(t, err)
	defer target.Close()
	if err := kept.cloneTo(target, *f.base.Find("a")); err != nil {
		t.Errorf("an untouched file is not cloned: %v", err)
	}
	write(t, dirs[0], map[string]string{"b": "edited"})
	want := map[string]string{"a": "-rw-r--r-- " + strings.Repeat("a", worthCloning), "b": "-rw-r--r-- " + strings.Repeat("b", 5000)}
	if got := seen(t, dirs[1]); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Error("an edit in one copy is seen in another")
	}
	write(t, kept.Dir, map[string]string{"b": strings.Repeat("x", 5000)})
	if err := kept.cloneTo(target, *f.base.Find("b")); err == nil {
		t.Error("a kept file that was changed is cloned")
	}
	if got := seen(t, restored(t, s, f.base)); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Error("a kept file that was changed is restored")
	}
}

// Each folder is found from the first one: what is nested without end would take the square of its depth.
func TestFoldersThatAreNestedDeeplyAreLeftOut(t *testing.T) {
	f := began(t, openStore(t), Options{}, nil)
	root, err := os.OpenRoot(f.Dir)
	must(t, err)
	defer func() { root.Close() }()
	for range 3000 {
		must(t, root.Mkdir("d", 0o755))
		below, err := root.OpenRoot("d")
		must(t, err)
		root.Close()
		root = below
	}
	shot := snapshot(t, f)
	if len(shot.Left) != 1 || len(shot.Tree.Entries) != mostLevels || !strings.Contains(shot.Left[0].Reason, "nested deeper than 256") {
		t.Errorf("%d entries, left out: %.300v", len(shot.Tree.Entries), shot.Left)
	}
}

func TestNothingOfTheStoreIsWrittenThroughALink(t *testing.T) {
	for _, name := range []string{filesFolder, treesFolder, scratchFolder} {
		s, elsewhere := openStore(t), filepath.Join(t.TempDir(), "elsewhere")
		must(t, errors.Join(os.MkdirAll(s.dir, 0o755), os.Symlink(elsewhere, filepath.Join(s.dir, name))))
		if _, err := s.Plant(context.Background(), Seed{Files: map[string]string{"a": "a"}}, Limits{}); err == nil {
			t.Errorf("a link was taken for %s", name)
		}
		if _, err := os.Stat(elsewhere); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what a link leads to was written: %v", err)
		}
	}
}
