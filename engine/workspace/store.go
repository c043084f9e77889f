package workspace

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// chunkSize is how much of a file is in memory at once.
const chunkSize = 1 << 20

// Store keeps the bytes of files and the trees that name them, each once, compressed by zstd:
//
//	files/ab/cdef...  a file's bytes, by their SHA-256
//	trees/ab/cdef...  a tree, by its id (tree.go)
//	setups/ab/cde...  the id of the tree that a setup made
//	scratch/          what is not whole yet, and what ends with a process
//
// Many goroutines may use it, and several processes the same folder. What is written takes its name once it is
// whole, after all that it names. So a process that is killed loses nothing but what it was writing. What has to
// outlive the machine needs Sync.
type Store struct {
	dir     string
	encoder *zstd.Encoder
	decoder *zstd.Decoder

	mu      sync.Mutex
	root    *os.Root // through which no link leads out; nil until the folder is there
	scratch string   // of this process, in scratch/; "" until it is needed
	dirty   atomic.Bool

	once    sync.Map // of Plant, Setup and keep: a lock for each key
	planted sync.Map // what Plant made, by seed
	kept    sync.Map // folders of seeds whose files are cloned, by tree
}

// The folders of a store.
const (
	filesFolder   = "files"
	treesFolder   = "trees"
	setupsFolder  = "setups"
	scratchFolder = "scratch"
)

// Open opens a store on a folder, which is made once something is written.
func Open(dir string) (*Store, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithLowerEncoderMem(true), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)))
	return &Store{dir: dir, encoder: encoder, decoder: decoder}, err
}

// Close lets go of the folder, and removes what only this process used.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decoder.Close()
	if s.root == nil {
		return nil
	}
	var err error
	if s.scratch != "" {
		err = Remove(filepath.Join(s.dir, s.scratch))
	}
	err = errors.Join(err, s.root.Close())
	s.root, s.scratch = nil, ""
	return err
}

// Sync waits until the disk has what was written.
func (s *Store) Sync() error {
	if !s.dirty.Swap(false) {
		return nil
	}
	dir, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return syncFileSystem(dir)
}

// open is the folder, which is made if it is to be written to.
func (s *Store) open(write bool) (*os.Root, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if write {
		if err := os.MkdirAll(s.dir, 0o755); err != nil {
			return nil, err
		}
	}
	if s.root == nil {
		root, err := os.OpenRoot(s.dir)
		if err != nil {
			return nil, err
		}
		s.root = root
	}
	if write && s.scratch == "" {
		scratch := path.Join(scratchFolder, rand.Text())
		if err := s.root.MkdirAll(scratch, 0o700); err != nil {
			return nil, err
		}
		s.scratch = scratch
	}
	return s.root, nil
}

// makeScratch is a new folder's path, which does not exist.
func (s *Store) makeScratch(name string) (string, error) {
	if _, err := s.open(true); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(filepath.Join(s.dir, s.scratch), name+"-")
	return filepath.Join(dir, "workspace"), err
}

// name is where something is kept.
func name(folder string, key ID) string {
	text := key.String()
	return path.Join(folder, text[:2], text[2:])
}

// keyOf is the inverse of name, but for the folder.
func keyOf(name string) (ID, error) { return ParseID(path.Base(path.Dir(name)) + path.Base(name)) }

