package workspace

import (
	"bytes"
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
	dir                string
	encoders, decoders sync.Pool

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
	s := &Store{dir: dir}
	s.encoders.New = func() any {
		encoder, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithAllLitEntropyCompression(true))
		return encoder // no option is wrong
	}
	s.decoders.New = func() any {
		decoder, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		return decoder
	}
	return s, nil
}

// Close lets go of the folder, and removes what only this process used.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// read gives the bytes that are kept under a name.
func (s *Store) read(name string) ([]byte, error) {
	var all bytes.Buffer
	err := s.stream(name, func(from io.Reader) error {
		_, err := all.ReadFrom(from)
		return err
	})
	return all.Bytes(), err
}

// stream lets use read what is kept under a name.
func (s *Store) stream(name string, use func(from io.Reader) error) error {
	f, err := s.get(name)
	if err != nil {
		return err
	}
	defer f.Close()
	decoder := s.decoders.Get().(*zstd.Decoder)
	defer s.decoders.Put(decoder)
	if err := decoder.Reset(f); err != nil {
		return fmt.Errorf("%s: %w: %w", name, errDamaged, err)
	}
	return use(storedFile{decoder, name})
}

// storedFile is a file of the store as it is read. What cannot be read of them is damaged.
type storedFile struct {
	*zstd.Decoder
	name string
}

// Read implements io.Reader.
func (s storedFile) Read(p []byte) (n int, err error) {
	if n, err = s.Decoder.Read(p); err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s: %w: %v", s.name, errDamaged, err) // no end of a file
	}
	return n, err
}

// put keeps what write writes under a name, unless something is kept there.
func (s *Store) put(name string, write func(to io.Writer) error) error {
	if s.has(name) {
		return nil
	}
	return s.create(func(to io.Writer) (string, error) { return name, write(to) })
}

// create keeps what write writes under the name that it gives once all is written.
func (s *Store) create(write func(to io.Writer) (name string, err error)) error {
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
	name, err := write(f)
	if err = errors.Join(err, f.Close()); err == nil {
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

// putBytes keeps bytes under a name, compressed.
func (s *Store) putBytes(name string, raw []byte) error {
	return s.put(name, func(to io.Writer) error {
		return s.compress(to, func(to io.Writer) error {
			_, err := to.Write(raw)
			return err
		})
	})
}

func (s *Store) compress(to io.Writer, write func(to io.Writer) error) error {
	encoder := s.encoders.Get().(*zstd.Encoder)
	defer s.encoders.Put(encoder)
	encoder.Reset(to)
	return errors.Join(write(encoder), encoder.Close())
}

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// putFile keeps what a reader gives. A failure to keep what could be read is a storeError.
func (s *Store) putFile(ctx context.Context, from io.Reader) (hash ID, size int64, err error) {
	chunk := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(chunk)
	n, unread := io.ReadFull(from, chunk[:])
	if ended(unread) { // it is no larger than a chunk
		hash = sha256.Sum256(chunk[:n])
		if err := s.putBytes(name(filesFolder, hash), chunk[:n]); err != nil {
			return hash, 0, storeError{err}
		}
		return hash, int64(n), ctx.Err()
	}
	sum := sha256.New()
	err = s.create(func(to io.Writer) (string, error) {
		err := s.compress(to, func(to io.Writer) error {
			for n > 0 && unread == nil {
				sum.Write(chunk[:n])
				size += int64(n)
				if _, err := to.Write(chunk[:n]); err != nil {
					return err
				}
				if n, unread = io.ReadFull(from, chunk[:]); ended(unread) {
					unread = nil
				}
				unread = errors.Join(unread, ctx.Err())
			}
			return unread
		})
		hash = ID(sum.Sum(nil))
		return name(filesFolder, hash), err
	})
	switch {
	case unread != nil:
		return hash, 0, unread
	case err != nil:
		return hash, 0, storeError{err}
	}
	return hash, size, nil
}

// ended reports whether io.ReadFull read all that there is.
func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// storeError is a failure to keep what could be read.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

// unknownSize is the size of a file of which only the hash is known.
const unknownSize = -1

// eachChunk visits the bytes of a file of a size in order. They must not be changed or kept. The error is errDamaged where the stored bytes
// are not as many.
func (s *Store) eachChunk(file ID, size int64, visit func(chunk []byte) error) error {
	chunk := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(chunk)
	at := name(filesFolder, file)
	return s.stream(at, func(from io.Reader) error {
		for read := int64(0); ; {
			n, err := io.ReadFull(from, chunk[:])
			read += int64(n)
			switch {
			case err != nil && !ended(err):
				return err
			case err != nil && size >= 0 && read != size:
				return fmt.Errorf("%s: %w", at, errDamaged)
			}
			if wrong := visit(chunk[:n]); wrong != nil || err != nil {
				return wrong
			}
		}
	})
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
