package workspace

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/propertytest"
)

var must = propertytest.Must

// makeRepository makes files of text in folders of 20, of such a mean size.
func makeRepository(b testing.TB, dir string, files, size int) {
	b.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 5000)
	for i := range words {
		words[i] = fmt.Sprintf("%x", random.Uint64()>>(random.IntN(40)+20))
	}
	for i := range files {
		if i%20 == 0 {
			must(b, os.MkdirAll(filepath.Join(dir, fmt.Sprintf("src/%02d/pkg%03d", i/400, i/20)), 0o755))
		}
		var text strings.Builder
		for want := size/2 + random.IntN(size); text.Len() < want; {
			text.WriteString(words[random.IntN(len(words))])
			text.WriteString(" \n"[random.IntN(2):][:1])
		}
		must(b, os.WriteFile(filepath.Join(dir, fileName(i)), []byte(text.String()), 0o644))
	}
}

func fileName(i int) string { return fmt.Sprintf("src/%02d/pkg%03d/file%d.txt", i/400, i/20, i) }

// editLine changes one line in the middle of a file, to what it was not before.
func editLine(b testing.TB, dir string, i, round int) {
	b.Helper()
	name := filepath.Join(dir, fileName(i))
	text, err := os.ReadFile(name)
	must(b, err)
	lines := strings.SplitAfter(string(text), "\n")
	lines[len(lines)/2] = fmt.Sprintf("edit %d of file %d\n", round, i)
	must(b, os.WriteFile(name, []byte(strings.Join(lines, "")), 0o644))
}

func run(b testing.TB, dir string, command ...string) {
	b.Helper()
	c := exec.Command(command[0], command[1:]...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("%v: %v: %s", command, err, out)
	}
}

func plantFolder(b testing.TB, s *Store, dir string) *Tree {
	b.Helper()
	planted, err := s.Plant(context.Background(), Seed{From: dir}, Limits{})
	must(b, err)
	return planted.Tree
}

// BenchmarkRestore restores 10,000 files of 100 MB in turns with cp.
func BenchmarkRestore(b *testing.B) {
	from := filepath.Join(b.TempDir(), "seed")
	makeRepository(b, from, 10_000, 10_000)
	s := openStore(b)
	began := time.Now()
	tree := plantFolder(b, s, from)
	planting := time.Since(began)
	var ours, theirs time.Duration
	into := b.TempDir()
	for b.Loop() {
		began := time.Now()
		_, err := s.Restore(context.Background(), tree, filepath.Join(into, "ours"), Options{})
		must(b, err)
		ours += time.Since(began)
		began = time.Now()
		run(b, into, "cp", "-a", "--reflink=auto", from, "theirs")
		theirs += time.Since(began)
		b.StopTimer()
		run(b, into, "rm", "-rf", "ours", "theirs")
		b.StartTimer()
	}
	b.ReportMetric(planting.Seconds(), "plant-s")
	b.ReportMetric(ours.Seconds()/float64(b.N), "ours-s")
	b.ReportMetric(theirs.Seconds()/float64(b.N), "cp-s")
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "ours/cp")
	b.ReportMetric(float64(tree.Size())/1e6, "MB")
}

// BenchmarkSnapshot edits 3 files of 10,000 and stores the folder, in turns with git.
func BenchmarkSnapshot(b *testing.B) {
	from := filepath.Join(b.TempDir(), "seed")
	makeRepository(b, from, 10_000, 11_800)
	s := openStore(b)
	tree := plantFolder(b, s, from)
	into := b.TempDir()
	f, err := s.Restore(context.Background(), tree, filepath.Join(into, "ours"), Options{})
	must(b, err)
	run(b, into, "cp", "-a", from, "theirs")
	theirDir := filepath.Join(into, "theirs")
	run(b, theirDir, "git", "init", "--quiet")
	run(b, theirDir, "sh", "-c", "git add -A && git write-tree")
	snapshot(b, f)
	var ours, theirs time.Duration
	round := 0
	for b.Loop() {
		round++
		b.StopTimer()
		for _, dir := range []string{f.Dir, theirDir} {
			for _, i := range []int{17, 4711, 9998} {
				editLine(b, dir, i, round)
			}
		}
		b.StartTimer()
		began := time.Now()
		snapshot(b, f)
		ours += time.Since(began)
		began = time.Now()
		run(b, theirDir, "sh", "-c", "git add -A && git write-tree")
		theirs += time.Since(began)
	}
	b.ReportMetric(ours.Seconds()*1000/float64(b.N), "ours-ms")
	b.ReportMetric(theirs.Seconds()*1000/float64(b.N), "git-ms")
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "ours/git")
	b.ReportMetric(float64(tree.Size())/1e6, "MB")
}

// BenchmarkStore stores 20 snapshots of each of 1,000 runs, of 2 edits each, in a repository of 5 MB.
func BenchmarkStore(b *testing.B) {
	const runs, snapshots = 1000, 20
	from := filepath.Join(b.TempDir(), "seed")
	makeRepository(b, from, 500, 10_000)
	for b.Loop() {
		s := openStore(b)
		tree := plantFolder(b, s, from)
		seed := storeSize(b, s)
		dir := filepath.Join(b.TempDir(), "run")
		round := 0
		for range runs {
			f, err := s.Restore(context.Background(), tree, dir, Options{})
			must(b, err)
			for range snapshots {
				round++
				editLine(b, dir, round*13%500, round)
				editLine(b, dir, round*29%500, round)
				snapshot(b, f)
			}
			must(b, Remove(dir))
		}
		whole := storeSize(b, s)
		b.ReportMetric(float64(tree.Size())/1e6, "MB")
		b.ReportMetric(float64(seed)/float64(tree.Size()), "seed/repository")
		b.ReportMetric(float64(whole-seed)/runs/snapshots, "B/snapshot")
		b.ReportMetric(float64(whole)/1e6, "store-MB")
		began := time.Now()
		again, err := Open(s.dir)
		must(b, err)
		b.ReportMetric(time.Since(began).Seconds()*1000, "open-ms")
		must(b, again.Close())
	}
}
