package results

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/workspace"
)

// Workspaces is the folder of a result folder that has the runs' workspaces and their states.
const Workspaces = "workspaces"

// The folders of Workspaces that outlive a session. All others are those of runs in progress.
const (
	statesFolder = "store"
	keptFolder   = "kept"
)

// scratchFolder is what the store has of processes that write to it.
var scratchFolder = filepath.Join(statesFolder, "scratch")

// States are the states of workspaces that a result folder has.
type States struct{ store *workspace.Store }

// OpenStates opens those of a folder. One that keeps none has no state.
func OpenStates(dir string) (*States, error) {
	store, err := workspace.Open(filepath.Join(dir, Workspaces, statesFolder))
	if err != nil {
		return nil, exit.Unmeasured(err)
	}
	return &States{store}, nil
}

// Close lets go of the files.
func (s *States) Close() error { return s.store.Close() }

// Moment is a moment of a run: the end of an iteration, or the arrival of a step's call.
type Moment struct {
	Run             string
	Iteration, Step int // 0: the iteration that the run returned; the end of the iteration
}

// String is what ParseMoment reads.
func (m Moment) String() string {
	switch {
	case m.Iteration == 0:
		return m.Run
	case m.Step == 0:
		return fmt.Sprintf("%s@%d", m.Run, m.Iteration)
	}
	return fmt.Sprintf("%s@%d.%d", m.Run, m.Iteration, m.Step)
}

// ParseMoment reads RUN, RUN@ITERATION or RUN@ITERATION.STEP.
func ParseMoment(text string) Moment {
	last := strings.LastIndex(text, "@")
	iteration, step, steps := strings.Cut(text[last+1:], ".")
	n, err := strconv.Atoi(iteration)
	if err != nil || n < 1 || last < 0 {
		return Moment{Run: text}
	}
	m := Moment{Run: text[:last], Iteration: n}
	if steps {
		if m.Step, err = strconv.Atoi(step); err != nil || m.Step < 1 {
			return Moment{Run: text}
		}
	}
	return m
}

// Tree names the state of a run at a moment.
func Tree(run *record.Run, at Moment) (string, error) {
	if run.Seed == "" {
		return "", NoWorkspace(run)
	}
	n := at.Iteration
	if n == 0 {
		if n = run.Outcome.Returned; n == 0 {
			return "", exit.Usage("agentbench export workspace DIR "+exit.ShellWord(run.ID+"@1")+" --out FOLDER writes what the first one left", "run %s returned no iteration", run.ID)
		}
	}
	i := slices.IndexFunc(run.Iterations, func(it record.Iteration) bool { return it.N == n })
	switch {
	case i < 0:
		return "", exit.Usage("it has "+exit.Plural(len(run.Iterations), "iteration", "iterations"), "run %s has no iteration %d", run.ID, n)
	case at.Step > 0:
		calls := run.Iterations[i].Calls
		call := slices.IndexFunc(calls, func(c record.Call) bool { return c.Step == at.Step && c.Tree != "" })
		if call < 0 {
			return "", exit.Usage("workspace: {snapshot: step} keeps those of steps; "+run.ID+"@"+strconv.Itoa(n)+" is the end of the iteration",
				"iteration %d of run %s has no state of step %d", n, run.ID, at.Step)
		}
		return calls[call].Tree, nil
	case run.Iterations[i].Workspace == nil:
		return "", exit.Usage("agentbench show DIR "+exit.ShellWord(run.ID)+" shows the error", "iteration %d of run %s left no state of its workspace", n, run.ID)
	}
	return run.Iterations[i].Workspace.Tree, nil
}

// NoWorkspace is the error of a run that worked in no folder of its own.
func NoWorkspace(run *record.Run) error {
	return exit.Usage("a loop declares one: workspace: {from: task.vars.repo}", "run %s has no workspace", run.ID)
}

// Restore writes a state into a folder, which has to be new or empty.
func (s *States) Restore(ctx context.Context, tree, dir string) error {
	if entries, err := os.ReadDir(dir); len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return exit.Usage("name a new folder", "%s is not empty", dir)
	}
	t, err := s.tree(tree)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(filepath.Clean(dir)), 0o755)
	}
	if err == nil {
		_, err = s.store.Restore(ctx, t, dir, workspace.Options{})
	}
	return exit.Unmeasured(err)
}

func (s *States) tree(name string) (*workspace.Tree, error) {
	id, err := workspace.ParseID(name)
	if err != nil {
		return nil, err
	}
	return s.store.Tree(id)
}

// mostDiff is how many bytes a diff between two iterations has at most.
const mostDiff = 1 << 20

