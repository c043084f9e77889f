package workspace

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

func changes(t testing.TB, s *Store, from, to *Tree, most int) Changes {
	t.Helper()
	c, err := s.Changes(context.Background(), from, to, most)
	must(t, err)
	return c
}

func TestChanges(t *testing.T) {
	s := openStore(t)
	f := began(t, s, Options{}, map[string]string{
		"changed.txt": "one\ntwo\nthree\n", "deleted.txt": "gone\n", "mode.sh": "run\n", "same": "same", "binary": "a\x00b", "large": strings.Repeat("x", chunkSize+1),
	})
	must(t, errors.Join(
		os.Remove(filepath.Join(f.Dir, "deleted.txt")),
		os.Chmod(filepath.Join(f.Dir, "mode.sh"), 0o755),
		os.Symlink("same", filepath.Join(f.Dir, "link")),
		os.Mkdir(filepath.Join(f.Dir, "empty"), 0o755),
	))
	write(t, f.Dir, map[string]string{
		"changed.txt": "one\n2\n2b\nthree\n", "sub/added\n.txt": "first\nlast", "binary": "b\x00b", "large": strings.Repeat("y", chunkSize+1), "latin": "caf\xe9\n",
	})
	made := snapshot(t, f)
	c := changes(t, s, f.base, made.Tree, 10_000)
	if want := []string{"binary", "changed.txt", "large", "mode.sh"}; !slices.Equal(c.Changed, want) {
		t.Errorf("changed %q", c.Changed)
	}
	if want := []string{"latin", "link", "sub/added\n.txt"}; !slices.Equal(c.Added, want) {
		t.Errorf("added %q", c.Added)
	}
	if want := []string{"deleted.txt"}; !slices.Equal(c.Deleted, want) {
		t.Errorf("deleted %q", c.Deleted)
	}
	const want = `diff --git a/binary b/binary
Binary files a/binary and b/binary differ
diff --git a/changed.txt b/changed.txt
--- a/changed.txt
+++ b/changed.txt
@@ -1,3 +1,4 @@
 one
-two
+2
+2b
 three
diff --git a/deleted.txt b/deleted.txt
deleted file mode 100644
--- a/deleted.txt
+++ /dev/null
@@ -1,1 +0,0 @@
-gone
diff --git a/large b/large
Binary files a/large and b/large differ
diff --git a/latin b/latin
new file mode 100644
--- /dev/null
+++ b/latin
@@ -0,0 +1,1 @@
+caf` + "\uFFFD" + `
diff --git a/link b/link
new file mode 120000
--- /dev/null
+++ b/link
@@ -0,0 +1,1 @@
+same
\ No newline at end of file
diff --git a/mode.sh b/mode.sh
old mode 100644
new mode 100755
diff --git "a/sub/added\n.txt" "b/sub/added\n.txt"
new file mode 100644
--- /dev/null
+++ "b/sub/added\n.txt"
@@ -0,0 +1,2 @@
+first
+last
\ No newline at end of file
`
	if c.Diff != want || c.Truncated {
		t.Errorf("truncated %v:\n%s", c.Truncated, c.Diff)
	}
	if c.Insertions != 6 || c.Deletions != 2 {
		t.Errorf("%d insertions, %d deletions", c.Insertions, c.Deletions)
	}

	short := changes(t, s, f.base, made.Tree, 150)
	if !short.Truncated || len(short.Diff) > 150 || !strings.HasPrefix(want, short.Diff) || !strings.HasSuffix(short.Diff, "\n") {
		t.Errorf("truncated %v: %q", short.Truncated, short.Diff)
	}
	if short.Insertions != c.Insertions || len(short.Added) != len(c.Added) {
		t.Errorf("what was cut is not counted: %+v", short)
	}
	if same := changes(t, s, made.Tree, made.Tree, 100); same.Diff != "" || same.Truncated || same.Changed != nil {
		t.Errorf("a tree differs from itself: %+v", same)
	}
}

// What a diff shows is what git makes of it: applied to the one tree it gives the other.
func TestTheDiffAppliedGivesTheOtherTree(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	s := openStore(t)
	text := rapid.Custom(func(t *rapid.T) string {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "+", "-x", "@@"}), 0, 12).Draw(t, "lines")
		return strings.Join(lines, "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end")
	})
	files := rapid.MapOfN(rapid.SampledFrom([]string{"a", "sub/b", "sub/c d", "\"e\""}), text, 0, 4)
	propertytest.CheckCases(t, 25, func(r *rapid.T) {
		var trees []*Tree
		for _, name := range []string{"from", "to"} {
			planted, err := s.Plant(context.Background(), Seed{Files: files.Draw(r, name)}, Limits{})
			must(r, err)
			trees = append(trees, planted.Tree)
		}
		c := changes(t, s, trees[0], trees[1], 1<<20)
		dir := filepath.Join(t.TempDir(), "run")
		f, err := s.Restore(context.Background(), trees[0], dir, Options{})
		must(r, err)
		if c.Diff != "" {
			apply := exec.Command("git", "apply", "--whitespace=nowarn", "-")
			apply.Dir, apply.Stdin = dir, strings.NewReader(c.Diff)
			apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
			if out, err := apply.CombinedOutput(); err != nil {
				r.Fatalf("%v: %s\n%s", err, out, c.Diff)
			}
		}
		rest := changes(t, s, snapshot(t, f).Tree, trees[1], 1<<20)
		if rest.Diff != "" || rest.Added != nil || rest.Changed != nil || rest.Deleted != nil {
			r.Fatalf("after %s\nthere is still %+v", c.Diff, rest)
		}
	})
}
