package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Limits bound a workspace; 0 is no limit.
type Limits struct {
	Size  int64 // of all files together, holes included
	Files int   // files, links and folders
}

// ErrLimit is what a workspace or a seed is refused with that is over its limits.
var ErrLimit = errors.New("the workspace is over its limits")

// Options are what the snapshots of a folder leave alone, and how large it may become.
type Options struct {
	// Ignore are paths that are not looked at: snapshots have them as the tree has that
	// the folder began with.
	Ignore Patterns
	Limits Limits
}

// Omission is a path that a tree does not have, or not as it was, and why.
type Omission struct{ Path, Reason string }

// Snapshot is the state of a folder.
type Snapshot struct {
	Tree *Tree
	Left []Omission // sorted by path
}

// Folder is a folder that a program works in. One goroutine uses it at a time.
type Folder struct {
	Dir     string
	store   *Store
	options Options
	base    *Tree // what it began with
	last    *Tree
	ignored []Entry // the topmost and what is below them
	known   map[string]known
}

// A stamp is what a file's bytes are taken to follow from. A program that writes through shared memory
// to a page that it has written before, within the seconds until the kernel writes
// that page back, changes bytes without changing the stamp.
type stamp struct {
	size, modified, changed int64
	inode                   uint64
}

// known is a file whose bytes are stored.
type known struct {
	stamp stamp
	hash  ID
}

// tick is longer than the clock of a file system stands still. A file that was changed
// so shortly before it was read may change again without changing its stamp.
const tick = 50 * time.Millisecond

// settled reports whether a change after a moment would change the stamp.
func (s stamp) settled(at time.Time) bool {
	last := max(s.modified, s.changed)
	clock := tick
	if last%int64(time.Second) == 0 {
		clock = 2 * time.Second // of a file system that counts seconds
	}
	return last < at.Add(-clock).UnixNano()
}

// Track follows a folder that began as a tree. Its first snapshot reads all files;
// that of a folder which Restore made reads those that changed.
func (s *Store) Track(dir string, base *Tree, o Options) *Folder {
	_, ignored := o.Ignore.split(base.Entries)
	return &Folder{Dir: dir, store: s, options: o, base: base, last: base, ignored: ignored}
}

// Snapshot stores the folder as it is. The folder must stand still meanwhile.
func (f *Folder) Snapshot(ctx context.Context) (Snapshot, error) {
	w := &walk{store: f.store, ignore: f.options.Ignore, limits: f.options.Limits, known: f.known}
	began := time.Now()
	if err := w.start(ctx, f.Dir); err != nil {
		return Snapshot{}, fmt.Errorf("snapshot of %s: %w", f.Dir, err)
	}
	tree := newTree(f.withIgnored(w.entries))
	if tree.ID == f.last.ID {
		tree = f.last
	} else {
		tree.seed = f.base.seed
	}
	if err := f.store.putTree(tree, cmp.Or(f.base.seed, f.base)); err != nil {
		return Snapshot{}, fmt.Errorf("snapshot of %s: %w", f.Dir, err)
	}
	f.last = tree
	f.remember(w.read, began)
	slices.SortFunc(w.left, func(a, b Omission) int { return cmp.Compare(a.Path, b.Path) })
	return Snapshot{Tree: tree, Left: w.left}, nil
}

// remember keeps the stamps that will tell whether a file changed since a moment.
func (f *Folder) remember(read map[string]known, at time.Time) {
	f.known = read
	for path, k := range read {
		if !k.stamp.settled(at) {
			delete(read, path)
		}
	}
}

// withIgnored adds the ignored paths of the folder's first tree, where their folder is still there.
func (f *Folder) withIgnored(entries []Entry) []Entry {
	if len(f.ignored) == 0 {
		return entries
	}
	kinds := map[string]Kind{".": KindFolder}
	for i := range entries {
		kinds[entries[i].Path] = entries[i].Kind
	}
	for _, e := range f.ignored {
		if kinds[path.Dir(e.Path)] == KindFolder && kinds[e.Path] == 0 {
			entries, kinds[e.Path] = append(entries, e), e.Kind
		}
	}
	return entries
}

// A walk reads a folder into the store.
type walk struct {
	store  *Store
	ignore Patterns
	limits Limits
	known  map[string]known // files that need not be read where their stamp is the same

	root  *os.Root
	group *errgroup.Group

	mu      sync.Mutex
	entries []Entry
	read    map[string]known
	left    []Omission
	size    int64
}

// start reads a folder. One that is not there, or is something else, has no entries.
func (w *walk) start(ctx context.Context, dir string) error {
	w.read = make(map[string]known, len(w.known))
	root, is, err := openFolder(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.left = append(w.left, Omission{".", "the workspace is gone"})
		return nil
	case is != nil && !is.IsDir():
		w.left = append(w.left, Omission{".", "the workspace is no folder but " + whatIs(is.Mode())})
		return nil
	case err != nil:
		return w.leave(".", err)
	}
	defer root.Close()
	w.root = root
	var within context.Context
	w.group, within = errgroup.WithContext(ctx)
	w.group.SetLimit(max(2, runtime.GOMAXPROCS(0)))
	w.group.Go(func() error { return w.folder(within, ".", is) })
	return w.group.Wait()
}

