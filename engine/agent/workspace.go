package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/workspace"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

const (
	recordedDiff = 64 << 10 // bytes of a diff that a record holds
	recordedLeft = 20       // paths left out that a record lists

	defaultSize  = 2e9
	defaultFiles = 200_000
)

// Workspaces makes the workspaces of a loop's runs. It is safe for concurrent use.
type Workspaces struct {
	Spec  *spec.Workspace
	Store *workspace.Store
	Dir   string // in which the folders of runs are made
	// Find is where a folder of the suite is, as spec.Document.Find.
	Find func(path string) (at string, embedded fs.FS, err error)
	// Program makes a program of the loop.
	Program func(argv []string, timeout time.Duration) external.Program
	// Sandbox holds the loop's programs; the workspace is that of each.
	Sandbox external.Sandbox
	Getenv  func(string) string
	// Alone says that results are at hand without their suite, and so without the files beside it.
	Alone bool
}

// Workspace is the folder of one run. One goroutine uses it at a time.
type Workspace struct {
	*Workspaces
	Seed *workspace.Tree
	// Last is the newest state that was kept.
	Last *workspace.Tree

	dir     string
	folder  *workspace.Folder
	options workspace.Options
	reset   bool            // since the last state that was kept
	home    string          // of the programs that have a recipe, from its first program on
	seeded  map[string]bool // the recipes whose files are in it
}

// Open makes the folder of a run: its seed, prepared. An error is a *record.Error, or the
// context's cause.
func (w *Workspaces) Open(ctx context.Context, id string, task *spec.Task) (*Workspace, error) {
	opened, err := w.open(ctx, id, task)
	if err != nil && opened != nil {
		opened.Close("")
		opened = nil
	}
	return opened, w.failed(ctx, err)
}

// failed is the error of a workspace as that of an iteration.
func (w *Workspaces) failed(ctx context.Context, err error) error {
	var known *record.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, workspace.ErrLimit):
		return record.Errorf(record.Program, "%v", overLimits(err))
	}
	return record.Errorf(record.Setup, "the workspace: %v", err)
}

// overLimits is what an error says of the limit, without the folder.
func overLimits(err error) error {
	for {
		within := errors.Unwrap(err)
		if within == nil || errors.Is(within, workspace.ErrLimit) && errors.Unwrap(within) == nil {
			return err
		}
		err = within
	}
}

func (w *Workspaces) open(ctx context.Context, id string, task *spec.Task) (*Workspace, error) {
	ignore, err := workspace.ParsePatterns(w.Spec.Ignore)
	if err != nil {
		return nil, err
	}
	ws := &Workspace{Workspaces: w, options: workspace.Options{Ignore: ignore, Limits: limits(w.Spec.Limits)}}
	seed, err := w.seed(ctx, task)
	if err != nil {
		return nil, err
	}
	planted, err := w.Store.Plant(ctx, seed, ws.options.Limits)
	if err != nil {
		return nil, w.notSeeded(ctx, err)
	}
	ws.Seed = planted.Tree
	if w.Spec.Setup != nil {
		if ws.Seed, err = w.prepared(ctx, id, planted, ws.options.Limits); err != nil {
			return nil, err
		}
	}
	if ws.dir, err = w.claim(id); err != nil {
		return nil, err
	}
	return ws, ws.restart(ctx)
}

// claim makes an empty folder for a run. It has the same name in every session; only where tasks
// that are handed over run beside each other under one id, the others have names of their own.
func (w *Workspaces) claim(id string) (dir string, err error) {
	if err := os.MkdirAll(w.Dir, 0o755); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(id))
	name := hex.EncodeToString(sum[:8])
	for n := 2; ; n++ {
		dir = filepath.Join(w.Dir, name)
		if err = os.Mkdir(dir, 0o755); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
		name = fmt.Sprintf("%s-%d", hex.EncodeToString(sum[:8]), n)
	}
}

// notSeeded is the error of a seed, for which the suite is at fault and not the agent.
func (w *Workspaces) notSeeded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return record.Errorf(record.Setup, "the workspace's seed: %v", err)
}

