package cache

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// Entry is a stored answer.
type Entry struct {
	Key      string    `json:"key"`
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	Task     string    `json:"task"`
	Trial    int       `json:"trial"` // from 1
	N        int       `json:"n"`     // the n-th equal request of its run, from 0
	Created  time.Time `json:"created"`

	Answered  string           `json:"answered,omitempty"` // what the server says has answered
	Tier      string           `json:"tier,omitempty"`     // the service tier that it reports
	Reported  json.RawMessage  `json:"reported,omitempty"` // of the usage, beyond Usage
	Finish    string           `json:"finish"`
	Usage     record.Usage     `json:"usage"`
	Duration  time.Duration    `json:"duration_ns"` // of the call that was made
	Text      string           `json:"text,omitempty"`
	Thinking  string           `json:"thinking,omitempty"`
	ToolCalls []model.ToolCall `json:"tool_calls,omitempty"`
	Blocks    string           `json:"blocks,omitempty"` // the provider's JSON, to the byte

	// Of an answer to a program: when it began, what it is, and all of it as it came.
	FirstByte   time.Duration `json:"first_byte_ns,omitempty"`
	ContentType string        `json:"content_type,omitempty"`
	Raw         []byte        `json:"raw,omitempty"`
}

// reply is the answer as if the call had been made.
func (e *Entry) reply() *model.Reply {
	return &model.Reply{
		Text: e.Text, Thinking: e.Thinking, ToolCalls: slices.Clone(e.ToolCalls), Blocks: append(json.RawMessage(nil), e.Blocks...), Answered: e.Answered,
		Finish: e.Finish, Usage: e.Usage, Tier: e.Tier, Reported: slices.Clone(e.Reported), Duration: e.Duration, Cached: true,
	}
}

// ErrDamaged is about one entry, which the next answer replaces.
var ErrDamaged = errors.New("the entry is damaged")

// form is that of a file: a checksum and an entry.
const form = `{"sha256":"%x","entry":%s}` + "\n"

// encode gives the JSON of a file: an entry and its checksum.
func encode(e *Entry) ([]byte, error) {
	entry, err := json.Marshal(e)
	return fmt.Appendf(nil, form, sha256.Sum256(entry), entry), err
}

// decode reads a file as encode writes it, byte by byte: so the entry is parsed once.
func decode(content []byte) (*Entry, error) {
	begin, end := len(`{"sha256":"","entry":`)+2*sha256.Size, len(content)-len("}\n")
	if end <= begin {
		return nil, ErrDamaged
	}
	entry, e := content[begin:end], &Entry{}
	same := string(content) == fmt.Sprintf(form, sha256.Sum256(entry), entry)
	if !same || json.Unmarshal(entry, e) != nil {
		return nil, ErrDamaged
	}
	return e, nil
}

// readFile reads an entry. What is no file, such as a pipe, is a damaged one.
func readFile(path string) (*Entry, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, ErrDamaged
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	e, err := decode(content)
	return e, info, err
}

// Options of a store. The zero Options work.
type Options struct {
	// Warn gets the first error of reading or writing the cache; calls continue without it.
	Warn func(error)
	// Redact hides secrets. An answer that it changes is not stored.
	Redact func(string) string
	Now    func() time.Time // default: time.Now
}

// Store is a folder of entries. Any number of goroutines and processes may use it at once.
type Store struct {
	dir     string
	options Options
	flights sync.Map // of *flight, by Key
	opened  time.Time
	warned  sync.Once

	hits, misses, stored, damaged atomic.Int64

	unstored atomic.Int64 // bytes of answers that flights keep
}

// Stats counts what happened to the calls of a store.
type Stats struct {
	Hits    int64 // calls that were answered without being made
	Misses  int64 // lookups that found nothing
	Stored  int64
	Damaged int64 // entries that could not be read; part of Misses
}

// Open gives the store of a folder, which is made when the first answer is stored.
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
	return &Store{dir: dir, options: options, opened: options.Now()}
}

// Stats is what happened so far.
func (s *Store) Stats() Stats {
	return Stats{Hits: s.hits.Load(), Misses: s.misses.Load(), Stored: s.stored.Load(), Damaged: s.damaged.Load()}
}

// path divides the entries among 256 folders.
func (s *Store) path(k Key) string {
	digits := k.String()
	return filepath.Join(s.dir, digits[:2], digits[2:]+".json")
}

// lookup returns the entry of a key if it can be read and is not older than since, else nil.
func (s *Store) lookup(k Key, since time.Time) *Entry {
	e, err := s.read(k)
	switch {
	case err == nil && !e.Created.Before(since):
		s.hits.Add(1)
		return e
	case errors.Is(err, ErrDamaged):
		s.damaged.Add(1)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		s.warn(fmt.Errorf("reading the cache: %w", err))
	}
	s.misses.Add(1)
	return nil
}

// usedEvery is how exactly the time of an entry's file says when it was last used.
const usedEvery = 24 * time.Hour

func (s *Store) read(k Key) (*Entry, error) {
	path := s.path(k)
	e, info, err := readFile(path)
	if err != nil {
		return nil, err
	}
	if e.Key != k.String() {
		return nil, ErrDamaged
	}
	if now := s.options.Now(); now.Sub(info.ModTime()) > usedEvery {
		_ = os.Chtimes(path, now, now) // else it is merely pruned sooner
	}
	return e, nil
}

const (
	// mostStored is the size of an answer in bytes that is not stored any more: to write it would take several times its memory.
	mostStored = 8 << 20
	// mostUnstored is the size of all answers in bytes that a session keeps in memory because they were not stored.
	mostUnstored = 64 << 20
)

// size is about how many bytes an entry takes.
func (e *Entry) size() int64 {
	size := len(e.Text) + len(e.Thinking) + len(e.Blocks) + len(e.Reported) + len(e.Raw)
	for _, call := range e.ToolCalls {
		size += len(call.Arguments)
	}
	return int64(size) + 1<<10
}

// save stores an entry, or warns. It reports whether the entry is stored.
func (s *Store) save(k Key, e *Entry) bool {
	e.Key, e.Created = k.String(), s.options.Now().UTC()
	if e.size() > mostStored {
		return false
	}
	texts := []string{e.Task, e.Answered, e.Text, e.Thinking, e.Blocks, e.ContentType, string(e.Reported), string(e.Raw)}
	for _, call := range e.ToolCalls {
		texts = append(texts, call.ID, call.Name, call.Arguments)
	}
	if all := strings.Join(texts, "\n"); s.options.Redact(all) != all || !utf8.ValidString(all) { // JSON would change it
		return false
	}
	content, err := encode(e)
	if err == nil {
		err = write(s.path(k), content)
	}
	if err != nil {
		s.warn(fmt.Errorf("writing the cache: %w", err))
		return false
	}
	s.stored.Add(1)
	return true
}

const temporaryPrefix = "tmp-"

// write writes the file under another name first, so that no reader sees half of it. It is not synced: what a power cut
// tears is a miss.
func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temporary := filepath.Join(filepath.Dir(path), temporaryPrefix+rand.Text())
	err := os.WriteFile(temporary, content, 0o644)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary) // Prune finds what stays
	}
	return err
}

func (s *Store) warn(err error) { s.warned.Do(func() { s.options.Warn(err) }) }
