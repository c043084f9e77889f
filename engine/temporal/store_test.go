package temporal

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/exit"
)

// s3 is a server that speaks S3, in a process of its own, with a bucket; what it gives are the variables that name it.
func s3(t testing.TB) func(string) string {
	t.Helper()
	path, dir := built(t, gatewayVersion, "versitygw"), t.TempDir()
	address, err := freeAddress()
	check(t, errors.Join(err, os.Mkdir(filepath.Join(dir, "bench"), 0o755)))
	var said bytes.Buffer
	c := exec.Command(path, "--port", address, "--access", "id", "--secret", "key", "--quiet", "posix", "--sidecar", t.TempDir(), dir)
	c.Stdout, c.Stderr = &said, &said
	check(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	await(t, "the server listens", func() bool {
		there, err := net.Dial("tcp", address)
		if err == nil {
			there.Close()
		}
		return err == nil
	})
	return variables("http://" + address)
}

func variables(address string) func(string) string {
	values := map[string]string{"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_REGION": "us-east-1"}
	return func(name string) string { return values[name] }
}

func nothing(string) string { return "" }

// Stores of every kind keep what was written first, however many write at once, and files as
// well, however large they are.
func TestStores(t *testing.T) {
	for name, open := range map[string]func(*testing.T) (Store, error){
		"folder": func(t *testing.T) (Store, error) { return OpenStore(t.Context(), t.TempDir(), nothing) },
		"s3":     func(t *testing.T) (Store, error) { return OpenStore(t.Context(), "s3://bench/some/prefix", s3(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			store, err := open(t)
			check(t, err)
			if _, err := store.Read(t.Context(), "runs/a/b"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("nothing is there, and the error is %v", err)
			}
			var created atomic.Int64
			var writers sync.WaitGroup
			for i := range 8 {
				writers.Go(func() {
					mine, err := store.Create(context.Background(), "runs/a/b", []byte(strings.Repeat(string(rune('a'+i)), 5000)))
					if err != nil {
						t.Error(err)
					}
					if mine {
						created.Add(1)
					}
				})
			}
			writers.Wait()
			asked, moves := movesOf(t)
			content, err := store.Read(asked, "runs/a/b")
			moves("reading")
			if err != nil || created.Load() != 1 || len(content) != 5000 || strings.Trim(string(content), string(content[0])) != "" {
				t.Errorf("%d wrote, %d bytes are there, %v", created.Load(), len(content), err)
			}
			from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
			large := bytes.Repeat([]byte("0123456789abcde\n"), 20<<16) // S3 takes it in parts
			if testing.Short() {
				large = large[:1<<20]
			}
			check(t, os.WriteFile(from, large, 0o644))
			err = store.Fetch(t.Context(), "states/a", to)
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("nothing is there, and the error is %v", err)
			}
			asked, moves = movesOf(t)
			err = store.Send(asked, "states/a", from)
			moves("sending")
			asked, moves = movesOf(t)
			err = errors.Join(err, store.Fetch(asked, "states/a", to), store.Send(t.Context(), "states/a", from))
			moves("fetching")
			if read, unread := os.ReadFile(to); err != nil || unread != nil || !bytes.Equal(read, large) {
				t.Errorf("%d of %d bytes came: %v, %v", len(read), len(large), err, unread)
			}
			if err := store.Remove(t.Context(), "runs/a/b"); err != nil {
				t.Error(err)
			}
			if _, err := store.Read(t.Context(), "runs/a/b"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it was removed, and the error is %v", err)
			}
		})
	}
}

// movesOf is a context of a call, and fails where no byte of it moved.
func movesOf(t *testing.T) (context.Context, func(doing string)) {
	c := &call{began: time.Now()}
	return context.WithValue(t.Context(), callKey{}, c), func(doing string) {
		t.Helper()
		if c.moved.Load() == 0 {
			t.Errorf("%s makes no progress", doing)
		}
	}
}

// What is wrong with a store is reported before anything is run.
func TestOpenStoreReportsWhatIsWrong(t *testing.T) {
	readOnly := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(readOnly, nil, 0o644))
	variables := s3(t)
	for address, want := range map[string]string{
		"":                "--store is missing",
		readOnly + "/in":  "not a directory",
		"s3://absent/x":   "The specified bucket does not exist",
		"s3:///x":         "the address names no bucket",
		"/proc/self/none": "the store /proc/self/none cannot be used",
	} {
		_, err := OpenStore(t.Context(), address, variables)
		var failed *exit.Error
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &failed) {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
	}
	unanswered, err := net.Listen("tcp", "127.0.0.1:0") // connections are accepted, and that is all
	check(t, err)
	defer unanswered.Close()
	mute := func(name string) string {
		if name == "AWS_ENDPOINT_URL" {
			return "http://" + unanswered.Addr().String()
		}
		return "us-east-1"
	}
	if _, err := openStore(t.Context(), "s3://bench/x", mute, 200*time.Millisecond); err == nil || !strings.Contains(err.Error(), "the store s3://bench/x cannot be used: it has not answered for 200ms") {
		t.Errorf("a store that does not answer: %v", err)
	}
	full := &faulty{Store: folderStore(t.TempDir()), kind: "Create", refuses: 1}
	if err := probe(t.Context(), full); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("a full store: %v", err)
	}
}

