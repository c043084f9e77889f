package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
)

// Shorten keeps messages readable.
func Shorten(text string) string {
	const most = 500
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s … (%d bytes)", secret.Prefix(text, most), len(text))
}

// longestPiece is in what pieces long answers are kept while they are read. They
// are joined at the end, and not at all where they turn out to be too long.
const longestPiece = 1 << 20

// firstPiece is the first of them; shorter where the answer tells that it is.
const firstPiece = 4 << 10

// pieces are what was read so far.
type pieces struct {
	full [][]byte
	last []byte
}

// room is where to read on.
func (p *pieces) room() []byte {
	if len(p.last) == cap(p.last) {
		if p.last != nil {
			p.full = append(p.full, p.last)
		}
		p.last = make([]byte, 0, max(firstPiece, min(2*cap(p.last), longestPiece)))
	}
	return p.last[len(p.last):cap(p.last)]
}

func (p *pieces) read(n int) { p.last = p.last[:len(p.last)+n] }

// join makes one of the pieces, each of which is let go once it is copied.
func (p *pieces) join() []byte {
	if p.full == nil {
		return p.last
	}
	length := len(p.last)
	for _, piece := range p.full {
		length += len(piece)
	}
	whole := make([]byte, 0, length)
	for i, piece := range p.full {
		whole = append(whole, piece...)
		p.full[i] = nil
	}
	whole = append(whole, p.last...)
	*p = pieces{}
	return whole
}

// readAll reads to the end; on an error it gives nothing. The length is a hint,
// negative where nothing is known.
func readAll(from io.Reader, length int64) ([]byte, error) {
	var p pieces
	if length >= 0 {
		p.last = make([]byte, 0, min(firstPiece-1, length)+1) // the end is seen where there is room to read
	}
	for {
		n, err := from.Read(p.room())
		p.read(n)
		switch {
		case errors.Is(err, io.EOF):
			return p.join(), nil
		case err != nil:
			return nil, err
		}
	}
}

// ReadLine reads a line with its end. At the end of all it gives what is left,
// and io.EOF; on another error nothing.
func ReadLine(from *bufio.Reader) ([]byte, error) {
	var p pieces
	for {
		part, err := from.ReadSlice('\n')
		switch {
		case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case p.last == nil && !errors.Is(err, bufio.ErrBufferFull):
			return part, err // most lines: nothing is copied
		}
		for len(part) > 0 {
			n := copy(p.room(), part)
			p.read(n)
			part = part[n:]
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return p.join(), err
		}
	}
}

// limited fails where more is read than allowed.
type limited struct {
	from       io.Reader
	left, most int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.from.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("%w: more than %d bytes", errTooLarge, l.most)
	}
	return n, err
}

// isStream tells a stream from an answer that is whole, or none, by how it
// begins; the header may say anything.
func isStream(from *bufio.Reader) bool {
	for {
		next, err := from.Peek(1)
		if err != nil {
			return false
		}
		switch next[0] {
		case ' ', '\t', '\r', '\n':
			_, _ = from.Discard(1)
		case '{', '[', '<':
			return false
		default:
			return true
		}
	}
}

// Broken is the fault of an event that the protocol does not know.
func Broken(text []byte) error {
	return &record.Error{Class: record.BadResponse, Message: "an event of the stream is not what the API promises: " + Shorten(string(text))}
}

// ToldInStream explains an error that came as an event. It cut the answer off,
// unless it says why trying again is in vain, or that it should wait.
func ToldInStream(text []byte) error {
	t := Tell(text)
	class := t.Class()
	if class == "" || class == record.Server {
		class = record.Incomplete
	}
	if t.Message == "" {
		t.Message = Shorten(string(text))
	}
	return &record.Error{Class: class, Message: fmt.Sprintf("the stream broke off with an error: %s", t.Message)}
}

// notStreamed is the fault of a server that ignores stream: its answer, of that text, may be cut off.
func notStreamed(text string) *record.Error {
	return &record.Error{Class: record.Incomplete, Message: "a stream was asked for and something else came: set stream: false if the server knows no streams; it said: " + Shorten(text)}
}

// Events reads the events of a stream up to its end: the name of each, "" where it has none, and its data. It ends early where
// take reports that it was the last, or gives an error. Data that are cut off are an error, and none follow them.
func Events(from *bufio.Reader, take func(name string, data []byte) (last bool, err error)) error {
	var name string
	var data []byte
	for {
		line, err := ReadLine(from)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		ended := err != nil
		line = bytes.TrimRight(line, "\r\n")
		key, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(key) {
		case "event":
			name = string(value)
		case "data":
			if data == nil && len(line) > from.Size() {
				data = slices.Clip(value) // a long line is in memory of its own
				break
			}
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		}
		if len(line) > 0 && !ended {
			continue
		}
		if data != nil {
			if ended && !json.Valid(data) && string(data) != "[DONE]" {
				return &record.Error{Class: record.Incomplete, Message: "the stream ended inside an event"}
			}
			if last, err := take(name, data); last || err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
		name, data = "", data[:0]
		if len(data) == 0 {
			data = nil
		}
	}
}

// Text is a text that comes in pieces; one alone is not copied.
type Text struct {
	first string
	all   strings.Builder
}

// Add adds a piece.
func (t *Text) Add(piece string) {
	switch {
	case piece == "":
	case t.first == "":
		t.first = piece
	default:
		if t.all.Len() == 0 {
			t.all.WriteString(t.first)
		}
		t.all.WriteString(piece)
	}
}

// String is the text so far.
func (t *Text) String() string {
	if t.all.Len() == 0 {
		return t.first
	}
	return t.all.String()
}

// silent is the fault of a server that says nothing for too long.
type silent struct {
	began bool // it had begun to answer
	after time.Duration
}

func (s silent) Error() string {
	if s.began {
		return fmt.Sprintf("the server said nothing more for %v", s.after)
	}
	return fmt.Sprintf("the server did not begin to answer within %v", s.after)
}

// silence ends a request whose server says nothing for too long: before the
// first byte of the answer's body, and from then on between any two.
type silence struct {
	from  io.Reader // the body; nil before it begins
	began atomic.Bool
	idle  time.Duration
	timer *time.Timer
}

func listen(firstByte, idle time.Duration, end context.CancelCauseFunc) *silence {
	s := &silence{idle: idle}
	s.timer = time.AfterFunc(firstByte, func() {
		if s.began.Load() {
			end(silent{began: true, after: idle})
		} else {
			end(silent{after: firstByte})
		}
	})
	return s
}

// Read reads of the body, and allows that much silence from then on.
func (s *silence) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if n > 0 {
		s.began.Store(true)
		s.timer.Reset(s.idle)
	}
	return n, err
}
