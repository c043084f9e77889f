package temporal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/engine/workspace"
)

// The folder of a suite travels as the states of workspaces do: as a tree with a name that follows from
// its names, contents and permissions.

// mostSent is how large the files of a suite may be that travel to the workers.
const mostSent = 512 << 20

// suiteFiles are what is sent of a suite's folder, and what is left out.
type suiteFiles struct {
	tree *workspace.Tree
	left []string
}

func (f *suiteFiles) String() string {
	files := 0
	for _, e := range f.tree.Entries {
		if e.Kind == workspace.KindFile {
			files++
		}
	}
	text := fmt.Sprintf("%d files (%d bytes)", files, f.tree.Size())
	if len(f.left) > 0 {
		text += ", without " + exit.Some(f.left)
	}
	return text
}

// takeSuite takes a suite's folder into a store, without result folders and caches of answers, without the
// folder's own .git unless repository says otherwise, and without what may hold secrets or what its
// .gitignore names. If the suite reads one of those, that is an error.
func takeSuite(ctx context.Context, into *workspace.Store, folder string, repository bool, reads []string) (f suiteFiles, err error) {
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return f, err
	}
	ignored, err := readIgnored(folder)
	if err != nil {
		return f, err
	}
	var without []string
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		name, _ := filepath.Rel(folder, path)
		name = filepath.ToSlash(name)
		if ignored.has(name, e.IsDir()) {
			f.left = append(f.left, name)
		} else if !e.IsDir() || name != "results" && (name != ".git" || repository) && !ofResults(path) {
			return nil
		}
		without = append(without, "/"+strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name))
		if e.IsDir() {
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		return f, err
	}
	for _, left := range f.left {
		if slices.ContainsFunc(reads, func(file string) bool { return file == left || strings.HasPrefix(file, left+"/") }) {
			return f, exit.Usage("send it by an exception in .gitignore, such as !"+left+", or keep it below a root that all machines have",
				"the suite reads files that are not sent to workers, because .gitignore names them or they may hold secrets: %s", left)
		}
	}
	ignore, err := workspace.ParsePatterns(without)
	if err != nil {
		return f, err
	}
	shot, err := into.Track(folder, &workspace.Tree{}, workspace.Options{Ignore: ignore, Limits: workspace.Limits{Size: mostSent}}).Snapshot(ctx)
	if errors.Is(err, workspace.ErrLimit) {
		return f, exit.Usage("keep the suite in a folder of its own, and large data below a root that all machines have", "%s holds more than %d MiB, too much to send to workers", folder, mostSent>>20)
	}
	if err != nil {
		return f, err
	}
	f.tree = shot.Tree
	for _, o := range shot.Left {
		f.left = append(f.left, o.Path)
	}
	for _, e := range f.tree.Entries {
		if e.Kind == workspace.KindLink && !filepath.IsLocal(filepath.Join(filepath.Dir(e.Path), e.Link)) || filepath.IsAbs(e.Link) {
			return f, exit.Usage("put what it names into the folder, or below a root that all machines have", "the link %s leads out of the suite's folder", e.Path)
		}
	}
	return f, nil
}

// sendSuite writes the folder of a suite into the store, and gives the id of its tree.
func (e *Executor) sendSuite(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "agentbench-suite-")
	if err != nil {
		return "", err
	}
	defer workspace.Remove(dir)
	states, err := workspace.Open(filepath.Join(dir, "states"))
	if err != nil {
		return "", err
	}
	defer states.Close()
	f, err := takeSuite(ctx, states, e.Folder, e.Repository, e.Reads)
	if err != nil {
		return "", exit.Unmeasured(err)
	}
	out := &sender{store: e.Store, states: states, dir: dir}
	if err := out.seed(ctx, f.tree.ID); err != nil {
		return "", exit.With(exit.NotMeasured, "nothing was run", "writing the suite into the store: %w", err)
	}
	say := e.Note
	if len(f.left) > 0 {
		say = e.Warn
	}
	say(fmt.Sprintf("workers get %v of the folder %s", &f, e.Folder))
	return f.tree.ID.String(), nil
}

// fetchSuite makes a folder of the files of a suite, which appears whole or not at all: other workers of
// this machine use it as well.
func fetchSuite(ctx context.Context, store Store, files, into string) error {
	if _, err := os.Stat(into); err == nil {
		return nil
	}
	id, err := workspace.ParseID(files)
	if err != nil {
		return err
	}
	dir, err := temporary(filepath.Dir(into))
	if err != nil {
		return err
	}
	defer workspace.Remove(dir)
	states, err := workspace.Open(filepath.Join(dir, "states"))
	if err != nil {
		return err
	}
	defer states.Close()
	in := &receiver{store: store, states: states, dir: dir}
	if err := in.take(ctx, seedName(id), id); err != nil {
		return err
	}
	tree, err := states.Tree(id)
	if err == nil {
		_, err = states.Restore(ctx, tree, filepath.Join(dir, "files"), workspace.Options{})
	}
	if err != nil {
		return err
	}
	err = os.Rename(filepath.Join(dir, "files"), into)
	if _, there := os.Stat(into); there == nil {
		return nil
	}
	return err
}

// secretFiles usually hold secrets. No exception of a .gitignore sends them.
var secretFiles = []string{".env*", "*.pem", ".netrc"}

// ignored are the paths that stay behind.
type ignored struct {
	secrets workspace.Patterns
	lines   []ignoredLine // of .gitignore; the last one that matches counts
}

type ignoredLine struct {
	workspace.Patterns
	exception bool
}

func readIgnored(folder string) (i ignored, err error) {
	if i.secrets, err = workspace.ParsePatterns(secretFiles); err != nil {
		return i, err
	}
	text, err := os.ReadFile(filepath.Join(folder, ".gitignore"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return i, err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		var of ignoredLine
		line, of.exception = strings.CutPrefix(line, "!")
		of.Patterns, err = workspace.ParsePatterns([]string{strings.ReplaceAll(line, "[!", "[^")})
		if err != nil {
			return i, exit.Usage("what it names is not sent to workers", "%s: %w", filepath.Join(folder, ".gitignore"), err)
		}
		i.lines = append(i.lines, of)
	}
	return i, nil
}

// has reports whether a path stays behind; whether its folder does, the caller knows.
func (i *ignored) has(name string, folder bool) bool {
	if i.secrets.Match(name, folder) {
		return true
	}
	for _, line := range slices.Backward(i.lines) {
		if line.Match(name, folder) {
			return !line.exception
		}
	}
	return false
}

// ofResults reports whether a folder is one of results. What a workspace begins with may have a
// manifest.json as well.
func ofResults(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "records.jsonl"))
	return err == nil && results.IsFolder(dir)
}
