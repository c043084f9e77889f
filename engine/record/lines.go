package record

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"runtime"
	"slices"
	"sync"
)

// A line of records.jsonl or scores.jsonl is one JSON object and a line feed. Its first key is the checksum of all that follows:
//
//	{"crc":"1b2d6c3f","v":1,"run":"default/backend-1/1", ...}
//
// The eight lower-case digits are the CRC-32C (Castagnoli) of the bytes from
// behind their closing quote to the end of the object.
const (
	lineHead = `{"crc":"00000000"`
	crcAt    = len(`{"crc":"`)
	// longestLine bounds the memory that a damaged file can take: a longer line
	// is neither written nor read.
	longestLine = 256 << 20
)

// ErrTooLong means that what was to be written takes more than a line holds.
var ErrTooLong = fmt.Errorf("a line holds %d MiB", longestLine>>20)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal turns lineHead and the object behind it, which start at that offset of
// the buffer, into a line. The object is compact and has at least one key.
func seal(buffer []byte, start int) ([]byte, error) {
	line := buffer[start:]
	if len(line) >= longestLine {
		return nil, tooLong(len(line))
	}
	line[len(lineHead)] = ','
	putHex(line[crcAt:len(lineHead)-1], crc32.Checksum(line[len(lineHead):], castagnoli))
	return append(buffer, '\n'), nil
}

var (
	errNoChecksum = errors.New("no checksum")
	errChecksum   = errors.New("the checksum does not fit")
	errTorn       = errors.New("incomplete line")
	errTooLong    = fmt.Errorf("a line of more than %d MiB", longestLine>>20)
)

func tooLong(size int) error { return fmt.Errorf("it takes %d MiB, and %w", size>>20, ErrTooLong) }

// unseal checks a line, without its line feed, and returns the object in it
// without the checksum. The result shares the line's memory and changes it.
func unseal(line []byte) ([]byte, error) {
	if len(line) < len(lineHead)+2 || !bytes.HasPrefix(line, []byte(lineHead[:crcAt])) || line[len(lineHead)-1] != '"' {
		return nil, errNoChecksum
	}
	var want [8]byte
	putHex(want[:], crc32.Checksum(line[len(lineHead):], castagnoli))
	if !bytes.Equal(line[crcAt:len(lineHead)-1], want[:]) {
		return nil, errChecksum
	}
	object := line[len(lineHead):]
	object[0] = '{'
	return object, nil
}

func putHex(dst []byte, sum uint32) {
	const digits = "0123456789abcdef"
	for i := range dst {
		dst[i] = digits[sum>>28]
		sum <<= 4
	}
}

// reading reads what a line holds of a type.
func reading[T any](object []byte) (value T, err error) {
	err = decode(object, &value)
	return value, err
}

// Damage is a part of a file of results that is not as it was written. Readers end with it; only Repair goes past it.
type Damage struct {
	File string // its path
	Line int    // from 1; 0: the file as a whole
	What string
}

// Error names the place and what is wrong there.
func (d *Damage) Error() string {
	if d.Line == 0 {
		return d.File + ": " + d.What
	}
	return fmt.Sprintf("%s:%d: %s", d.File, d.Line, d.What)
}

// Place is where a line of a file stands.
type Place struct {
	line          int // from 1
	offset, bytes int64
}

// Compare orders places as they are in the file.
func (p Place) Compare(q Place) int { return cmp.Compare(p.line, q.line) }

// line is a line of a file: what was made of it, or what is wrong with it.
type line[T any] struct {
	Place
	text   []byte // with its line feed
	is     T
	damage error
}

// parse makes of the object in the line what read makes of it.
func (l *line[T]) parse(read func(object []byte) (T, error)) {
	end := len(l.text) - 1
	switch {
	case l.bytes > longestLine:
		l.damage = errTooLong
	case l.text[end] != '\n':
		if l.damage = errTorn; isWhole(l.text[:end]) { // it is not cut: its last byte was a line feed
			l.damage = errChecksum
		}
	default:
		var object []byte
		if object, l.damage = unseal(l.text[:end]); l.damage == nil {
			l.is, l.damage = read(object)
			object[0] = ','
		}
	}
}

func isWhole(text []byte) bool {
	_, err := unseal(bytes.Clone(text))
	return err == nil
}

var texts = sync.Pool{New: func() any { return &[]byte{} }}

// lineAt reads one line of a file. What is read shares no memory with it.
func lineAt[T any](file string, in io.ReaderAt, at Place, read func([]byte) (T, error)) (T, error) {
	text := texts.Get().(*[]byte)
	defer texts.Put(text)
	*text = slices.Grow(emptied(*text), int(at.bytes))
	l := line[T]{Place: at, text: (*text)[:at.bytes]}
	if _, err := in.ReadAt(l.text, at.offset); err != nil {
		return l.is, fmt.Errorf("reading the results: %w", err)
	}
	if l.parse(read); l.damage != nil {
		return l.is, &Damage{file, at.line, l.damage.Error()}
	}
	return l.is, nil
}

// fileLines are the good lines of a file, as goodLines are; a missing file has none.
func fileLines[T any](path string, read func([]byte) (T, error)) iter.Seq2[*line[T], error] {
	return func(yield func(*line[T], error) bool) {
		f, err := openFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, fmt.Errorf("reading the results: %w", err))
			return
		}
		defer f.Close()
		goodLines(path, f, 1, read)(yield)
	}
}

