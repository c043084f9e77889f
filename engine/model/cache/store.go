package cache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/agentbench/agentbench/engine/model"
)

// Options are what a store may be told. The zero Options work.
type Options struct {
	// Warn is told once that the cache cannot be written or read; the calls go
	// on without it.
	Warn func(error)
	// Redact hides secrets. An answer that it changes is not stored.
	Redact func(string) string
	Now    func() time.Time // default: time.Now
}

// Store is a folder of entries. Any number of goroutines and processes may use
// it at once.
type Store struct {
	dir     string
	options Options
	disk    disk
	flights flights
	recent  recent
	opened  time.Time
	warned  sync.Once

	hits, misses, stored, damaged atomic.Int64
}

// Stats counts what a store was asked.
type Stats struct {
	Hits    int64 // calls that were answered without being made
	Misses  int64 // lookups that found nothing
	Stored  int64
	Damaged int64 // entries that could not be read; part of Misses
}

// Open gives the store of a folder, which is made when the first answer is
// stored.
func Open(dir string, options Options) *Store {
	if options.Warn == nil {
		options.Warn = func(error) {}
	}
	if options.Redact == nil {
		options.Redact = func(text string) string { return text }
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Store{dir: dir, options: options, disk: folder{}, opened: options.Now()}
}

// Stats is what happened so far.
func (s *Store) Stats() Stats {
	return Stats{Hits: s.hits.Load(), Misses: s.misses.Load(), Stored: s.stored.Load(), Damaged: s.damaged.Load()}
}

// path parts the entries into 256 folders.
func (s *Store) path(k Key) string {
	digits := k.String()
	return filepath.Join(s.dir, digits[:2], digits[2:])
}

// lookup gives the entry of that key, nil where there is none that can be read.
func (s *Store) lookup(k Key) *entry {
	return s.found(k, func(*entry) bool { return true })
}

// lookupNew is lookup for what was answered since the store was opened.
func (s *Store) lookupNew(k Key) *entry {
	return s.found(k, func(e *entry) bool { return !e.Created.Before(s.opened) })
}

func (s *Store) found(k Key, usable func(*entry) bool) *entry {
	if e := s.recent.find(k); e != nil {
		s.hits.Add(1)
		return e
	}
	found, err := s.read(k)
	if err == nil && usable(found) {
		s.hits.Add(1)
		return found
	}
	s.misses.Add(1)
	switch {
	case err == nil:
	case errors.Is(err, errDamaged):
		s.damaged.Add(1)
	case !errors.Is(err, fs.ErrNotExist):
		s.warn(fmt.Errorf("reading the cache: %w", err))
	}
	return nil
}

func (s *Store) read(k Key) (*entry, error) {
	path := s.path(k)
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would wait for its writer
	if errors.Is(err, syscall.ENXIO) {                             // a socket
		return nil, errDamaged
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > largest {
		return nil, errDamaged
	}
	content := make([]byte, info.Size())
	if _, err := io.ReadFull(f, content); err != nil {
		return nil, errDamaged
	}
	found, err := decode(content)
	if err != nil || found.Key != k.String() {
		return nil, errDamaged
	}
	s.used(path, info.ModTime())
	return found, nil
}

// usedEvery is how exactly an entry's file knows when it was last used.
const usedEvery = 24 * time.Hour

// used notes in the file's time that the entry was used. Where it cannot, the
// entry is merely pruned sooner.
func (s *Store) used(path string, before time.Time) {
	if now := s.options.Now(); now.Sub(before) > usedEvery {
		_ = os.Chtimes(path, now, now)
	}
}

// save stores an entry, or warns. What is not stored is remembered for a while.
func (s *Store) save(k Key, e *entry) {
	if s.secret(e) {
		s.recent.keep(k, e)
		return
	}
	e.Key, e.Task, e.Answered, e.Created = k.String(), s.options.Redact(e.Task), s.options.Redact(e.Answered), s.options.Now().UTC()
	if err := s.write(s.path(k), e); err != nil {
		s.warn(fmt.Errorf("writing the cache: %w", err))
		s.recent.keep(k, e)
		return
	}
	s.stored.Add(1)
}

// secret says whether a secret is in what the model wrote.
func (s *Store) secret(e *entry) bool {
	hidden := func(text string) bool { return s.options.Redact(text) != text }
	return hidden(e.text) || hidden(e.thinking) || slices.ContainsFunc(e.calls, func(c model.ToolCall) bool {
		return hidden(c.ID) || hidden(c.Name) || hidden(c.Arguments)
	})
}

// write makes the file whole under another name first, so that nobody ever
// reads half of it. It is not synced: what a power cut tears is a miss.
func (s *Store) write(path string, e *entry) error {
	temporary := temporaryName(path)
	f, err := s.disk.Create(temporary)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.disk.MakeFolder(filepath.Dir(path)); err != nil {
			return err
		}
		f, err = s.disk.Create(temporary)
	}
	if err != nil {
		return err
	}
	err = errors.Join(e.write(f), f.Close())
	if err == nil {
		err = s.disk.Rename(temporary, path)
	}
	if err != nil {
		_ = s.disk.Remove(temporary) // prune finds what stays
	}
	return err
}

func (s *Store) warn(err error) { s.warned.Do(func() { s.options.Warn(err) }) }