func (s *Store) has(name string) bool {
	root, err := s.open(false)
	if err != nil {
		return false
	}
	info, err := root.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// Has reports whether a store keeps a tree, and so all of its files.
func (s *Store) Has(tree ID) bool { return s.has(name(treesFolder, tree)) }

var errMissing = errors.New("the store has no such record")

// get is what is kept under a name, as it is stored.
func (s *Store) get(name string) (*os.File, error) {
	root, err := s.open(false)
	if err == nil {
		var f *os.File
		if f, err = root.OpenFile(name, os.O_RDONLY|noWait, 0); err == nil {
			return f, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errMissing
	}
	return nil, fmt.Errorf("%s: %w", name, err)
}

var errDamaged = errors.New("the stored bytes are damaged")

// read appends the bytes that are kept under a name.
func (s *Store) read(name string, to []byte) ([]byte, error) {
	f, err := s.get(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buffer := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(buffer)
	n, err := io.ReadFull(f, buffer[:])
	stored := buffer[:n]
	if err == nil { // there may be more
		var rest []byte
		rest, err = io.ReadAll(f)
		stored = append(bytes.Clone(stored), rest...)
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	raw, err := s.decoder.DecodeAll(stored, to)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, errDamaged, err)
	}
	return raw, nil
}

// put keeps what write writes under a name, unless something is kept there. It takes the name once it is whole, and
// write can give another one.
func (s *Store) put(name string, write func(to io.Writer) (string, error)) error {
	root, err := s.open(true)
	if err != nil {
		return err
	}
	s.dirty.Store(true)
	temporary := path.Join(s.scratch, rand.Text())
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	given, err := write(f)
	if err = errors.Join(err, f.Close()); err == nil {
		name = cmp.Or(given, name)
		if err = root.Rename(temporary, name); errors.Is(err, fs.ErrNotExist) {
			if err = root.MkdirAll(path.Dir(name), 0o755); err == nil {
				err = root.Rename(temporary, name)
			}
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing to the store %s: %w", s.dir, err), root.Remove(temporary))
	}
	return nil
}

func (s *Store) remove(name string) error {
	root, err := s.open(false)
	if err != nil {
		return err
	}
	return root.Remove(name)
}

// putBytes keeps bytes under a name.
func (s *Store) putBytes(name string, raw []byte) error {
	if s.has(name) {
		return nil
	}
	return s.put(name, func(to io.Writer) (string, error) {
		_, err := to.Write(s.encoder.EncodeAll(raw, nil))
		return "", err
	})
}

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// putFile keeps what a reader gives.
func (s *Store) putFile(ctx context.Context, from io.Reader) (hash ID, size int64, err error) {
	buffer := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(buffer)
	n, err := io.ReadFull(from, buffer[:])
	if whole := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF); whole || err != nil {
		if !whole {
			return hash, size, err
		}
		hash = sha256.Sum256(buffer[:n])
		if err := s.putBytes(name(filesFolder, hash), buffer[:n]); err != nil {
			return hash, size, storeError{err}
		}
		return hash, int64(n), ctx.Err()
	}
	var unread error
	err = s.put("", func(to io.Writer) (string, error) {
		hash, size, unread = s.compress(ctx, to, buffer, from)
		return name(filesFolder, hash), unread
	})
	switch {
	case unread != nil:
		return hash, size, unread
	case err != nil:
		return hash, size, storeError{err}
	}
	return hash, size, nil
}

// compress writes what was read, which fills a chunk, and what follows.
func (s *Store) compress(ctx context.Context, to io.Writer, chunk *[chunkSize]byte, from io.Reader) (hash ID, size int64, err error) {
	encoder, err := zstd.NewWriter(to, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return hash, 0, err
	}
	sum, n := sha256.New(), len(chunk)
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return hash, 0, errors.Join(err, encoder.Close())
		}
		sum.Write(chunk[:n])
		if _, err := encoder.Write(chunk[:n]); err != nil {
			return hash, 0, storeError{err}
		}
		size += int64(n)
		n, err = io.ReadFull(from, chunk[:])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return hash, 0, errors.Join(err, encoder.Close())
		}
	}
	if err := encoder.Close(); err != nil {
		return hash, 0, storeError{err}
	}
	return ID(sum.Sum(nil)), size, nil
}

// storeError is a failure to keep what could be read.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

// unknownSize is the size of a file of which only the hash is known.
const unknownSize = -1

// eachChunk visits the bytes of a file of a size in order. They must not be changed or kept. The error is errDamaged where the stored bytes
// are not as many.
func (s *Store) eachChunk(file ID, size int64, visit func(chunk []byte) error) error {
	at := name(filesFolder, file)
	buffer := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(buffer)
	if size >= 0 && size < chunkSize {
		raw, err := s.read(at, buffer[:0])
		if err == nil && int64(len(raw)) != size {
			err = fmt.Errorf("%s: %w", at, errDamaged)
		}
		if err != nil {
			return err
		}
		return visit(raw)
	}
	f, err := s.get(at)
	if err != nil {
		return err
	}
	defer f.Close()
	decoder, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return err
	}
	defer decoder.Close()
	for read := int64(0); ; {
		n, err := io.ReadFull(decoder, buffer[:])
		read += int64(n)
		if n > 0 {
			if err := visit(buffer[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // of the file, or of its stored bytes, which were cut
			if size >= 0 && read != size {
				return fmt.Errorf("%s: %w", at, errDamaged)
			}
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w: %w", at, errDamaged, err)
		}
	}
}

// ReadFile are the bytes of a file of a tree, at most so many.
func (s *Store) ReadFile(e Entry, most int64) ([]byte, error) {
	if e.Size > most {
		return nil, fmt.Errorf("%q has %d bytes; at most %d are read", e.Path, e.Size, most)
	}
	var all []byte
	err := s.eachChunk(e.Hash, e.Size, func(chunk []byte) error {
		all = append(all, chunk...)
		return nil
	})
	return all, err
}

// each visits the names of all that is kept in a folder.
func (s *Store) each(folder string, visit func(name string, key ID) error) error {
	root, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return fs.WalkDir(root.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		key, wrong := keyOf(name)
		if err != nil || wrong != nil || !entry.Type().IsRegular() {
			return err
		}
		return visit(name, key)
	})
}
