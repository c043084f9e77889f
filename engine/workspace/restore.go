package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Restore makes a folder of a tree: one that is not there yet, or is empty. Its files have the time of
// restoring, for with a constant one Python runs code that it compiled of an
// earlier state. A folder that fails is removed.
func (s *Store) Restore(ctx context.Context, t *Tree, dir string, o Options) (*Folder, error) {
	kept, err := s.keep(ctx, t.seed, dir)
	if err != nil {
		return nil, fmt.Errorf("restoring %s: %w", dir, err)
	}
	f, err := s.restore(ctx, t, dir, o, kept)
	if err != nil {
		return nil, fmt.Errorf("restoring %s: %w", dir, err)
	}
	return f, nil
}

// A restoring makes one folder. Links are made last, so that nothing is written through them.
type restoring struct {
	store *Store
	root  *os.Root
	kept  *Folder // whose files may be cloned; nil: there is none

	mu   sync.Mutex
	read map[string]known
}

func (s *Store) restore(ctx context.Context, t *Tree, dir string, o Options, kept *Folder) (*Folder, error) {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	root, _, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if there, err := fs.ReadDir(root.FS(), "."); err != nil || len(there) > 0 {
		return nil, errors.Join(errors.New("it is not empty"), err)
	}
	r := &restoring{store: s, root: root, kept: kept, read: make(map[string]known, len(t.Entries))}
	if err := r.all(ctx, t.Entries); err != nil {
		return nil, errors.Join(err, Remove(dir))
	}
	f := s.Track(dir, t, o)
	f.remember(r.read, time.Now())
	return f, nil
}

// mostFiles is how many files of a folder one goroutine restores.
const mostFiles = 200

func (r *restoring) all(ctx context.Context, entries []Entry) error {
	files := map[string][]Entry{}
	var folders, links []Entry
	for _, e := range entries {
		switch e.Kind {
		case KindFolder:
			if err := r.root.Mkdir(e.Path, 0o700); err != nil {
				return collision(e.Path, err)
			}
			folders = append(folders, e)
		case KindFile:
			files[path.Dir(e.Path)] = append(files[path.Dir(e.Path)], e)
		case KindLink:
			links = append(links, e)
		}
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(max(2, runtime.GOMAXPROCS(0)))
	for folder, all := range files {
		for some := range slices.Chunk(all, mostFiles) {
			group.Go(func() error { return r.files(within, folder, some) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, e := range links {
		if err := r.root.Symlink(e.Link, e.Path); err != nil {
			return collision(e.Path, err)
		}
	}
	for _, e := range slices.Backward(folders) { // one that may not be written to comes after what is in it
		if err := r.root.Chmod(e.Path, e.Mode); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// collision explains why a path exists in a folder that was empty.
func collision(path string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the file system does not tell %q from another path of the tree, such as one in capitals: %w", path, err)
	}
	return err
}

// files restores some files of a folder.
func (r *restoring) files(ctx context.Context, folder string, files []Entry) error {
	dir, err := r.root.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	read := make([]known, len(files))
	for i, e := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if read[i], err = r.file(dir, e); err != nil {
			return collision(e.Path, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, k := range read {
		if k.stamp.inode != 0 {
			r.read[files[i].Path] = k
		}
	}
	return nil
}

func (r *restoring) file(dir *os.Root, e Entry) (k known, err error) {
	f, err := dir.OpenFile(path.Base(e.Path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, e.Mode)
	if err != nil {
		return k, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if r.kept == nil || r.kept.cloneTo(f, e) != nil {
		if err := r.store.writeTo(f, e); err != nil {
			return k, err
		}
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm() != e.Mode { // the umask took some
		if err = f.Chmod(e.Mode); err == nil {
			info, err = f.Stat()
		}
	}
	if err != nil {
		return k, err
	}
	k.stamp, _ = stampOf(info)
	k.hash = e.Hash
	return k, nil
}

// A hole of a sparse file is read as chunks of zeros.
var zeros [chunkSize]byte

// writeTo writes a file's bytes, and leaves holes for chunks of zeros.
func (s *Store) writeTo(f *os.File, e Entry) error {
	var at int64
	err := s.eachChunk(e.Hash, e.Size, func(chunk []byte) error {
		begins := at
		at += int64(len(chunk))
		if e.Size > chunkSize && bytes.Equal(chunk, zeros[:len(chunk)]) {
			return nil
		}
		_, err := f.WriteAt(chunk, begins)
		return err
	})
	if err == nil && e.Size > chunkSize {
		err = f.Truncate(e.Size)
	}
	return err
}

// worthCloning is the size of a seed from which on its files are cloned.
const worthCloning = 4 << 20

// keep restores a seed once into a folder of the store, from which files that others
// share with it are cloned: each shares the blocks of the kept file until it is
// written to. It is nil where the file system of dir cannot do that.
func (s *Store) keep(ctx context.Context, seed *Tree, dir string) (*Folder, error) {
	if seed == nil || seed.Size() < worthCloning {
		return nil, nil
	}
	if _, err := s.open(true); err != nil || !clones(filepath.Join(s.dir, s.scratch), filepath.Dir(dir)) {
		return nil, err
	}
	defer s.single("kept " + seed.ID.String())()
	if known, ok := s.kept.Load(seed.ID); ok {
		return known.(*Folder), nil
	}
	kept, err := s.makeScratch("kept")
	if err != nil {
		return nil, err
	}
	f, err := s.restore(ctx, seed, kept, Options{}, nil)
	if err == nil {
		s.kept.Store(seed.ID, f)
	}
	return f, err
}

// clones reports whether files of one folder can be cloned into another.
func clones(from, to string) bool {
	source, err := os.CreateTemp(from, "clone")
	if err != nil {
		return false
	}
	defer func() { source.Close(); os.Remove(source.Name()) }()
	target, err := os.CreateTemp(to, ".clone")
	if err != nil {
		return false
	}
	defer func() { target.Close(); os.Remove(target.Name()) }()
	_, err = source.WriteString("shared")
	return err == nil && clone(target, source) == nil
}

// cloneTo shares the blocks of a kept file that still is as it was restored.
func (f *Folder) cloneTo(to *os.File, e Entry) error {
	is, ok := f.known[e.Path]
	if !ok || is.hash != e.Hash {
		return fs.ErrNotExist
	}
	from, err := os.Open(filepath.Join(f.Dir, filepath.FromSlash(e.Path)))
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if now, _ := stampOf(info); now != is.stamp {
		return errDamaged
	}
	return clone(to, from)
}

// Remove removes a folder with all that is in it, folders that may not be written to
// included. It follows no link.
func Remove(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	if beside, err := os.OpenRoot(filepath.Dir(dir)); err == nil {
		unlock(beside, filepath.Base(dir))
		beside.Close()
	}
	return os.RemoveAll(dir)
}

// unlock lets this user change a folder and those below it, as far as they are the user's.
func unlock(root *os.Root, name string) {
	if info, err := root.Lstat(name); err != nil || !info.IsDir() || root.Chmod(name, 0o700) != nil {
		return
	}
	below, _ := fs.ReadDir(root.FS(), name)
	for _, entry := range below {
		if entry.IsDir() {
			unlock(root, path.Join(name, entry.Name()))
		}
	}
}