// openFolder opens a folder that is no link to one.
func openFolder(dir string) (*os.Root, fs.FileInfo, error) {
	is, err := os.Lstat(dir)
	if err != nil {
		return nil, nil, err
	}
	if !is.IsDir() {
		return nil, is, fmt.Errorf("%s is no folder but %s", dir, whatIs(is.Mode()))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, is, err
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(is, opened) {
		return nil, is, errors.Join(fmt.Errorf("%s was replaced while it was opened", dir), err, root.Close())
	}
	return root, is, nil
}

// mostLevels is how deep folders are nested at most: a folder is found anew from the first one.
const mostLevels = 256

// folder reads what a folder holds. What cannot be opened is left out.
func (w *walk) folder(ctx context.Context, name string, before fs.FileInfo) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	dir, err := w.root.OpenRoot(name)
	if err != nil {
		return w.leave(name, err)
	}
	defer dir.Close()
	if opened, err := dir.Stat("."); err != nil || !os.SameFile(before, opened) {
		return w.leave(name, cmp.Or(err, error(errUnsteady)))
	}
	list, err := dir.Open(".")
	if err != nil {
		return w.leave(name, err)
	}
	names, err := list.ReadDir(-1)
	list.Close()
	if err != nil {
		return w.leave(name, err)
	}
	here := make([]Entry, 0, len(names))
	var read []known
	for _, entry := range names {
		path := path.Join(name, entry.Name())
		if w.ignore.Match(path, entry.IsDir()) {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			if err := w.leave(path, err); err != nil {
				return err
			}
			continue
		}
		e := Entry{Path: path, Mode: info.Mode().Perm()}
		var now known
		switch mode := info.Mode(); {
		case mode.IsDir() && strings.Count(path, "/") >= mostLevels:
			err = omission(fmt.Sprintf("folders nested deeper than %d are not kept", mostLevels))
		case mode.IsDir():
			e.Kind = KindFolder
		case mode.IsRegular():
			e.Kind = KindFile
			if now, e.Size, err = w.file(ctx, dir, path, info); err == nil && mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
				w.report(path, "kept without its setuid and setgid bits")
			}
			e.Hash = now.hash
		case mode.Type() == fs.ModeSymlink:
			e.Kind, e.Mode = KindLink, 0
			e.Link, err = dir.Readlink(entry.Name())
		default:
			err = omission(whatIs(mode) + " is not kept")
		}
		if err != nil {
			if err := w.leave(path, err); err != nil {
				return err
			}
			continue
		}
		here, read = append(here, e), append(read, now)
		if e.Kind == KindFolder {
			below := func() error { return w.folder(ctx, path, info) }
			if !w.group.TryGo(below) {
				if err := below(); err != nil {
					return err
				}
			}
		}
	}
	return w.add(here, read)
}

// add takes the entries of a folder.
func (w *walk) add(here []Entry, read []known) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries = append(w.entries, here...)
	for i := range here {
		if read[i].stamp.inode != 0 {
			w.read[here[i].Path] = read[i]
		}
	}
	if w.limits.Files > 0 && len(w.entries) > w.limits.Files {
		return fmt.Errorf("%w: more than %d files", ErrLimit, w.limits.Files)
	}
	return nil
}

func (w *walk) report(path, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = append(w.left, Omission{path, reason})
}

// leave reports a path that cannot be kept. Every other failure is one of ours, and passed on.
func (w *walk) leave(path string, err error) error {
	var reason omission
	switch {
	case errors.As(err, new(storeError)):
		return err
	case errors.As(err, &reason):
		w.report(path, string(reason))
	case errors.Is(err, fs.ErrPermission):
		w.report(path, "it may not be read")
	case errors.Is(err, fs.ErrNotExist):
		w.report(path, "it went away while it was read")
	default:
		return err
	}
	return nil
}

// omission is why a path is left out.
type omission string

func (o omission) Error() string { return string(o) }

const errUnsteady = omission("it changed while it was read")

// file is a file's state, read where it may have changed.
func (w *walk) file(ctx context.Context, dir *os.Root, name string, info fs.FileInfo) (known, int64, error) {
	w.mu.Lock()
	w.size += info.Size()
	over := w.limits.Size > 0 && w.size > w.limits.Size
	w.mu.Unlock()
	if over {
		return known{}, 0, fmt.Errorf("%w: more than %d bytes", ErrLimit, w.limits.Size)
	}
	now, _ := stampOf(info)
	if k, ok := w.known[name]; ok && k.stamp == now {
		return k, info.Size(), nil
	}
	for range 3 {
		hash, size, after, err := w.bytes(ctx, dir, path.Base(name), info)
		if err != nil && !errors.Is(err, errUnsteady) {
			return known{}, 0, err
		}
		if err == nil {
			now, _ := stampOf(after)
			return known{now, hash}, size, nil
		}
		if info, err = dir.Lstat(path.Base(name)); err != nil {
			return known{}, 0, err
		}
	}
	return known{}, 0, errUnsteady
}

// bytes stores a file's bytes. It is errUnsteady if they are not those of one moment.
func (w *walk) bytes(ctx context.Context, dir *os.Root, name string, before fs.FileInfo) (ID, int64, fs.FileInfo, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return ID{}, 0, nil, err
	}
	defer f.Close()
	hash, size, err := w.store.putFile(ctx, io.LimitReader(f, before.Size()+1))
	if err != nil {
		return ID{}, 0, nil, err
	}
	after, err := f.Stat()
	if err == nil && (!os.SameFile(before, after) || size != before.Size() || !after.ModTime().Equal(before.ModTime())) {
		err = errUnsteady
	}
	return hash, size, after, err
}

func whatIs(mode fs.FileMode) string {
	switch mode.Type() {
	case fs.ModeSymlink:
		return "a link"
	case fs.ModeNamedPipe:
		return "a FIFO"
	case fs.ModeSocket:
		return "a socket"
	case 0:
		return "a file"
	}
	if mode&fs.ModeDevice != 0 {
		return "a device"
	}
	return "an irregular file"
}