func limits(declared *spec.WorkspaceLimits) workspace.Limits {
	l := workspace.Limits{Size: defaultSize, Files: defaultFiles}
	if declared != nil && declared.Size > 0 {
		l.Size = int64(declared.Size)
	}
	if declared != nil && declared.Files > 0 {
		l.Files = declared.Files
	}
	return l
}

// begin makes the folder of a state, in place of what is there.
func (ws *Workspace) begin(ctx context.Context, state *workspace.Tree) error {
	if err := workspace.Remove(ws.dir); err != nil {
		return err
	}
	folder, err := ws.Store.Restore(ctx, state, ws.dir, ws.options)
	ws.folder, ws.Last = folder, state
	return err
}

// restart makes the folder what the run began with, once all that programs left is moved out.
func (ws *Workspace) restart(ctx context.Context) error {
	if err := ws.moveOut(); err != nil {
		return err
	}
	return ws.begin(ctx, ws.Seed)
}

// Ready makes the folder one that a program can work in again, where the program before it
// removed it, put something else in its place, or took its permissions.
func (ws *Workspace) Ready(ctx context.Context) error {
	info, err := os.Lstat(ws.dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return ws.failed(ctx, err)
	case err != nil || !info.IsDir():
		return ws.failed(ctx, ws.begin(ctx, ws.Last))
	case info.Mode().Perm()&0o700 != 0o700:
		return ws.failed(ctx, os.Chmod(ws.dir, 0o755))
	}
	return nil
}

// Reset makes the folder what the run began with.
func (ws *Workspace) Reset(ctx context.Context) error {
	ws.reset = true
	return ws.failed(ctx, ws.restart(ctx))
}

// Folder is where the program works.
func (ws *Workspace) Folder() string { return ws.dir }

// Own are the folders that belong to this run alone. The home begins as the folder does.
func (ws *Workspace) Own() []string { return []string{ws.home, ws.dir} }

// seed is what the loop declares for a task.
func (w *Workspaces) seed(ctx context.Context, task *spec.Task) (seed workspace.Seed, err error) {
	scope := taskScope{task}
	seed.Repository = w.Spec.Git
	if w.Spec.Files != nil {
		if seed.Files, err = written(ctx, w.Spec.Files, scope); err != nil {
			return seed, record.Errorf(record.Setup, "workspace.files: %v", err)
		}
	}
	from := w.Spec.From
	switch {
	case from == nil:
	case from.Git != nil:
		seed.Git = &workspace.GitSeed{}
		if seed.Git.Repository, err = from.Git.Render(ctx, scope); err == nil && from.Ref != nil {
			seed.Git.Ref, err = from.Ref.Render(ctx, scope)
		}
		seed.Without = taskFile(seed.Git.Repository, task)
		if at, embedded, missing := w.Find(seed.Git.Repository); missing == nil && embedded == nil {
			seed.Git.Repository = at
		}
	case from.Path != nil:
		err = w.from(ctx, from.Path, task, &seed)
	}
	if err != nil {
		return seed, record.Errorf(record.Setup, "workspace.from: %v", err)
	}
	return seed, nil
}

// taskFile is the file that a workspace is made without: the one in which a folder says what
// its task is, which may hold the target.
func taskFile(from string, task *spec.Task) string {
	if task.Folder == "" || path.Clean(from) != path.Clean(task.Folder) {
		return ""
	}
	return spec.TaskFile
}

func (w *Workspaces) from(ctx context.Context, declared *spec.Expr, task *spec.Task, seed *workspace.Seed) error {
	value, err := declared.Value(ctx, taskScope{task})
	if err != nil {
		return err
	}
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("want the path of a folder, got %s", kindOf(value))
	}
	seed.Without = taskFile(text, task)
	at, embedded, err := w.Find(text)
	if err != nil || embedded == nil {
		seed.From = at
		return err
	}
	files, err := contents(embedded, at)
	delete(files, seed.Without)
	for name, content := range seed.Files {
		files[name] = content
	}
	seed.Files = files
	return err
}

// contents are the files below an embedded folder.
func contents(fsys fs.FS, folder string) (map[string]string, error) {
	files := map[string]string{}
	err := fs.WalkDir(fsys, folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(fsys, path)
		files[strings.TrimPrefix(strings.TrimPrefix(path, folder), "/")] = string(content)
		return err
	})
	return files, err
}

