package cache

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
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
	return hidden(e.text) || hidden(e.thinking) || hidden(string(e.blocks)) || hidden(string(e.raw)) || slices.ContainsFunc(e.calls, func(c model.ToolCall) bool {
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

// disk is how a store writes. Tests make it fail.
type disk interface {
	// Create makes a file that must not be there yet.
	Create(path string) (io.WriteCloser, error)
	MakeFolder(path string) error
	Rename(from, to string) error
	Remove(path string) error
}

// folder is the real disk.
type folder struct{}

func (folder) Create(path string) (io.WriteCloser, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err // a nil *os.File would be a writer that is not nil
	}
	return f, nil
}

func (folder) MakeFolder(path string) error { return os.MkdirAll(path, 0o755) }
func (folder) Rename(from, to string) error { return os.Rename(from, to) }
func (folder) Remove(path string) error     { return os.Remove(path) }

const temporaryPrefix = "tmp-"

// temporaryName is a name beside the path that no other process uses.
func temporaryName(path string) string {
	return filepath.Join(filepath.Dir(path), temporaryPrefix+rand.Text())
}

func isTemporary(name string) bool { return strings.HasPrefix(name, temporaryPrefix) }

// Head is what an entry says of itself beside the reply's text.
type Head struct {
	Key      string    `json:"key"`
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	Task     string    `json:"task"`
	Trial    int       `json:"trial"` // from 1
	N        int       `json:"n"`     // the n-th equal request of its run, from 0
	Created  time.Time `json:"created"`

	Answered string          `json:"answered,omitempty"` // what the server says has answered
	Tier     string          `json:"tier,omitempty"`     // the service tier that it reports
	Reported json.RawMessage `json:"reported,omitempty"` // of the usage, beyond Usage
	Finish   string          `json:"finish"`
	Usage    record.Usage    `json:"usage"`
	Duration time.Duration   `json:"duration_ns"` // of the call that was made

	// Of an answer to a program: when it began, and what it is.
	FirstByte   time.Duration `json:"first_byte_ns,omitempty"`
	ContentType string        `json:"content_type,omitempty"`

	// How many bytes of each stand behind the head.
	TextBytes     int `json:"text_bytes"`
	ThinkingBytes int `json:"thinking_bytes"`
	ToolCallBytes int `json:"tool_call_bytes,omitempty"`
	BlockBytes    int `json:"block_bytes,omitempty"`
	RawBytes      int `json:"raw_bytes,omitempty"`
}

// entry is a stored answer.
type entry struct {
	Head
	text, thinking string
	calls          []model.ToolCall
	blocks         json.RawMessage
	raw            []byte // the whole answer as it came to a program; nil: no program asked
}

// An entry is a file of three parts: a line with the checksums (CRC-32C) of the
// other two, a line of JSON that is the head, and the reply's text and
// thinking as they came, then its tool calls as JSON and its provider's blocks where it has some, and the whole answer where a
// program asked:
//
//	agentbench cache 1 5a1c0f3e 00000000
//	{"key":"9f86…","provider":"openai","model":"m","task":"a","trial":1, …}
//	The answer is 42.
const (
	magic = "agentbench cache 1 "
	// firstLine is how long it is, line feed included.
	firstLine = len(magic) + 8 + 1 + 8 + 1
	// largest bounds the memory that a damaged file can take.
	largest = 128 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errDamaged = errors.New("the entry is damaged")

// IsDamaged says whether the error is about one entry, which the next answer
// replaces, and not about the cache.
func IsDamaged(err error) bool { return errors.Is(err, errDamaged) }

// write writes the entry, without another copy of its texts, which may be large.
func (e *entry) write(w io.Writer) error {
	calls, err := encodeCalls(e.calls)
	if err != nil {
		return err
	}
	head := e.Head
	head.TextBytes, head.ThinkingBytes, head.ToolCallBytes, head.BlockBytes = len(e.text), len(e.thinking), len(calls), len(e.blocks)
	head.RawBytes = len(e.raw)
	line, err := json.Marshal(&head)
	if err != nil {
		return err
	}
	size := firstLine + len(line) + 1 + len(e.text) + len(e.thinking) + len(calls) + len(e.blocks) + len(e.raw)
	if size > largest {
		return fmt.Errorf("an entry holds %d MiB at most", largest>>20)
	}
	body := crc32.Update(checksumOf(checksumOf(0, e.text), e.thinking), castagnoli, calls)
	body = crc32.Update(crc32.Update(body, castagnoli, e.blocks), castagnoli, e.raw)
	b := bufio.NewWriterSize(w, min(size, 64<<10))
	fmt.Fprintf(b, "%s%08x %08x\n%s\n", magic, crc32.Checksum(line, castagnoli), body, line)
	b.WriteString(e.text)
	b.WriteString(e.thinking)
	b.Write(calls)
	b.Write(e.blocks)
	b.Write(e.raw)
	return b.Flush() // the first error of all writes
}

// checksumOf goes on with a checksum over a text.
func checksumOf(sum uint32, text string) uint32 {
	var part [4 << 10]byte
	for len(text) > 0 {
		n := copy(part[:], text)
		sum, text = crc32.Update(sum, castagnoli, part[:n]), text[n:]
	}
	return sum
}

// decode reads a whole entry.
func decode(b []byte) (*entry, error) {
	head, body, err := decodeHead(b)
	if err != nil {
		return nil, err
	}
	text, rest, ok := cut(body, head.TextBytes)
	thinking, rest, alsoOK := cut(rest, head.ThinkingBytes)
	calls, rest, callsOK := cut(rest, head.ToolCallBytes)
	blocks, raw, blocksOK := cut(rest, head.BlockBytes)
	if !ok || !alsoOK || !callsOK || !blocksOK || len(raw) != head.RawBytes || !bytes.Equal(checksum(body), b[len(magic)+9:firstLine-1]) {
		return nil, errDamaged
	}
	e := &entry{Head: *head, text: string(text), thinking: string(thinking)}
	if len(blocks) > 0 {
		e.blocks = bytes.Clone(blocks)
	}
	if len(raw) > 0 {
		e.raw = bytes.Clone(raw)
	}
	e.calls, err = decodeCalls(calls)
	return e, err
}

// cut parts b behind its first n bytes, if it has so many.
func cut(b []byte, n int) (first, rest []byte, ok bool) {
	if n < 0 || n > len(b) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

// decodeHead reads the head and gives what follows it.
func decodeHead(b []byte) (head *Head, body []byte, err error) {
	if len(b) < firstLine || string(b[:len(magic)]) != magic || b[len(magic)+8] != ' ' || b[firstLine-1] != '\n' {
		return nil, nil, errDamaged
	}
	line, body, found := bytes.Cut(b[firstLine:], []byte{'\n'})
	if !found || !bytes.Equal(checksum(line), b[len(magic):len(magic)+8]) {
		return nil, nil, errDamaged
	}
	head = &Head{}
	if json.Unmarshal(line, head) != nil {
		return nil, nil, errDamaged
	}
	return head, body, nil
}

func checksum(b []byte) []byte {
	return fmt.Appendf(nil, "%08x", crc32.Checksum(b, castagnoli))
}

// reply is the answer as if the call had been made.
func (e *entry) reply() *model.Reply {
	return &model.Reply{
		Text: e.text, Thinking: e.thinking, ToolCalls: slices.Clone(e.calls), Answered: e.Answered, Finish: e.Finish,
		Blocks: bytes.Clone(e.blocks), Usage: e.Usage, Tier: e.Tier, Reported: bytes.Clone(e.Reported), Duration: e.Duration, Cached: true,
	}
}

// normal says whether an answer is complete and of the kind that another call
// would give as well.
func normal(reply *model.Reply) bool {
	switch reply.Finish {
	case "stop", "length", "tool_calls":
		return true
	}
	return false
}

// mostRecent is how many answers are remembered that are not on the disk. Runs
// that may share calls stand together in a plan, so that few are needed.
const mostRecent = 4096

// recent are the last answers that are not on the disk: because they may not be,
// hold a secret, or the disk would not take them. Configurations that send the
// same share them all the same.
type recent struct {
	mu   sync.Mutex
	of   map[Key]*entry
	keys []Key // a ring, once it is full
	next int
}

func (r *recent) find(k Key) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[k]
}

// keep remembers an answer in place of the oldest one.
func (r *recent) keep(k Key, e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[Key]*entry{}
	}
	if _, known := r.of[k]; !known {
		r.remember(k)
	}
	r.of[k] = e
}

func (r *recent) remember(k Key) {
	if len(r.keys) < mostRecent {
		r.keys = append(r.keys, k)
		return
	}
	delete(r.of, r.keys[r.next])
	r.keys[r.next] = k
	r.next = (r.next + 1) % mostRecent
}