// A suite's folder travels whole, but for results, what may hold secrets and what .gitignore names. Nothing leads out of it.
func TestPack(t *testing.T) {
	from, into := t.TempDir(), filepath.Join(t.TempDir(), "suite")
	write := func(name, text string, mode fs.FileMode) {
		path := filepath.Join(from, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, []byte(text), mode))
	}
	write("suite.yaml", "suite: a", 0o644)
	write("bin/check.sh", "#!/bin/sh", 0o755)
	write("results/r/records.jsonl", "{}", 0o644)
	write("mine/manifest.json", "{}", 0o644)
	write("mine/records.jsonl", "", 0o644)
	write("seed/manifest.json", "{}", 0o644)
	write("seed/results/expected.json", "{}", 0o664)
	write("seed/.git/HEAD", "ref", 0o644)
	for name, mode := range map[string]fs.FileMode{"seed/empty": 0o775, "seed/closed": 0o555} {
		check(t, errors.Join(os.Mkdir(filepath.Join(from, name), 0o755), os.Chmod(filepath.Join(from, name), mode)))
	}
	if err := os.Chmod(filepath.Join(from, "seed/results/expected.json"), 0o664); err != nil { // whatever the umask
		t.Fatal(err)
	}
	write(".git/HEAD", "ref", 0o644)
	write(".gitignore", "# what is built\n/build/\n*.log\n!keep.log\ndata/*\n!data/tasks.jsonl\n!.env\n", 0o644)
	for _, name := range []string{".env", "seed/.env.local", "seed/key.pem", ".netrc", "build/out", "bin/run.log", "keep.log", "seed/build/kept", "data/tasks.jsonl", "data/rest"} {
		write(name, "x", 0o644)
	}
	check(t, os.Symlink("check.sh", filepath.Join(from, "bin/link")))
	states, store := openStates(t, t.TempDir()), folderStore(t.TempDir())
	take := func(repository bool, reads ...string) (suiteFiles, error) {
		return takeSuite(t.Context(), states, from, repository, reads)
	}
	travel := func(f suiteFiles, into string) {
		t.Helper()
		check(t, (&sender{store: store, states: states, dir: t.TempDir()}).seed(t.Context(), f.tree.ID))
		check(t, fetchSuite(t.Context(), store, f.tree.ID.String(), into))
	}
	f, err := take(false)
	check(t, err)
	left := []string{".env", ".netrc", "bin/run.log", "build", "data/rest", "seed/.env.local", "seed/key.pem"}
	if want := "9 files (98 bytes), without " + strings.Join(left, ", "); f.String() != want {
		t.Errorf("it says %s, want %s", f.String(), want)
	}
	if again, err := take(false); err != nil || again.tree.ID != f.tree.ID {
		t.Errorf("sent again it has another name: %v", err)
	}
	for range 2 {
		travel(f, into)
	}
	info, err := os.Stat(filepath.Join(into, "bin/link"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the script: %v, %v", info, err)
	}
	for _, gone := range append(left, "results", ".git", "mine") {
		if _, err := os.Stat(filepath.Join(into, gone)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s travelled: %v", gone, err)
		}
	}
	for name, mode := range map[string]fs.FileMode{
		"seed": fs.ModeDir | 0o755, "seed/manifest.json": 0o644, "seed/.git/HEAD": 0o644, "seed/empty": fs.ModeDir | 0o775, "seed/closed": fs.ModeDir | 0o555, "seed/results/expected.json": 0o664,
		"keep.log": 0o644, "seed/build/kept": 0o644, "data/tasks.jsonl": 0o644,
	} {
		if info, err := os.Stat(filepath.Join(into, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s did not travel as it was: %v", name, err)
		}
	}
	f, err = take(true)
	check(t, err)
	travel(f, into+"1")
	if _, err := os.Stat(filepath.Join(into+"1", ".git/HEAD")); err != nil {
		t.Errorf("the repository that a loop needs did not travel: %v", err)
	}
	for _, reads := range []string{"bin/run.log", "build/out", ".env"} {
		var wrong *exit.Error
		if _, err := take(false, "data/tasks.jsonl", reads); !errors.As(err, &wrong) || wrong.Hint == "" || !strings.Contains(err.Error(), "the suite reads files that are not sent to workers") {
			t.Errorf("a suite that reads %s: %v", reads, err)
		}
	}
	for _, target := range []string{"../../etc/passwd", "/etc/passwd"} {
		check(t, os.Symlink(target, filepath.Join(from, "bin/out")))
		if _, err := take(false); err == nil || !strings.Contains(err.Error(), "the link bin/out leads out of the suite's folder") {
			t.Errorf("a link to %s: %v", target, err)
		}
		check(t, os.Remove(filepath.Join(from, "bin/out")))
	}
}