// written are the files that an expression gives: contents by paths.
func written(ctx context.Context, files *spec.Expr, scope expr.Scope) (map[string]string, error) {
	value, err := files.Value(ctx, scope)
	if err != nil {
		return nil, err
	}
	return Contents(value)
}

// Contents reads a map of paths to the contents of files; null is none.
func Contents(value any) (map[string]string, error) {
	if value == nil {
		return nil, nil
	}
	object, ok := value.(*expr.Object)
	if !ok {
		return nil, fmt.Errorf("want a map of paths to contents, got %s", kindOf(value))
	}
	contents := map[string]string{}
	for _, path := range object.Keys() {
		value, _ := object.Get(path)
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("the content of %q is no text, but %s", path, kindOf(value))
		}
		contents[path] = text
	}
	return contents, nil
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case *expr.Object:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a text"
	case bool:
		return "true or false"
	}
	return "a number"
}

// taskScope is a task as the only thing that expressions see.
type taskScope struct{ task *spec.Task }

func (s taskScope) Lookup(name string) (any, bool) {
	return spec.TaskFields{Task: s.task}, name == "task"
}

// prepared is the seed after its setup, which is made once, or, where the loop says so, for
// every run.
func (w *Workspaces) prepared(ctx context.Context, run string, seed *workspace.Planted, most workspace.Limits) (*workspace.Tree, error) {
	setup := w.Spec.Setup
	program := w.Program(setup.Command, setup.Timeout)
	program.Called = fmt.Sprintf("the setup %q", strings.Join(setup.Command, " "))
	key, err := setupKey(seed, setup.Command, program.Argv)
	if err != nil {
		return nil, err
	}
	key += "\x00" + w.Spec.Sandboxed()
	if !setup.Kept() {
		key += "\x00" + run
	}
	made, err := w.Store.Setup(ctx, seed.Tree, key, most, func(dir string) error {
		program.Cuts = true
		program, err := w.Within(program, dir, setup.Network)
		if err != nil {
			return err
		}
		_, err = program.Run(ctx, nil)
		var failed *record.Error
		if errors.As(err, &failed) {
			return record.Errorf(record.Setup, "%s", failed.Message)
		}
		return err
	})
	if errors.Is(err, workspace.ErrLimit) { // no agent did that
		return nil, record.Errorf(record.Setup, "%s: %v", program.Called, overLimits(err))
	}
	return made, err
}

// setupKey is what the result of a setup depends on: the seed, the command as it is declared, and
// the files beside the loop that it names.
func setupKey(seed *workspace.Planted, declared, placed []string) (string, error) {
	key := fmt.Sprintf("%s\x00%q", seed.Identity, declared)
	for i, word := range placed {
		if word == declared[i] {
			continue
		}
		content, err := os.ReadFile(word)
		if err != nil {
			return "", err
		}
		key += fmt.Sprintf("\x00%d %x", i, sha256.Sum256(content))
	}
	return key, nil
}

// placed is a program where it works: in the run's folder, within the sandbox, fitted by its recipe, and with the
// variables by which it finds the model proxy. Where the run has no folder it stays where it is.
func (ws *Workspace) placed(p external.Program, access *Access, fit *fitting) (external.Program, error) {
	if ws == nil {
		if access != nil {
			p.Env = append(slices.Clip(p.Env), access.Env(access.URL)...)
		}
		return p, nil
	}
	box := ws.box(ws.dir, access)
	if fit != nil {
		box.Home = ws.home
		var url string
		if access != nil {
			url = box.ProxyURL(access.URL)
		}
		needs := fit.recipe.With(url, fit.model, fit.session)
		if err := ws.furnish(&box, fit.recipe.Program, needs.Files); err != nil {
			return p, record.Errorf(record.Setup, "the program's home: %v", err)
		}
		p.Argv = fit.recipe.Command(fit.declared, p.Argv, needs.Flags)
		p.Env = append(external.Environment(ws.Getenv), append(needs.Env, ws.declared(p.Env)...)...)
	}
	return ws.in(box, p, access)
}

// moveOut removes the home.
func (ws *Workspace) moveOut() error {
	ws.home, ws.seeded = ws.dir+"-home", map[string]bool{}
	return workspace.Remove(ws.home)
}

