package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

var today = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// fill stores an entry for every text, each last used that long ago.
func fill(t rapid.TB, dir string, ages map[string]time.Duration) {
	t.Helper()
	store := Open(dir, Options{Now: func() time.Time { return today }})
	m := Wrap(&counting{}, store, openAI, On)
	for text, age := range ages {
		request := ask("x")
		request.Draw.Task = text
		if _, err := m.Call(context.Background(), request); err != nil {
			t.Fatal(err)
		}
		path := store.path(keyOf(openAI, request, 0))
		must(t, os.Chtimes(path, today.Add(-age), today.Add(-age)))
	}
}

// tasksIn are the tasks of the entries that are there, sorted.
func tasksIn(t rapid.TB, dir string) (tasks []string) {
	t.Helper()
	for listed, err := range List(dir) {
		must(t, err)
		tasks = append(tasks, listed.Task)
	}
	slices.Sort(tasks)
	return tasks
}

// A list tells what was sent and when it was used. A damaged entry does not hide the others, other files are not listed, and no folder is not an empty one.
func TestAListOfOddEntries(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]time.Duration{"a": 48 * time.Hour, "c": 0})
	damaged := Open(dir, Options{}).path(keyOf(openAI, &model.Request{Messages: ask("x").Messages, Draw: model.Draw{Task: "c", Trial: 1}}, 0))
	err := errors.Join(os.Truncate(damaged, 60), os.MkdirAll(filepath.Join(dir, "ab"), 0o755))
	for _, stray := range []string{"README", filepath.Join("ab", "notes"), filepath.Join("ab", temporaryPrefix+"1")} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, stray), nil, 0o644))
	}
	must(t, err)
	whole, broken := 0, 0
	for e, err := range List(dir) {
		switch {
		case err == nil:
			if whole++; e.Task != "a" || e.Trial != 1 || e.Model != "m" || e.Provider != "openai" || e.Finish != "stop" ||
				!e.Created.Equal(today) || !e.Used.Equal(today.Add(-48*time.Hour)) || e.Bytes < 100 || len(e.Key) != 64 {
				t.Errorf("got %+v", e)
			}
		case errors.Is(err, ErrDamaged) && strings.Contains(err.Error(), damaged):
			broken++
		default:
			t.Error(err)
		}
	}
	_, err = Prune(filepath.Join(dir, "none"), 0, today)
	for _, missing := range List(filepath.Join(dir, "none")) {
		if !errors.Is(missing, fs.ErrNotExist) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no folder: listed %v, pruned %v", missing, err)
		}
	}
	if whole != 1 || broken != 1 {
		t.Errorf("listed %d whole and %d damaged entries", whole, broken)
	}
}

// What was not used for longest goes first, and no more than has to.
func TestPruneRemovesTheOldest(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "cache")
		must(t, err)
		defer os.RemoveAll(dir)
		ages := map[string]time.Duration{}
		days := rapid.SliceOfNDistinct(rapid.IntRange(1, 40), 0, 12, rapid.ID).Draw(t, "days")
		for _, n := range days { // 0 to 40 days, never closer than a day
			ages[fmt.Sprintf("%02d", n)] = time.Duration(n) * 24 * time.Hour
		}
		must(t, os.MkdirAll(dir, 0o755))
		fill(t, dir, ages)
		all := tasksIn(t, dir) // the younger the earlier
		keep := rapid.IntRange(0, len(all)).Draw(t, "keep")
		sizes, total := map[string]int64{}, int64(0)
		for listed := range List(dir) {
			sizes[listed.Task] = listed.Bytes
			total += listed.Bytes
		}
		most := int64(0)
		for _, task := range all[:keep] {
			most += sizes[task]
		}
		got, err := Prune(dir, most, today)
		want := Pruned{Removed: len(all) - keep, Kept: keep, RemovedBytes: total - most, KeptBytes: most}
		if err != nil || got != want {
			t.Fatalf("got %+v, %v; want %+v", got, err, want)
		}
		if left := tasksIn(t, dir); !slices.Equal(left, all[:keep]) {
			t.Fatalf("left %v of %v", left, all)
		}
	})
}

// Only entries and what crashed writers left are removed.
func TestPruneLeavesTheRestAlone(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]time.Duration{"a": 0})
	part := filepath.Dir(onlyFile(t, dir))
	ages := map[string]time.Duration{
		filepath.Join(part, temporaryPrefix+"old"):   2 * time.Hour,
		filepath.Join(part, temporaryPrefix+"young"): time.Minute,
		filepath.Join(part, "notes"):                 1000 * time.Hour,
		filepath.Join(dir, "README"):                 1000 * time.Hour,
	}
	for path, age := range ages {
		must(t, errors.Join(os.WriteFile(path, []byte("x"), 0o644), os.Chtimes(path, today.Add(-age), today.Add(-age))))
	}
	if _, err := Prune(dir, 0, today); err != nil {
		t.Fatal(err)
	}
	left := contents(t, dir)
	delete(ages, filepath.Join(part, temporaryPrefix+"old"))
	for path := range ages {
		if _, ok := left[path]; !ok {
			t.Errorf("%s is gone", filepath.Base(path))
		}
	}
	if len(left) != len(ages) {
		t.Errorf("left %v", left)
	}
}

// Suites go on while their cache is listed and pruned, by several at once.
func TestPruneBesideRunningSuites(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]time.Duration{"a": 0})
	m := Wrap(&counting{}, Open(dir, Options{Warn: func(err error) { t.Errorf("warned: %v", err) }}), openAI, On)
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for i := range 30 {
				checkAnswer(t, m, t.Context(), fmt.Sprint(i))
			}
		})
		work.Go(func() {
			for range 4 {
				if _, err := Prune(dir, 500, time.Now()); err != nil {
					t.Errorf("pruning: %v", err)
				}
				tasksIn(t, dir)
			}
		})
	}
	work.Wait()
}
