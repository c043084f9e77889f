package record

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
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
		return nil, fmt.Errorf("it takes %d MiB, and %w", len(line)>>20, ErrTooLong)
	}
	line[len(lineHead)] = ','
	putHex(line[crcAt:len(lineHead)-1], crc32.Checksum(line[len(lineHead):], castagnoli))
	return append(buffer, '\n'), nil
}

var (
	errNoChecksum = errors.New("no checksum")
	errChecksum   = errors.New("the checksum does not fit")
)

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

// place is where a line of a file begins.
type place struct {
	line   int // lines before it
	offset int64
}

// line is a good line of a file, and what was made of it.
type line[T any] struct {
	place
	bytes int64 // of the whole line
	is    T
}

func (l *line[T]) end() place { return place{l.line + 1, l.offset + l.bytes} }

func (l *line[T]) problem(file string, err error) *Problem {
	return &Problem{File: file, Line: l.line + 1, Lines: 1, Offset: l.offset, Bytes: l.bytes, What: err.Error()}
}

// RecordPlace is where a record stands.
type RecordPlace struct{ offset, bytes int64 }

// Compare orders places as they are in the file.
func (p RecordPlace) Compare(q RecordPlace) int { return cmp.Compare(p.offset, q.offset) }

// objectAt reads the line at a place of a file, and gives the object in it.
func objectAt(file string, in io.ReaderAt, at place, bytes int64) ([]byte, error) {
	text := make([]byte, bytes)
	if _, err := in.ReadAt(text, at.offset); err != nil {
		return nil, fmt.Errorf("reading the results: %w", err)
	}
	return objectOf(file, text, at)
}

// objectOf is the object in a line that stood at a place. It shares its memory and
// changes it.
func objectOf(file string, text []byte, at place) (object []byte, err error) {
	end := len(text) - 1
	if end < 0 || text[end] != '\n' {
		err = errTorn
	} else {
		object, err = unseal(text[:end])
	}
	if err != nil {
		l := line[struct{}]{place: at, bytes: int64(len(text))}
		return nil, l.problem(file, err)
	}
	return object, nil
}

var (
	errTorn    = errors.New("incomplete line")
	errTooLong = fmt.Errorf("a line of more than %d MiB", longestLine>>20)
)

// fileLines are the lines of a file of a result folder; a missing file has none.
func fileLines[T any](dir, name string, read func([]byte) (T, error)) iter.Seq2[*line[T], error] {
	return func(yield func(*line[T], error) bool) {
		f, err := openFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, fmt.Errorf("reading the results: %w", err))
			return
		}
		defer f.Close()
		walk(name, f, place{}, read)(yield)
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

// sectionLines are those of a part of a file, which begins with a line.
func sectionLines[T any](name string, in io.ReaderAt, from place, to int64, read func([]byte) (T, error)) iter.Seq2[*line[T], error] {
	return walk(name, io.NewSectionReader(in, from.offset, to-from.offset), from, read)
}

// walk yields the lines of a file in their order, each valid until the next one, as
// read makes them of the objects in them; the input begins at the given place of the
// file. What is wrong with a line is a *Problem. There is one for all lines that follow
// each other and are not whole; what read refuses has one of its own. Any other error
// is the last element.
//
// Lines are read in blocks, as many at the same time as there are processors, so read
// must be safe for concurrent use.
func walk[T any](name string, in io.Reader, from place, read func([]byte) (T, error)) iter.Seq2[*line[T], error] {
	return func(yield func(*line[T], error) bool) {
		w := &walker[T]{in: in, read: read, room: blockSize}
		defer func() {
			for _, b := range w.ahead { // that are not wanted any more
				<-b.done
			}
		}()
		var bad *Problem // of the lines before
		for b := w.next(); b != nil; b = w.next() {
			for i := range b.lines {
				l := &b.lines[i]
				l.place, from = from, place{from.line + 1, from.offset + l.bytes}
				switch {
				case l.broken == nil:
				case bad == nil:
					bad = l.problem(name, l.broken)
					continue
				default:
					bad.Lines, bad.Bytes = bad.Lines+1, bad.Bytes+l.bytes
					continue
				}
				if bad != nil && !yield(nil, bad) {
					return
				}
				bad = nil
				var err error
				if l.refused != nil {
					err = l.problem(name, l.refused)
				}
				if !yield(&l.line, err) {
					return
				}
			}
			w.free = append(w.free, b)
		}
		if bad != nil {
			bad.Torn = w.err == nil
			if !yield(nil, bad) {
				return
			}
		}
		if w.err != nil {
			yield(nil, w.err)
		}
	}
}

// walker reads a file block by block.
type walker[T any] struct {
	in    io.Reader
	read  func([]byte) (T, error)
	rest  []byte // the beginning of the next block's first line
	ended bool   // nothing is left to be read
	err   error  // why that is so, where it is not the end

	ahead []*block[T] // those in the works, in their order
	free  []*block[T]
	room  int // for the text of a block
}

// block is a part of a file: whole lines, the last one perhaps without its end.
type block[T any] struct {
	text  []byte
	long  int64 // the length of a line that is too long, instead of a text; 0: none
	lines []blockLine[T]
	done  chan struct{}
}