// furnish makes the home of a run, and writes what a recipe has for it, once.
func (ws *Workspace) furnish(box *external.Sandbox, recipe string, files map[string]string) error {
	if ws.seeded[recipe] {
		return nil
	}
	ws.seeded[recipe] = true
	if err := os.MkdirAll(ws.home, 0o700); err != nil {
		return err
	}
	return box.SeedHome(files)
}

// Within is a program in a folder of a workspace, within the loop's sandbox.
func (w *Workspaces) Within(p external.Program, dir string, network bool) (external.Program, error) {
	box := w.box(dir, nil)
	box.Network = box.Network || network
	return w.in(box, p, nil)
}

// box is the loop's sandbox around a folder. Access is that to models; nil: it has none.
func (w *Workspaces) box(dir string, access *Access) external.Sandbox {
	box := w.Sandbox
	box.Workspace = dir
	if access != nil {
		box.Proxy = access.Socket
	}
	return box
}

func (w *Workspaces) in(box external.Sandbox, p external.Program, access *Access) (external.Program, error) {
	p.Dir = box.Workspace
	if box.Kind != "" && box.Kind != external.None {
		for _, word := range p.Argv[1:] {
			if filepath.IsAbs(word) && isFile(word) {
				box.ReadOnly = append(slices.Clip(box.ReadOnly), external.Installation(word)...)
			}
		}
	}
	p.Env = append(box.Environment(), w.declared(p.Env)...)
	if access != nil {
		p.Env = append(slices.Clip(p.Env), access.Env(box.ProxyURL(access.URL))...)
	}
	placed, err := box.Program(p)
	if err != nil {
		return placed, record.Errorf(record.Setup, "the sandbox: %v", err)
	}
	return placed, nil
}

// declared are the variables of a program beyond those that all have.
func (w *Workspaces) declared(env []string) []string {
	usual := external.Environment(w.Getenv)
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool { return slices.Contains(usual, entry) })
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// state is the name of the newest state, "" where a run has no folder.
func (ws *Workspace) state() string {
	if ws == nil {
		return ""
	}
	return ws.Last.ID.String()
}

// Keep keeps the state of the folder, in which nothing runs meanwhile, and gives its name.
func (ws *Workspace) Keep(ctx context.Context) (tree string, err error) {
	shot, err := ws.folder.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	ws.Last = shot.Tree
	return shot.Tree.ID.String(), nil
}

// Snapshot keeps the state of the folder, in which nothing runs meanwhile, and tells what
// differs from the seed.
func (ws *Workspace) Snapshot(ctx context.Context) (*record.Workspace, error) {
	shot, err := ws.folder.Snapshot(ctx)
	if err != nil {
		return nil, ws.failed(ctx, err)
	}
	ws.Last = shot.Tree
	state, err := ws.told(ctx, ws.Seed, shot.Tree)
	if err != nil {
		return nil, ws.failed(ctx, err)
	}
	state.Reset = ws.reset
	for _, left := range shot.Left[:min(len(shot.Left), recordedLeft)] {
		state.Left = append(state.Left, strings.ToValidUTF8(left.Path+": "+left.Reason, "\uFFFD"))
	}
	ws.reset = false
	return state, nil
}

// State is a state of a run's folder that was kept, and what differs from the seed.
func (w *Workspaces) State(ctx context.Context, seed, tree string) (*record.Workspace, error) {
	from, err := w.tree(seed)
	if err != nil {
		return nil, err
	}
	to, err := w.tree(tree)
	if err != nil {
		return nil, err
	}
	return w.told(ctx, from, to)
}

// Tree is a state by its name.
func (w *Workspaces) tree(name string) (*workspace.Tree, error) {
	id, err := workspace.ParseID(name)
	if err != nil {
		return nil, err
	}
	return w.Store.Tree(id)
}

// ScoreKey is a text that states share which differ in nothing that scores go by.
func (w *Workspaces) ScoreKey(name string) (string, error) {
	tree, err := w.tree(name)
	if err != nil {
		return "", err
	}
	ignore, err := workspace.ParsePatterns(w.Spec.IgnoredByScores())
	return workspace.ScoreKey(tree, ignore).String(), err
}