// goodLines are the lines of a file up to the first damaged one, which is a *Damage. A last line that is torn is what a crash
// leaves behind: it is passed over.
func goodLines[T any](path string, in io.Reader, first int, read func([]byte) (T, error)) iter.Seq2[*line[T], error] {
	return func(yield func(*line[T], error) bool) {
		for l, err := range allLines(in, first, read) {
			switch {
			case err != nil:
				yield(nil, fmt.Errorf("reading the results: %w", err))
				return
			case l.damage == errTorn:
				return
			case l.damage != nil:
				yield(nil, &Damage{path, l.line, l.damage.Error()})
				return
			case !yield(l, nil):
				return
			}
		}
	}
}

// values are what was made of lines.
func values[T any](lines iter.Seq2[*line[T], error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for l, err := range lines {
			var value T
			if err == nil {
				value = l.is
			}
			if !yield(value, err) {
				return
			}
		}
	}
}

// allLines are the lines of a file, good or damaged, each valid until the next one, and numbered from first. Why the file cannot
// be read on is the last error. Batches of lines are parsed side by side, so read must be safe for concurrent use.
func allLines[T any](in io.Reader, first int, read func([]byte) (T, error)) iter.Seq2[*line[T], error] {
	return func(yield func(*line[T], error) bool) {
		s := &scanner[T]{in: bufio.NewReaderSize(in, batchSize), read: read, next: Place{line: first}}
		defer func() {
			for _, b := range s.queue { // that are not wanted any more
				<-b.parsed
			}
		}()
		for b := s.batch(); b != nil; b = s.batch() {
			for i := range b.lines {
				if !yield(&b.lines[i], nil) {
					return
				}
			}
			s.free = append(s.free, b)
		}
		if s.err != io.EOF {
			yield(nil, s.err)
		}
	}
}

const (
	batchSize = 128 << 10
	mostAhead = 1 << 20 // bytes of batches that are parsed, but for the first
)

// scanner reads a file in batches of lines.
type scanner[T any] struct {
	in    *bufio.Reader
	read  func([]byte) (T, error)
	next  Place // of the next line
	err   error // why nothing more is read
	queue []*batch[T]
	ahead int         // bytes of the queue
	free  []*batch[T] // whose memory can be used again
}

// batch is some lines that follow each other.
type batch[T any] struct {
	text   []byte
	lines  []line[T]
	parsed chan struct{}
}

// batch is the next one; nil at the end.
func (s *scanner[T]) batch() *batch[T] {
	for s.err == nil && (len(s.queue) == 0 || s.ahead < mostAhead && len(s.queue) <= runtime.GOMAXPROCS(0)) {
		b := s.fill()
		s.queue, s.ahead = append(s.queue, b), s.ahead+len(b.text)
		go func() {
			for i := range b.lines {
				b.lines[i].parse(s.read)
			}
			b.parsed <- struct{}{}
		}()
	}
	if len(s.queue) == 0 {
		return nil
	}
	b := s.queue[0]
	s.queue, s.ahead = slices.Delete(s.queue, 0, 1), s.ahead-len(b.text)
	<-b.parsed
	return b
}

// emptied keeps a buffer's memory, but not that of an extraordinary line.
func emptied(buffer []byte) []byte {
	if cap(buffer) > 2*mostPending {
		return nil
	}
	return buffer[:0]
}

// fill reads the lines of a batch.
func (s *scanner[T]) fill() *batch[T] {
	b := &batch[T]{parsed: make(chan struct{}, 1)}
	if last := len(s.free) - 1; last >= 0 {
		b, s.free = s.free[last], s.free[:last]
	}
	b.text, b.lines = emptied(b.text), b.lines[:0]
	for len(b.text) < batchSize && s.err == nil {
		var length int64
		if b.text, length, s.err = appendLineOf(b.text, s.in); length > 0 && (s.err == nil || s.err == io.EOF) {
			at := s.next
			at.bytes = length
			b.lines = append(b.lines, line[T]{Place: at})
			s.next = Place{line: at.line + 1, offset: at.offset + length}
		}
	}
	rest := b.text // which does not move any more
	for i := range b.lines {
		if l := &b.lines[i]; l.bytes <= longestLine {
			l.text, rest = rest[:l.bytes], rest[l.bytes:]
		}
	}
	return b
}

// appendLineOf appends the next line of a file, unless it is too long, and gives its length. The last line may lack a line feed.
// What is long is joined once, when all of it is there: memory that grows step by step would take a multiple of it.
func appendLineOf(text []byte, in *bufio.Reader) (longer []byte, length int64, err error) {
	longer, err = text, bufio.ErrBufferFull
	var parts [][]byte
	for err == bufio.ErrBufferFull {
		var part []byte
		part, err = in.ReadSlice('\n')
		switch length += int64(len(part)); {
		case length > longestLine:
			longer, parts = text, nil
		case length <= mostPending:
			longer = append(longer, part...)
		default:
			parts = append(parts, bytes.Clone(part))
		}
	}
	if parts != nil {
		longer = slices.Concat(append([][]byte{longer}, parts...)...)
	}
	return longer, length, err
}