// blockLine is a line that may not be good: it is not whole, or read refuses it.
type blockLine[T any] struct {
	line[T]
	broken, refused error
}

const (
	blockSize = 128 << 10
	mostAhead = 1 << 20 // bytes of blocks in the works, but for the next one
)

// next is the next block whose lines were read; nil at the end. The first one is read
// before others are begun: it may be all there is, or all that is wanted.
func (w *walker[T]) next() *block[T] {
	for first := w.free == nil; !w.ended && len(w.ahead) <= min(runtime.GOMAXPROCS(0), mostAhead/w.room); {
		b := w.fill()
		w.ahead = append(w.ahead, b)
		if first {
			b.parse(w.read)
			break
		}
		go b.parse(w.read)
	}
	if len(w.ahead) == 0 {
		return nil
	}
	b := w.ahead[0]
	w.ahead = slices.Delete(w.ahead, 0, 1)
	<-b.done
	return b
}

// fill reads the text of a block.
func (w *walker[T]) fill() *block[T] {
	b := &block[T]{done: make(chan struct{}, 1)}
	if last := len(w.free) - 1; last >= 0 {
		b, w.free = w.free[last], w.free[:last]
	}
	b.long, b.text = 0, append(slices.Grow(emptied(b.text), w.room), w.rest...)
	w.rest = emptied(w.rest)
	for {
		from := len(b.text)
		n, err := io.ReadFull(w.in, b.text[from:cap(b.text)])
		b.text = b.text[:from+n]
		end := bytes.LastIndexByte(b.text, '\n') + 1
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			w.ended = true
			return b
		case err != nil:
			w.ended, w.err = true, err
			b.text = b.text[:end]
			return b
		case end > 0:
			w.rest = append(w.rest, b.text[end:]...)
			b.text = b.text[:end]
			return b
		case len(b.text) >= longestLine:
			w.skip(b)
			return b
		}
		w.room = 4 * len(b.text)
		b.text = slices.Grow(b.text, w.room-len(b.text))
	}
}

// skip reads on to the end of a line that is too long.
func (w *walker[T]) skip(b *block[T]) {
	b.long, b.text = int64(len(b.text)), b.text[:0]
	for part := b.text[:blockSize]; ; {
		n, err := io.ReadFull(w.in, part)
		end := bytes.IndexByte(part[:n], '\n') + 1
		if end == 0 {
			b.long += int64(n)
		} else {
			b.long += int64(end)
			w.rest = append(w.rest, part[end:n]...)
		}
		if w.ended = err != nil && len(w.rest) == 0; w.ended || end > 0 {
			return
		}
	}
}

// parse takes the text apart into lines.
func (b *block[T]) parse(read func([]byte) (T, error)) {
	defer func() { b.done <- struct{}{} }()
	b.lines = b.lines[:0]
	if b.long > 0 {
		b.lines = append(b.lines, blockLine[T]{line: line[T]{bytes: b.long}, broken: errTooLong})
	}
	for text := b.text; len(text) > 0; {
		end, whole := bytes.IndexByte(text, '\n')+1, true
		if end == 0 {
			end, whole = len(text), false
		}
		l := blockLine[T]{line: line[T]{bytes: int64(end)}}
		switch {
		case !whole:
			l.broken = errTorn
		case end > longestLine:
			l.broken = errTooLong
		default:
			var object []byte
			if object, l.broken = unseal(text[:end-1]); l.broken == nil {
				l.is, l.refused = read(object)
			}
		}
		b.lines, text = append(b.lines, l), text[end:]
	}
}

// Problem is a fault in a file of a result folder. Readers report it as an error
// and go on behind it.
type Problem struct {
	File   string // its name in the folder
	Line   int    // the first bad line, from 1
	Lines  int    // how many bad ones follow each other
	Offset int64  // of the first one's first byte
	Bytes  int64  // how many bytes they take
	// Torn means that nothing good follows: what a crash leaves behind.
	Torn bool
	What string
}

// Error names the place and what is wrong there.
func (p *Problem) Error() string {
	more := ""
	if p.Lines > 1 {
		more = fmt.Sprintf(", and %d more bad lines", p.Lines-1)
	}
	return fmt.Sprintf("%s:%d: %s (byte %d, %d bytes%s)", p.File, p.Line, p.What, p.Offset, p.Bytes, more)
}

// Unreadable reports whether an error of a reader means that the rest of a file cannot be
// read; after a Problem alone the lines behind it are read.
func Unreadable(err error) bool { return err != nil && !isDamage(err) }

// Sound are the lines that can be read. Damage is passed over: it is left to those who report it. Why the rest of the file
// cannot be read is the last error.
func Sound[T any](lines iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for line, err := range lines {
			if !isDamage(err) && !yield(line, err) {
				return
			}
		}
	}
}

func isDamage(err error) bool {
	_, is := errors.AsType[*Problem](err)
	return is
}

func isTorn(err error) bool {
	p, is := errors.AsType[*Problem](err)
	return is && p.Torn
}