// told is what differs between the seed and a state.
func (w *Workspaces) told(ctx context.Context, seed, tree *workspace.Tree) (*record.Workspace, error) {
	changes, err := w.Store.Changes(ctx, seed, tree, recordedDiff)
	if err != nil {
		return nil, err
	}
	return &record.Workspace{
		Tree: tree.ID.String(), Changed: texts(changes.Changed), Added: texts(changes.Added), Deleted: texts(changes.Deleted),
		Insertions: changes.Insertions, Deletions: changes.Deletions, Diff: changes.Diff, Truncated: changes.Truncated,
	}, nil
}

func texts(paths []string) []string {
	for i, path := range paths {
		paths[i] = strings.ToValidUTF8(path, "\uFFFD")
	}
	return paths
}

// FileOutside is a file that a command names, and that no state of a run has: it lies beside the suite, and is
// not at hand. "": there is none.
func (w *Workspaces) FileOutside(run *record.Run, argv []string, overlay map[string]string) string {
	if !w.Alone {
		return ""
	}
	trees := []string{run.Seed}
	for i := range run.Iterations {
		if state := run.Iterations[i].Workspace; state != nil {
			trees = append(trees, state.Tree)
		}
	}
	for i, word := range argv {
		had := func(tree string) bool { return w.entry(tree, word) != nil }
		if _, laid := overlay[word]; !laid && namesFile(word) && (i > 0 || strings.Contains(word, "/")) && !slices.ContainsFunc(trees, had) {
			return word
		}
	}
	return ""
}

var fileName = regexp.MustCompile(`^[\w./][\w./-]*\.[A-Za-z0-9]{1,8}$`)

func namesFile(word string) bool {
	return fileName.MatchString(word) && filepath.IsLocal(filepath.FromSlash(word))
}

// Lost reports whether a program is a file of a run's seed that the run removed, or that may not
// be executed any more.
func (w *Workspaces) Lost(program, seed, state string) bool {
	return filepath.Base(program) != program && startable(w.entry(seed, program)) && !startable(w.entry(state, program))
}

func startable(e *workspace.Entry) bool {
	return e != nil && (e.Kind == workspace.KindLink || e.Kind == workspace.KindFile && e.Mode&0o111 != 0)
}

// entry is a path in a state; nil where there is none.
func (w *Workspaces) entry(tree, name string) *workspace.Entry {
	state, err := w.tree(tree)
	if err != nil {
		return nil
	}
	return state.Find(path.Clean(filepath.ToSlash(name)))
}

// Copy makes a folder of a state, with files laid over it. Done removes it.
func (w *Workspaces) Copy(ctx context.Context, tree string, overlay map[string]string) (dir string, done func(), err error) {
	if err = os.MkdirAll(w.Dir, 0o755); err == nil {
		dir, err = os.MkdirTemp(w.Dir, "copy-")
	}
	done = func() { _ = workspace.Remove(dir) } // what is left is removed with the next session's
	if err == nil {
		if err = w.copy(ctx, tree, overlay, dir); err != nil {
			done()
		}
	}
	return dir, done, w.failed(ctx, err)
}

func (w *Workspaces) copy(ctx context.Context, tree string, overlay map[string]string, dir string) error {
	state, err := w.tree(tree)
	if err != nil {
		return err
	}
	if state, err = w.Store.Over(ctx, state, overlay); err != nil {
		return err
	}
	_, err = w.Store.Restore(ctx, state, dir, workspace.Options{})
	return err
}

// Close removes the folder, or keeps it for people under the id of its run; "": it is not
// kept. What cannot be removed is removed with the next session's.
func (ws *Workspace) Close(kept string) {
	_ = ws.Store.Sync() // the record of the run names its states; a disk that fails here fails the record, too
	_ = workspace.Remove(ws.home)
	if kept == "" {
		_ = workspace.Remove(ws.dir)
		return
	}
	root, err := os.OpenRoot(ws.Dir) // no link leads out of it
	if err != nil {
		return
	}
	defer root.Close()
	at := filepath.Join("kept", filepath.FromSlash(kept))
	if !filepath.IsLocal(filepath.FromSlash(kept)) || root.MkdirAll(filepath.Dir(at), 0o755) != nil || workspace.Remove(filepath.Join(ws.Dir, at)) != nil {
		return
	}
	_ = root.Rename(filepath.Base(ws.dir), at)
}
