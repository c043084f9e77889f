package workspace

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// chunkSize is how much of a file is kept as one record. Larger files are lists of
	// chunks, so that memory stays flat and what a file has in common with its earlier
	// state is kept once.
	chunkSize = 1 << 20
	// mostDepth is how many records are read at most to make one.
	mostDepth = 16
	// mostBase is the size up to which a chunk is kept as its difference from another.
	mostBase = 256 << 10
)

// Store keeps trees and the bytes of their files, each once, in few pack files. Many
// goroutines may use it, and several processes the same folder: each appends to a
// pack of its own and reads all. A process that is killed loses at most the record it
// was writing. What has to outlive the machine needs Sync.
type Store struct {
	dir     string
	encoder *zstd.Encoder
	decoder *zstd.Decoder

	mu    sync.RWMutex
	index map[ID]place
	packs map[string]*pack
	own   *pack // which this process appends to; nil until it does

	once    sync.Map // of Plant, Setup and keep: a lock for each key
	planted sync.Map // what Plant made, by seed
	kept    sync.Map // folders of seeds whose files are cloned, by tree
}

// Open opens a store on a folder, which is made once something is written.
func Open(dir string) (*Store, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithLowerEncoderMem(true), zstd.WithAllLitEntropyCompression(true), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)))
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, encoder: encoder, decoder: decoder, index: map[ID]place{}, packs: map[string]*pack{}}
	if err := s.refresh(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the store %s: %w", dir, err), s.Close())
	}
	return s, nil
}

// Close lets go of the files, and removes what only this process used.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []error
	if s.own != nil {
		all = append(all, Remove(s.scratch()))
	}
	for _, p := range s.packs {
		all = append(all, p.close())
	}
	s.decoder.Close()
	s.packs, s.index, s.own = nil, nil, nil
	return errors.Join(all...)
}

// Sync waits until the disk has what was written.
func (s *Store) Sync() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.own == nil {
		return nil
	}
	return s.own.own.Sync()
}

// scratch is the folder of the pack's owner for what ends with it.
func (s *Store) scratch() string { return s.own.file.Name() + ".scratch" }

// makeScratch is a new folder's path, which does not exist.
func (s *Store) makeScratch(name string) (string, error) {
	if err := s.acquireScratch(); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(s.scratch(), name+"-")
	return filepath.Join(dir, "workspace"), err
}

func (s *Store) acquireScratch() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acquire()
}

// refresh reads what other processes have appended since.
func (s *Store) refresh() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := filepath.Glob(filepath.Join(s.dir, "pack-*[0-9]"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if strange(name) {
			continue
		}
		if s.packs[name] == nil {
			f, err := os.Open(name)
			if errors.Is(err, os.ErrNotExist) {
				continue // pruned since
			}
			if err != nil {
				return err
			}
			s.packs[name] = &pack{file: f}
		}
		if err := s.packs[name].scan(s.index); err != nil {
			return err
		}
	}
	return nil
}

