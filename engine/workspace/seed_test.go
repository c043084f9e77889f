package workspace

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// held is a tree as its kinds, modes and bytes by path.
func held(t testing.TB, s *Store, tree *Tree) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, e := range tree.Entries {
		content := e.Link
		if e.Kind == KindFile {
			raw, err := s.ReadFile(e, 1<<20)
			must(t, err)
			content = string(raw)
		}
		all[e.Path] = string("?dfl"[e.Kind]) + e.Mode.String()[1:] + " " + content
	}
	return all
}

func TestFilesAreWrittenOverASeed(t *testing.T) {
	s := openStore(t)
	from := filepath.Join(t.TempDir(), "seed")
	write(t, from, map[string]string{"a": "old", "folder/x": "x"})
	must(t, errors.Join(os.Chmod(filepath.Join(from, "a"), 0o755), os.Symlink("/etc", filepath.Join(from, "link"))))
	planted, err := s.Plant(context.Background(), Seed{From: from, Files: map[string]string{"a": "new", "link/b": "b", "folder": "file", "deep/er": "d"}}, Limits{Size: 10})
	must(t, err)
	want := map[string]string{
		"a": "frwxr-xr-x new", "deep": "drwxr-xr-x ", "deep/er": "frw-r--r-- d", "folder": "frw-r--r-- file", "link": "drwxr-xr-x ", "link/b": "frw-r--r-- b",
	}
	if got := held(t, s, planted.Tree); !maps.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if _, err := s.Plant(context.Background(), Seed{Files: map[string]string{"../a": ""}}, Limits{}); err == nil {
		t.Error("a path that leaves was accepted")
	}
}

func TestSeedsThatShareARepositoryAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		link  string
		want  string
	}{
		"a worktree of the host":       {map[string]string{".git": "gitdir: /home/me/repo/.git/worktrees/x\n"}, "", "outside of the seed"},
		"a submodule without its home": {map[string]string{"sub/.git": "gitdir: ../../.git/modules/sub\n"}, "", "outside of the seed"},
		"a submodule with its home":    {map[string]string{"sub/.git": "gitdir: ../.git/modules/sub\n"}, "", ""},
		"a repository that is a link":  {map[string]string{"a": ""}, "/home/me/repo/.git", "outside of the seed"},
		"borrowed objects":             {map[string]string{".git/objects/info/alternates": "/home/me/repo/.git/objects\n"}, "", "borrows objects"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "seed")
			write(t, dir, c.files)
			if c.link != "" {
				must(t, os.Symlink(c.link, filepath.Join(dir, ".git")))
			}
			_, err := openStore(t).Plant(context.Background(), Seed{From: dir}, Limits{})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSeedsThatCannotBeRead(t *testing.T) {
	s := openStore(t)
	dir := t.TempDir()
	write(t, dir, map[string]string{"notes.txt": "x", "a.tar": "x"})
	for from, want := range map[string]string{"missing": "no such file", "notes.txt": "want a folder", "a.tar": "want a folder"} {
		_, err := s.Plant(context.Background(), Seed{From: filepath.Join(dir, from)}, Limits{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), from) {
			t.Errorf("%s: %v", from, err)
		}
	}
	if _, err := s.Plant(context.Background(), Seed{From: filepath.Dir(s.dir)}, Limits{}); err == nil || !strings.Contains(err.Error(), "holds the store") {
		t.Errorf("a folder that holds the store: %v", err)
	}
}

// needGit makes a repository with two commits, of which the branch old has the first.
func needGit(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := filepath.Join(t.TempDir(), "repo")
	write(t, dir, map[string]string{
		"a.txt": "one\n", "bin/run": "run\n", ".gitattributes": "*.txt text eol=crlf filter=evil\nsecret export-ignore\n", "secret": "kept\n", "n\xff\n": "odd\n",
	})
	must(t, errors.Join(os.Chmod(filepath.Join(dir, "bin/run"), 0o755), os.Symlink("/etc/passwd", filepath.Join(dir, "link"))))
	commands := [][]string{{"init", "-q", "-b", "main"}, {"-c", "core.autocrlf=false", "add", "-A"}, {"update-index", "--add", "--cacheinfo", "160000,1111111111111111111111111111111111111111,module"}}
	commands = append(commands, []string{"commit", "-qm", "one"}, []string{"branch", "old"}, []string{"tag", "v1"})
	for _, command := range commands {
		run(t, dir, append([]string{"git", "-c", "user.name=x", "-c", "user.email=x@x"}, command...)...)
	}
	write(t, dir, map[string]string{"a.txt": "two\n"})
	run(t, dir, "git", "add", "a.txt")
	run(t, dir, "git", "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "two")
	return dir
}

func TestASeedOfACommit(t *testing.T) {
	dir := needGit(t)
	// What a repository configures is code that a host must not run.
	mark := filepath.Join(t.TempDir(), "ran")
	for _, command := range [][]string{
		{"config", "filter.evil.smudge", "touch " + mark}, {"config", "filter.evil.clean", "touch " + mark}, {"config", "core.fsmonitor", "touch " + mark}, {"config", "uploadpack.packObjectsHook", "touch " + mark},
	} {
		run(t, dir, append([]string{"git"}, command...)...)
	}
	hook := filepath.Join(dir, ".git/hooks/post-checkout")
	write(t, dir, map[string]string{".git/hooks/post-checkout": "#!/bin/sh\ntouch " + mark})
	must(t, os.Chmod(hook, 0o755))
	t.Setenv("GIT_EXTERNAL_DIFF", "touch "+mark)
	t.Setenv("GIT_DIR", "/nowhere")

	commit, err := exec.Command("git", "--git-dir", filepath.Join(dir, ".git"), "rev-parse", "old").Output()
	must(t, err)
	s := openStore(t)
	for ref, first := range map[string]string{"": "two\n", "main": "two\n", "old": "one\n", "v1": "one\n", "main~1": "one\n", strings.TrimSpace(string(commit)): "one\n", string(commit[:9]): "one\n"} {
		planted, err := s.Plant(context.Background(), Seed{Git: &GitSeed{Repository: dir, Ref: ref}}, Limits{})
		if err != nil {
			t.Errorf("%q: %v", ref, err)
			continue
		}
		got := held(t, s, planted.Tree)
		want := map[string]string{
			".gitattributes": "frw-r--r-- *.txt text eol=crlf filter=evil\nsecret export-ignore\n", "a.txt": "frw-r--r-- " + first, "bin": "drwxr-xr-x ",
			"bin/run": "frwxr-xr-x run\n", "link": "l--------- /etc/passwd", "module": "drwxr-xr-x ", "secret": "frw-r--r-- kept\n", "n\xff\n": "frw-r--r-- odd\n",
		}
		if !maps.Equal(got, want) {
			t.Errorf("%q: got %q", ref, got)
		}
		if len(planted.Left) != 1 || planted.Left[0].Path != "module" {
			t.Errorf("%q: left out: %v", ref, planted.Left)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("something that the repository or the environment configures was run")
	}
	for _, bad := range []string{"nowhere", "--upload-pack=touch " + mark, "a:b"} {
		if _, err := s.Plant(context.Background(), Seed{Git: &GitSeed{Repository: dir, Ref: bad}}, Limits{}); err == nil {
			t.Errorf("ref %q was accepted", bad)
		}
	}
	for _, bad := range []string{"ext::sh -c 'touch " + mark + "'", "--upload-pack=touch " + mark, filepath.Join(dir, "nowhere")} {
		if _, err := s.Plant(context.Background(), Seed{Git: &GitSeed{Repository: bad}}, Limits{}); err == nil {
			t.Errorf("repository %q was accepted", bad)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a URL or ref was run")
	}
	if _, err := s.Plant(context.Background(), Seed{Git: &GitSeed{Repository: dir}}, Limits{Size: 10}); !errors.Is(err, ErrLimit) {
		t.Errorf("over the limit: %v", err)
	}
}

func TestASeedBecomesARepository(t *testing.T) {
	needGit(t)
	seed := Seed{Repository: true, Files: map[string]string{"a.txt": "a\r\n", ".gitattributes": "* text=auto\n", "sub/.git/HEAD": "ref: refs/heads/x\n", "sub/b": "b", "q\"\\\nx": "q"}}
	var first *Planted
	for range 2 { // in stores of their own
		s := openStore(t)
		planted, err := s.Plant(context.Background(), seed, Limits{Files: 10})
		must(t, err)
		if first == nil {
			first = planted
		}
		if planted.Tree.ID != first.Tree.ID || planted.Identity != first.Identity {
			t.Errorf("the repository differs from time to time: %v and %v", paths(planted.Tree), paths(first.Tree))
		}
		dir := restored(t, s, planted.Tree)
		for _, c := range []struct{ ask, want string }{
			{"git log --format=%an:%ad:%s --date=short", "agentbench:2000-01-01:seed"},
			{"git symbolic-ref HEAD", "refs/heads/main"},
			{"git ls-files -z | tr '\\0' ' '", ".gitattributes a.txt q\"\\\nx "},
			{"git diff HEAD --name-only", ""},
			{"git fsck --strict", ""},
			{"echo more >> a.txt && git commit -qam more && git rev-list --count HEAD", "2"},
		} {
			command := exec.Command("sh", "-c", c.ask)
			command.Dir = dir
			command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
			out, err := command.CombinedOutput()
			if got := strings.TrimSuffix(string(out), "\n"); err != nil || got != c.want {
				t.Errorf("%s: %q, want %q: %v", c.ask, got, c.want, err)
			}
		}
	}
	plain := seed
	plain.Repository = false
	s := openStore(t)
	without, err := s.Plant(context.Background(), plain, Limits{})
	must(t, err)
	if without.Identity == first.Identity || without.Identity != without.Tree.ID {
		t.Error("a repository has the identity of what it was made of")
	}
	own := Seed{Repository: true, Files: map[string]string{".git/HEAD": "mine"}}
	kept, err := s.Plant(context.Background(), own, Limits{})
	if err != nil || !slices.Equal(paths(kept.Tree), []string{".git", ".git/HEAD"}) {
		t.Errorf("a repository of its own: %v", err)
	}
}

func TestGitThatIsMissingIsAClearError(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s := openStore(t)
	for _, seed := range []Seed{{Git: &GitSeed{Repository: t.TempDir()}}, {Repository: true}} {
		if _, err := s.Plant(context.Background(), seed, Limits{}); !errors.Is(err, errNoGit) {
			t.Errorf("got %v", err)
		}
	}
}

func TestASeedIsReadOnce(t *testing.T) {
	s := openStore(t)
	dir := filepath.Join(t.TempDir(), "repo")
	write(t, dir, map[string]string{"a": "1"})
	first := plantFolder(t, s, dir)
	write(t, dir, map[string]string{"a": "2"})
	if second := plantFolder(t, s, dir); second != first {
		t.Error("later runs of the task begin with other bytes")
	}
	other, err := Open(s.dir)
	must(t, err)
	defer other.Close()
	if third := plantFolder(t, other, dir); third.ID == first.ID {
		t.Error("another session does not see that the seed has changed")
	}
}

func TestASetupIsMadeOnce(t *testing.T) {
	s := openStore(t)
	seed := began(t, s, Options{}, map[string]string{"package.json": "{}"}).base
	var made atomic.Int32
	install := func(dir string) error {
		made.Add(1)
		if _, err := os.Stat(filepath.Join(dir, "package.json")); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "installed"), []byte("yes"), 0o644)
	}
	failing := errors.New("npm ci: exit 1")
	if _, err := s.Setup(context.Background(), seed, "key", Limits{}, func(dir string) error { return errors.Join(install(dir), failing) }); !errors.Is(err, failing) {
		t.Fatalf("got %v", err)
	}
	left, err := filepath.Glob(filepath.Join(s.dir, s.scratch, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("the failed setup left %v: %v", left, err)
	}
	var all sync.WaitGroup
	ids := make([]ID, 8)
	for i := range ids {
		all.Go(func() {
			tree, err := s.Setup(context.Background(), seed, "key", Limits{}, install)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = tree.ID
		})
	}
	all.Wait()
	if made.Load() != 2 || slices.Contains(ids, ID{}) || len(slices.Compact(ids)) != 1 {
		t.Errorf("made %d times, one of which failed; %v", made.Load(), ids)
	}
	if tree, err := s.Tree(ids[0]); err != nil || !slices.Equal(paths(tree), []string{"installed", "package.json"}) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Setup(context.Background(), seed, "other key", Limits{Files: 1}, install); !errors.Is(err, ErrLimit) {
		t.Errorf("a setup over the limits: %v", err)
	}
}
