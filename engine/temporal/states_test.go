package temporal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/workspace"
)

// states are a store of workspaces with what a run began with and two later states.
func states(t *testing.T) (*workspace.Store, *record.Run) {
	t.Helper()
	dir := t.TempDir()
	s := openStates(t, dir)
	planted, err := s.Plant(t.Context(), workspace.Seed{Files: map[string]string{"a": "a"}}, workspace.Limits{})
	check(t, err)
	run := &record.Run{ID: "c/t/1", Seed: planted.Tree.ID.String()}
	f, err := s.Restore(t.Context(), planted.Tree, filepath.Join(dir, "run"), workspace.Options{})
	check(t, err)
	for i, text := range []string{"one", "two"} {
		check(t, os.WriteFile(filepath.Join(f.Dir, "b"), []byte(text), 0o644))
		shot, err := f.Snapshot(t.Context())
		check(t, err)
		run.Iterations = append(run.Iterations, record.Iteration{N: i + 1, Workspace: &record.Workspace{Tree: shot.Tree.ID.String()}})
	}
	return s, run
}

func openStates(t *testing.T, dir string) *workspace.Store {
	t.Helper()
	s, err := workspace.Open(filepath.Join(dir, "states"))
	check(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// What a record names is there where the record is read, by a folder and by a bucket; what is
// there already is not fetched.
func TestStatesTravel(t *testing.T) {
	for name, open := range map[string]func() (Store, error){
		"folder": func() (Store, error) { return OpenStore(t.Context(), t.TempDir(), nothing) },
		"s3":     func() (Store, error) { return OpenStore(t.Context(), "s3://bench/some/prefix", s3(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			store, err := open()
			check(t, err)
			from, run := states(t)
			out := &sender{store: store, states: from, dir: t.TempDir()}
			dir := t.TempDir()
			in := &receiver{store: store, states: openStates(t, dir), dir: filepath.Join(dir, "travel")}
			if err := in.receive(t.Context(), run); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("nothing was sent: %v", err)
			}
			for range 2 {
				check(t, out.send(t.Context(), run))
				check(t, in.receive(t.Context(), run))
				in.store = nil
			}
			holds(t, in.states, run)
			for _, dir := range []string{in.dir, out.dir} {
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("%v is left, %v", left, err)
				}
			}
		})
	}
}

// A worker removes what it and those before it left on its machine, but for what loops keep
// and for what others still use.
func TestWorkersRemoveWhatWorkersLeft(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		path := filepath.Join(dir, "runs", name)
		check(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)))
	}
	gone := []string{"host-1/suite/workspaces/store/pack-000001", "host-1/suite/workspaces/0123456789abcdef/a", "host-1/suite/travel/a", "host-2/suite/workspaces/store/pack-000001"}
	stays := []string{"host-1/suite/workspaces/kept/c/t/1/a", "host-3/suite/workspaces/0123/a", "other-1/suite/workspaces/0123/a", "host-x-1/a", "host-01/a"}
	for _, name := range append(gone, stays...) {
		write(name)
	}
	w := &Worker{Dir: dir, Host: "host", Name: "host-2", Alive: func(pid int) bool { return pid != 1 }}
	check(t, w.clearKilled())
	for _, name := range gone {
		if _, err := os.Stat(filepath.Join(dir, "runs", name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	for _, name := range stays {
		if _, err := os.Stat(filepath.Join(dir, "runs", name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "runs/host-2")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder is left: %v", err)
	}
}