// acquire takes the first pack that no process holds, or a new one. What was torn at
// its end by a crash is cut off.
func (s *Store) acquire() error {
	if s.own != nil {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	for n := 1; ; n++ {
		name := filepath.Join(s.dir, fmt.Sprintf("pack-%06d", n))
		if strange(name) {
			continue
		}
		flags := 0
		if !locks {
			flags = os.O_EXCL
		}
		f, err := openOwn(name, flags)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		free, err := tryLock(f)
		if err != nil {
			return errors.Join(err, f.Close())
		}
		opened, statErr := f.Stat()
		if is, err := os.Stat(name); !free || statErr != nil || err != nil || !os.SameFile(is, opened) {
			f.Close() // held by another process, or pruned by it just now
			continue
		}
		p := s.packs[name]
		if p == nil {
			p = &pack{file: f}
		}
		p.own = f
		if err := errors.Join(p.begin(), p.scan(s.index), p.cut()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.packs[name], s.own = p, p
		if err := Remove(s.scratch()); err != nil {
			return err
		}
		return os.Mkdir(s.scratch(), 0o700)
	}
}

// strange reports whether something else has the name of a pack, such as a link, which may lead out of the store.
func strange(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && !info.Mode().IsRegular()
}

// openOwn opens a file of the store to write to it, or makes it. Nothing strange is opened.
func openOwn(name string, flags int) (*os.File, error) {
	if strange(name) {
		return nil, fmt.Errorf("%s is not a file", name)
	}
	return os.OpenFile(name, flags|os.O_RDWR|os.O_CREATE|noFollow, 0o644)
}

func (s *Store) find(key ID) (place, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	at, ok := s.index[key]
	return at, ok
}

// append writes a record, unless its key has one.
func (s *Store) append(r record, payload []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.index[r.key]; ok {
		return nil
	}
	if err := s.acquire(); err != nil {
		return err
	}
	at, err := s.own.append(r, payload)
	if err != nil {
		return fmt.Errorf("writing to the store %s: %w", s.dir, err)
	}
	s.index[r.key] = at
	return nil
}

// put keeps bytes under a key. Where an earlier state of them is kept, its key lets
// the difference alone be written.
func (s *Store) put(kind kind, key ID, raw []byte, base ID) error {
	if _, ok := s.find(key); ok {
		return nil
	}
	r, payload := record{kind: kind, key: key, codec: codecZstd, raw: len(raw)}, s.encoder.EncodeAll(raw, nil)
	if at, ok := s.find(base); ok && at.kind == kind && kind == kindChunk && at.depth < mostDepth && max(at.raw, len(raw)) <= mostBase && len(payload) > 100 {
		earlier, err := s.get(base)
		if err != nil {
			return err
		}
		difference, err := encodeBeside(earlier, raw)
		if err != nil {
			return err
		}
		if len(base)+len(difference) < len(payload) {
			r.codec, r.depth, payload = codecBeside, at.depth+1, append(base[:], difference...)
		}
	}
	if len(payload) >= len(raw) {
		r.codec, r.depth, payload = codecRaw, 0, raw
	}
	return s.append(r, payload)
}

func encodeBeside(base, raw []byte) ([]byte, error) {
	// Matches are found across both as if the base had come just before.
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderDictRaw(1, base), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, err
	}
	return encoder.EncodeAll(raw, nil), nil
}

func decodeBeside(base, payload []byte) ([]byte, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(1, base), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	return decoder.DecodeAll(payload, nil)
}

// get are the bytes of a key.
func (s *Store) get(key ID) ([]byte, error) {
	r, payload, err := s.read(key)
	if err != nil {
		return nil, err
	}
	return s.decode(r, payload, mostDepth)
}

var errMissing = errors.New("the store has no such record")

// read is a record as it is stored.
func (s *Store) read(key ID) (record, []byte, error) {
	at, ok := s.find(key)
	if !ok {
		if err := s.refresh(); err != nil {
			return record{}, nil, err
		}
		if at, ok = s.find(key); !ok {
			return record{}, nil, fmt.Errorf("%s: %w", key, errMissing)
		}
	}
	payload, err := at.payload()
	if err != nil {
		return record{}, nil, fmt.Errorf("%s: %w", key, err)
	}
	return at.record, payload, nil
}

// decode makes bytes of what is stored. The bytes of a tree are those of a whole one.
func (s *Store) decode(r record, payload []byte, depth int) (raw []byte, err error) {
	var base []byte
	if r.codec == codecBeside || r.codec == codecDelta {
		if len(payload) < len(ID{}) || depth == 0 {
			return nil, fmt.Errorf("%s: %w", r.key, errDamaged)
		}
		below, stored, err := s.read(ID(payload))
		if err != nil {
			return nil, err
		}
		if base, err = s.decode(below, stored, depth-1); err != nil {
			return nil, err
		}
		payload = payload[len(ID{}):]
	}
	switch r.codec {
	case codecRaw:
		return payload, nil
	case codecBeside:
		raw, err = decodeBeside(base, payload)
	default:
		raw, err = s.decoder.DecodeAll(payload, make([]byte, 0, min(r.raw, 64<<20)))
	}
	if err == nil && r.codec == codecDelta {
		raw, err = redelta(base, raw)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.key, err)
	}
	return raw, nil
}

// redelta makes the bytes of a tree of those of another and a delta.
func redelta(base, delta []byte) ([]byte, error) {
	from, err := wholeTree(base)
	if err != nil {
		return nil, err
	}
	to, err := applyDelta(from, delta)
	return encodeTree(to), err
}