// Differences are what each iteration of a run changed: from the state in which the one before
// left the workspace, or from the seed. An iteration without a state has nil.
func (s *States) Differences(ctx context.Context, run *record.Run) ([]*record.Workspace, error) {
	made := make([]*record.Workspace, len(run.Iterations))
	last, seed := run.Seed, run.Seed
	for i := range run.Iterations {
		state := run.Iterations[i].Workspace
		if state == nil {
			continue
		}
		if state.Reset {
			last = seed
		}
		changes, err := s.between(ctx, last, state.Tree)
		if err != nil {
			return nil, exit.With(exit.NotMeasured, "agentbench repair --dry-run lists the damage", "iteration %d: %w", run.Iterations[i].N, err)
		}
		made[i], last = changes, state.Tree
	}
	return made, nil
}

func (s *States) between(ctx context.Context, from, to string) (*record.Workspace, error) {
	before, err := s.tree(from)
	if err != nil {
		return nil, err
	}
	after, err := s.tree(to)
	if err != nil {
		return nil, err
	}
	c, err := s.store.Changes(ctx, before, after, mostDiff)
	if err != nil {
		return nil, err
	}
	return &record.Workspace{
		Tree: to, Changed: c.Changed, Added: c.Added, Deleted: c.Deleted,
		Insertions: c.Insertions, Deletions: c.Deletions, Diff: c.Diff, Truncated: c.Truncated,
	}, nil
}

// JoinStates gives merged results the states of their parts, and the folders that these kept.
func JoinStates(ctx context.Context, out string, parts []record.Part) (err error) {
	for i := range parts {
		if from := filepath.Join(parts[i].Dir, Workspaces, statesFolder); there(from) {
			err = errors.Join(err, joinState(filepath.Join(out, Workspaces, statesFolder), from))
		}
	}
	if err = errors.Join(err, joinKept(ctx, out, parts)); err != nil {
		return exit.With(exit.NotMeasured, "the merged runs are whole; merge again into another --out to have their workspaces, too", "joining the workspaces: %w", err)
	}
	return nil
}

func joinState(into, from string) error {
	to, err := workspace.Open(into)
	if err != nil {
		return err
	}
	part, err := workspace.Open(from)
	if err != nil {
		return errors.Join(err, to.Close())
	}
	err = to.Join(part)
	if err == nil {
		err = to.Sync()
	}
	return errors.Join(err, part.Close(), to.Close())
}

