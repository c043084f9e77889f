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
	"sync/atomic"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
)

// Shorten keeps messages readable.
func Shorten(text string) string { return secret.Shorten(text, 500) }

// NoParameters is the schema of a tool that declares none: there are servers that refuse a tool without one.
var NoParameters = json.RawMessage(`{"type":"object","properties":{}}`)

// IsSet reports whether a value is there and not null.
func IsSet(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

// readAll reads to the end, in pieces that are joined then, and not at all where they
// turn out to be too long.
func readAll(from io.Reader) ([]byte, error) {
	const longest = 1 << 20
	var pieces [][]byte
	for {
		piece, err := io.ReadAll(io.LimitReader(from, longest))
		if err != nil {
			return nil, err
		}
		if pieces = append(pieces, piece); len(piece) < longest {
			return slices.Concat(pieces...), nil
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
// take reports that it was the last, or gives an error. Data are taken as soon as they are whole JSON, for there are servers
// that leave out the empty line. Data that are cut off are an error, and none follow them.
func Events(from *bufio.Reader, take func(name string, data []byte) (last bool, err error)) error {
	var name string
	var data []byte // of the event so far
	for {
		line, err := from.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		end := err != nil
		line = bytes.TrimRight(line, "\r\n")
		key, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case string(key) == "event":
			name = string(value)
		case string(key) == "data" && data == nil:
			data = value
		case string(key) == "data":
			data = append(append(data, '\n'), value...)
		}
		whole := data != nil && (json.Valid(data) || string(data) == "[DONE]")
		if data != nil && end && !whole {
			return &record.Error{Class: record.Incomplete, Message: "the stream ended inside an event"}
		}
		if whole || data != nil && len(line) == 0 {
			if last, err := take(name, data); last || err != nil {
				return err
			}
		}
		if end {
			return nil
		}
		if whole || len(line) == 0 {
			name, data = "", nil
		}
	}
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