func wholeTree(raw []byte) ([]Entry, error) {
	raw, ok := bytes.CutPrefix(raw, []byte(treeVersion))
	if !ok {
		return nil, errBadTree
	}
	return decodeEntries(raw)
}

// Tree is a stored tree.
func (s *Store) Tree(id ID) (*Tree, error) {
	raw, err := s.get(id)
	if err != nil {
		return nil, fmt.Errorf("reading tree: %w", err)
	}
	entries, err := wholeTree(raw)
	if err != nil || sha256.Sum256(raw) != id {
		return nil, fmt.Errorf("reading tree %s: %w", id, cmp.Or(err, errDamaged))
	}
	return &Tree{ID: id, Entries: entries}, nil
}

// putTree keeps a tree, as the smallest difference from one of the bases if that is
// much smaller than the tree.
func (s *Store) putTree(t *Tree, bases ...*Tree) error {
	if _, ok := s.find(t.ID); ok {
		return nil
	}
	var best []byte
	r := record{kind: kindTree, key: t.ID, codec: codecDelta}
	for _, base := range bases {
		at, ok := s.find(base.ID)
		if !ok || at.depth >= mostDepth {
			continue
		}
		delta := treeDelta(base.Entries, t.Entries)
		if payload := s.encoder.EncodeAll(delta, base.ID[:]); best == nil || len(payload) < len(best) {
			best, r.depth, r.raw = payload, at.depth+1, len(delta)
		}
	}
	if best == nil || len(best) > 20*len(t.Entries) { // a whole one takes some 40 bytes a file
		return s.put(kindTree, t.ID, encodeTree(t.Entries), ID{})
	}
	return s.append(r, best)
}

// A hole of a sparse file is read as chunks of zeros.
var (
	zeros   [chunkSize]byte
	holeKey = sync.OnceValue(func() ID { return sha256.Sum256(zeros[:]) })
)

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// putFile keeps what a reader gives. Base is the key of an earlier state of it, if any.
func (s *Store) putFile(ctx context.Context, from io.Reader, base ID) (hash ID, size int64, err error) {
	buffer := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(buffer)
	whole := sha256.New()
	var list []byte
	for {
		n, err := io.ReadFull(from, buffer[:])
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return hash, size, err
		}
		if err := ctx.Err(); err != nil {
			return hash, size, err
		}
		if n == 0 && size > 0 {
			break
		}
		chunk := buffer[:n]
		key := holeKey()
		if !bytes.Equal(chunk, zeros[:]) {
			key = sha256.Sum256(chunk)
		}
		if err := s.put(kindChunk, key, chunk, base); err != nil {
			return hash, size, storeError{err}
		}
		size, list = size+int64(n), append(list, key[:]...)
		if ended && size == int64(n) {
			return key, size, nil
		}
		whole.Write(chunk)
		if ended {
			break
		}
	}
	if len(list) == len(hash) { // exactly one whole chunk
		return ID(list), size, nil
	}
	whole.Sum(hash[:0])
	if err := s.put(kindList, hash, list, ID{}); err != nil {
		return hash, size, storeError{err}
	}
	return hash, size, nil
}

// storeError is a failure to keep what could be read.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

// eachChunk visits the bytes of a file in order. They must not be changed.
func (s *Store) eachChunk(hash ID, visit func(chunk []byte) error) error {
	r, payload, err := s.read(hash)
	if err != nil {
		return err
	}
	raw, err := s.decode(r, payload, mostDepth)
	if err != nil {
		return err
	}
	if r.kind != kindList {
		return visit(raw)
	}
	for key := range slices.Chunk(raw, len(ID{})) {
		chunk := zeros[:]
		if ID(key) != holeKey() {
			if chunk, err = s.get(ID(key)); err != nil {
				return err
			}
		}
		if err := visit(chunk); err != nil {
			return err
		}
	}
	return nil
}

// ReadFile are the bytes of a file of a tree, at most so many.
func (s *Store) ReadFile(e Entry, most int64) ([]byte, error) {
	var all []byte
	err := s.eachChunk(e.Hash, func(chunk []byte) error {
		if int64(len(all)+len(chunk)) > most {
			return fmt.Errorf("%q has %d bytes; at most %d are read", e.Path, e.Size, most)
		}
		all = append(all, chunk...)
		return nil
	})
	return all, err
}