// joinKept copies the folders that were kept of runs. They hold what programs left there: they are read and written as all
// workspaces are, by a store of their own that is removed.
func joinKept(ctx context.Context, out string, parts []record.Part) (err error) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p record.Part) bool { return !there(filepath.Join(p.Dir, Workspaces, keptFolder)) })
	if len(parts) == 0 {
		return nil
	}
	beside := filepath.Join(out, Workspaces, "merging")
	store, err := workspace.Open(beside)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(), workspace.Remove(beside)) }()
	nothing, err := store.Plant(ctx, workspace.Seed{}, workspace.Limits{})
	if err != nil {
		return err
	}
	for run, err := range record.ReadLight(out) {
		if err != nil {
			return err
		}
		if !filepath.IsLocal(filepath.FromSlash(run.ID)) {
			continue
		}
		of := filepath.Join(Workspaces, keptFolder, filepath.FromSlash(run.ID))
		to := filepath.Join(out, of)
		at := slices.IndexFunc(parts, func(p record.Part) bool { return there(filepath.Join(p.Dir, of)) })
		if at < 0 || there(to) {
			continue
		}
		left, err := store.Track(filepath.Join(parts[at].Dir, of), nothing.Tree, workspace.Options{}).Snapshot(ctx)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			_, err = store.Restore(ctx, left.Tree, to, workspace.Options{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ofARun matches the names of the folders that runs and merges have while they are in progress.
var ofARun = regexp.MustCompile(`^(?:[0-9a-f]{16}(?:-\d+)?(?:-home)?|(?:copy|travel)-\d+|merging)$`)

// Leftovers are the folders that runs in progress leave behind where their session is killed. A link in place of a folder
// is refused: what lies behind it belongs to somebody else.
func Leftovers(dir string) (left []string, err error) {
	for _, name := range []string{"", statesFolder, keptFolder, scratchFolder} {
		path := filepath.Join(dir, Workspaces, name)
		if info, err := os.Lstat(path); err == nil && !info.IsDir() {
			return nil, exit.With(exit.NotMeasured, "remove it; the states of workspaces are lost then", "%s is not a folder", path)
		}
	}
	for _, in := range []string{Workspaces, filepath.Join(Workspaces, scratchFolder)} {
		entries, err := os.ReadDir(filepath.Join(dir, in))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() && (in != Workspaces || ofARun.MatchString(e.Name())) {
				left = append(left, filepath.Join(dir, in, e.Name()))
			}
		}
	}
	return left, nil
}

// ClearWorkspaces removes what a killed session left of its runs' folders. No other session may
// use the results.
func ClearWorkspaces(dir string) error {
	left, err := Leftovers(dir)
	for _, path := range left {
		err = errors.Join(err, workspace.Remove(path))
	}
	return err
}

// ForgetWorkspaces removes all that a folder has of workspaces but those that loops keep. No
// session may use it.
func ForgetWorkspaces(dir string) error {
	if err := ClearWorkspaces(dir); err != nil {
		return err
	}
	err := workspace.Remove(filepath.Join(dir, Workspaces, statesFolder))
	_ = os.Remove(filepath.Join(dir, Workspaces)) // it stays where something was kept
	return err
}

// Damage is what is wrong with the states of a result folder.
type Damage struct {
	Faults []error  // what cannot be read
	Lost   []string // RUN@ITERATION of the states that cannot be restored, or RUN of a seed
	Left   []string // folders of runs in progress, of a session that was killed
}

// None reports whether nothing is wrong.
func (d *Damage) None() bool { return len(d.Faults) == 0 && len(d.Lost) == 0 && len(d.Left) == 0 }

// DamagedStates reads all that a folder has of workspaces.
func DamagedStates(ctx context.Context, dir string) (*Damage, error) {
	d := &Damage{}
	var err error
	if d.Left, err = Leftovers(dir); err != nil {
		return nil, exit.Unmeasured(err)
	}
	named, order, err := namedStates(dir)
	if err != nil || len(order) == 0 && !there(filepath.Join(dir, Workspaces, statesFolder)) {
		return d, err
	}
	s, err := OpenStates(dir)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	d.Faults = s.store.Verify(ctx)
	known := map[workspace.ID]error{}
	for _, name := range order {
		id, wrong := workspace.ParseID(name)
		if wrong == nil && len(d.Faults) == 0 {
			_, wrong = s.store.Tree(id) // its files were verified
		} else if wrong == nil {
			wrong = s.store.Check(id, known)
		}
		if wrong != nil {
			d.Lost = append(d.Lost, named[name]...)
		}
	}
	return d, ctx.Err()
}

// namedStates are the states that the runs of a folder name, in their order, and which
// moments each is of.
func namedStates(dir string) (named map[string][]string, order []string, err error) {
	named = map[string][]string{}
	note := func(tree string, at Moment) {
		if named[tree] == nil {
			order = append(order, tree)
		}
		named[tree] = append(named[tree], at.String())
	}
	for run, err := range record.ReadRuns(dir) {
		if err != nil {
			return nil, nil, exit.Unmeasured(err)
		}
		statesOf(run, note)
	}
	return named, order, nil
}

// statesOf visits the states of a run and of those that it handed tasks to. That of a seed is of
// no iteration.
func statesOf(run *record.Run, note func(tree string, at Moment)) {
	if run.Seed != "" {
		note(run.Seed, Moment{Run: run.ID})
	}
	for i := range run.Iterations {
		it := &run.Iterations[i]
		for c := range it.Calls {
			if call := &it.Calls[c]; call.Tree != "" {
				note(call.Tree, Moment{run.ID, it.N, call.Step})
			}
		}
		if it.Workspace != nil {
			note(it.Workspace.Tree, Moment{run.ID, it.N, 0})
		}
		for c := range it.ToolCalls {
			if handed := it.ToolCalls[c].Delegated; handed != nil {
				statesOf(handed, note)
			}
		}
	}
}

// StatesOf are the states that a run names, and those that it handed tasks to: what their
// workspaces began with, and all others.
func StatesOf(run *record.Run) (seeds, others []workspace.ID, err error) {
	seen := map[workspace.ID]bool{}
	statesOf(run, func(tree string, at Moment) {
		id, wrong := workspace.ParseID(tree)
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", at, wrong))
			return
		}
		if seen[id] {
			return
		}
		seen[id] = true
		if at.Iteration == 0 {
			seeds = append(seeds, id)
		} else {
			others = append(others, id)
		}
	})
	return seeds, others, err
}

// PruneStates removes the states that no run of a folder has any more, and says how many bytes
// that freed. No other session may use the results.
func PruneStates(dir string) (freed int64, err error) {
	at := filepath.Join(dir, Workspaces, statesFolder)
	if !there(at) {
		return 0, nil
	}
	_, order, err := namedStates(dir)
	if err != nil {
		return 0, err
	}
	keep := make([]workspace.ID, len(order))
	for i, name := range order {
		if keep[i], err = workspace.ParseID(name); err != nil {
			return 0, exit.Unmeasured(err)
		}
	}
	s, err := OpenStates(dir)
	if err != nil {
		return 0, err
	}
	before := sizeOf(at)
	err = errors.Join(s.store.Prune(keep...), s.Close())
	return before - sizeOf(at), exit.Unmeasured(err)
}

// sizeOf is how many bytes the files of a folder have.
func sizeOf(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // it may have been removed
		}
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
