package imports

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// mostBytes is how long one value may be that is held whole: a row, or a document
// that is not read row by row.
const mostBytes = 1 << 30

// stream hands out the values of a JSON text one after the other, and holds no
// more than one of them.
type stream struct {
	r          io.Reader
	buf        []byte
	start, pos int // what is not handed out yet, and what is looked at
	line       int // of start, from 1
	eof        error
	most       int
}

func newStream(r io.Reader) *stream {
	s := &stream{r: r, line: 1, most: mostBytes, buf: make([]byte, 0, 256<<10)}
	if s.fill(3) && bytes.HasPrefix(s.buf, []byte("\ufeff")) {
		s.pos, s.start = 3, 3
	}
	return s
}

// broken is what is wrong with a text, at a line of it.
type broken struct {
	line int
	what string
}

func (b *broken) Error() string { return b.what }

func (s *stream) broken(format string, args ...any) error {
	s.drop()
	return &broken{s.line, fmt.Sprintf(format, args...)}
}

// fill reads on until so many bytes are there behind pos, if the text has them.
func (s *stream) fill(n int) bool {
	for len(s.buf)-s.pos < n {
		if s.eof != nil {
			return false
		}
		if len(s.buf) == cap(s.buf) {
			s.makeRoom()
		}
		read, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+read]
		s.eof = err
	}
	return true
}

// makeRoom moves what is not handed out yet to the front, or grows the buffer.
func (s *stream) makeRoom() {
	if s.start > cap(s.buf)/2 {
		n := copy(s.buf, s.buf[s.start:])
		s.buf, s.pos, s.start = s.buf[:n], s.pos-s.start, 0
		return
	}
	grown := make([]byte, len(s.buf)-s.start, 2*cap(s.buf))
	copy(grown, s.buf[s.start:])
	s.buf, s.pos, s.start = grown, s.pos-s.start, 0
}

// drop lets go of what was looked at.
func (s *stream) drop() {
	s.line += bytes.Count(s.buf[s.start:s.pos], []byte{'\n'})
	s.start = s.pos
}

// peek is the next byte that is no white space; 0 at the end.
func (s *stream) peek() (byte, error) {
	for s.fill(1) {
		switch c := s.buf[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			s.drop()
			return c, nil
		}
	}
	s.drop()
	if !errors.Is(s.eof, io.EOF) {
		return 0, s.eof
	}
	return 0, nil
}

func (s *stream) accept(c byte) (bool, error) {
	next, err := s.peek()
	if err != nil || next != c {
		return false, err
	}
	s.pos++
	return true, nil
}

// raw is the next value as it stands, until the next call, and its line.
func (s *stream) raw() (text []byte, line int, err error) {
	first, err := s.peek()
	if err != nil {
		return nil, s.line, err
	}
	switch first {
	case 0:
		return nil, s.line, s.broken("the file ends before a value")
	case '{', '[':
		err = s.nested()
	case '"':
		s.pos++
		err = s.text()
	default:
		err = s.word()
	}
	text, line = s.buf[s.start:s.pos], s.line
	if err != nil {
		return nil, line, err
	}
	s.drop()
	return text, line, nil
}

// nested walks to the end of an object or a list.
func (s *stream) nested() error {
	for depth := 0; s.fill(1); {
		if s.pos-s.start > s.most {
			return s.broken("a value of more than %d bytes", s.most)
		}
		c := s.buf[s.pos]
		s.pos++
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return nil
			}
		case '"':
			if err := s.text(); err != nil {
				return err
			}
		}
	}
	return s.ended()
}

// text walks to the end of a text, whose first quote was passed.
func (s *stream) text() error {
	for s.fill(1) {
		rest := s.buf[s.pos:]
		i := 0
		for i < len(rest) && rest[i] != '"' && rest[i] != '\\' {
			i++
		}
		s.pos += i
		switch {
		case s.pos-s.start > s.most:
			return s.broken("a value of more than %d bytes", s.most)
		case i == len(rest):
		case rest[i] == '"':
			s.pos++
			return nil
		default:
			s.pos++
			if s.fill(1) {
				s.pos++
			}
		}
	}
	return s.ended()
}

// word walks to the end of a number, true, false or null.
func (s *stream) word() error {
	from := s.pos
	for s.fill(1) && !bytes.ContainsRune([]byte(" \t\r\n,:]}[{\""), rune(s.buf[s.pos])) {
		s.pos++
	}
	if s.pos == from {
		r, _ := utf8.DecodeRune(s.buf[s.pos:])
		return s.broken("want a value, got %q", r)
	}
	return nil
}

// ended is the error of a text that ends inside a value, or cannot be read.
func (s *stream) ended() error {
	if !errors.Is(s.eof, io.EOF) {
		return s.eof
	}
	return &broken{s.line, "the file ends inside a value that begins here"}
}

// value is the next value, and its line.
func (s *stream) value() (any, int, error) {
	text, line, err := s.raw()
	if err != nil {
		return nil, line, err
	}
	value, err := parseJSON(text)
	if err != nil {
		return nil, line, notJSON(text, line, err)
	}
	return value, line, nil
}

// parseJSON is expr.ParseJSON; NaN and Infinity, which Python writes though JSON has no
// such numbers, are null.
func parseJSON(text []byte) (any, error) {
	value, err := expr.ParseJSON(text)
	if err != nil && (bytes.Contains(text, []byte("NaN")) || bytes.Contains(text, []byte("Infinity"))) {
		return expr.ParseJSON(pythons.ReplaceAllFunc(text, func(part []byte) []byte {
			if part[0] == '"' {
				return part
			}
			return []byte("null")
		}))
	}
	return value, err
}

// pythons are texts, to be passed over, and the numbers that are not JSON.
var pythons = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)

// notJSON places an error of expr.ParseJSON in a text that begins at a line.
func notJSON(text []byte, line int, err error) error {
	at, what := 0, err.Error()
	if _, scanned := fmt.Sscanf(what, "at byte %d:", &at); scanned == nil {
		_, what, _ = strings.Cut(what, ": ")
	}
	before := text[:min(max(at-1, 0), len(text))]
	return &broken{line + bytes.Count(before, []byte{'\n'}), "not JSON: " + what}
}

// next walks over what stands between two members: done at the end.
func (s *stream) next(first bool, end byte) (done bool, err error) {
	if done, err := s.accept(end); done || err != nil {
		return done, err
	}
	if first {
		return false, nil
	}
	if comma, err := s.accept(','); err != nil || !comma {
		if err != nil {
			return false, err
		}
		return false, s.broken("want a comma or %c", end)
	}
	return false, nil
}

func (s *stream) key() (string, error) {
	if c, err := s.peek(); err != nil || c != '"' {
		if err != nil {
			return "", err
		}
		return "", s.broken("want a key in quotes")
	}
	value, _, err := s.value()
	if err != nil {
		return "", err
	}
	colon, err := s.accept(':')
	if err == nil && !colon {
		err = s.broken("no colon after a key")
	}
	key, _ := value.(string)
	return key, err
}

// background bounds nothing: mappings have a deadline of their own.
var background = context.Background()

type scope struct {
	row
	entry any
	i     int
	after []any
	// err is the first error of an expression. After it, expressions give nothing.
	err error
}

// Lookup implements expr.Scope.
func (s *scope) Lookup(name string) (any, bool) {
	switch name {
	case "row":
		return s.value, true
	case "it":
		return s.entry, true
	case "i":
		return int64(s.i), true
	case "after":
		return s.after, true
	case "doc":
		return s.doc, true
	case "file":
		return s.file, true
	case "line":
		return int64(s.line), true
	}
	return nil, false
}

// fail keeps the first error, with the place of the expression that gave a wrong value.
func (s *scope) fail(e *spec.Expr, format string, args ...any) {
	if s.err != nil {
		return
	}
	s.err = fmt.Errorf(format, args...)
	if e.Node != nil && e.Node.File != nil {
		s.err = fmt.Errorf("%w (by the expression at %s:%d:%d)", s.err, e.Node.File.Name, e.Node.Pos.Line, e.Node.Pos.Col)
	}
}

// value evaluates an expression; nil gives nil.
func value(e *spec.Expr, s *scope) any {
	if e == nil || s.err != nil {
		return nil
	}
	v, err := e.Value(background, s)
	if err != nil {
		s.fail(e, "%v", err)
		return nil
	}
	return v
}

// typed evaluates an expression that gives a value of one type. Null, and nil for an expression, is not known.
func typed[T any](e *spec.Expr, s *scope, want string) (v T, known bool) {
	given := value(e, s)
	if given == nil {
		return v, false
	}
	if v, known = given.(T); !known {
		s.fail(e, "want %s, got %s", want, describe(given))
	}
	return v, known
}

func list(e *spec.Expr, s *scope) []any {
	items, _ := typed[[]any](e, s, "a list")
	return items
}

func text(e *spec.Expr, s *scope) string {
	t, _ := typed[string](e, s, "text")
	return t
}

func truth(e *spec.Expr, s *scope) (is, known bool) { return typed[bool](e, s, "true or false") }

// number takes numbers, and digits: what .csv files hold. Null is not known.
func number(e *spec.Expr, s *scope) (n float64, known bool) {
	v := value(e, s)
	if v == nil {
		return 0, false
	}
	if n, known = asNumber(v); !known {
		s.fail(e, "want a number, got %s", describe(v))
	}
	return n, known
}

func asNumber(v any) (float64, bool) {
	var n float64
	switch x := v.(type) {
	case float64:
		n = x
	case int64:
		n = float64(x)
	case string:
		parsed, err := strconv.ParseFloat(x, 64)
		if err != nil {
			return 0, false
		}
		n = parsed
	default:
		return 0, false
	}
	return n, !math.IsNaN(n) && !math.IsInf(n, 0)
}

// largest is the largest whole number of which a float64 knows every one before.
const largest = 1 << 53

// whole is a whole number that is not negative.
func whole(e *spec.Expr, s *scope) (n int64, known bool) {
	x, known := number(e, s)
	if known && (x != math.Trunc(x) || x < 0 || x > largest) {
		s.fail(e, "want a whole number from 0, got %v", x)
		return 0, false
	}
	return int64(x), known
}

// span is a time: seconds, or a duration.
func span(e *spec.Expr, s *scope) (d time.Duration, known bool) {
	v := value(e, s)
	if v == nil {
		return 0, false
	}
	d, ok := v.(time.Duration)
	if !ok {
		seconds, isNumber := asNumber(v)
		if !isNumber || math.Abs(seconds) > float64(math.MaxInt64/time.Second) {
			s.fail(e, "want seconds or a duration, got %s", describe(v))
			return 0, false
		}
		d = time.Duration(math.Round(seconds * float64(time.Second)))
	}
	if d < 0 {
		s.fail(e, "want a time that is not negative, got %v", d)
		return 0, false
	}
	return d, true
}

// name is text that is not empty, or a whole number.
func name(e *spec.Expr, s *scope) string {
	v := value(e, s)
	switch n := v.(type) {
	case string:
		if n != "" {
			return n
		}
	case int64:
		return strconv.FormatInt(n, 10)
	case float64:
		if n == math.Trunc(n) && math.Abs(n) < largest {
			return strconv.FormatInt(int64(n), 10)
		}
	}
	s.fail(e, "want text that is not empty, or a whole number, got %s", describe(v))
	return ""
}

// encoded is a value as JSON, nil for null.
func encoded(v any, s *scope) json.RawMessage {
	if v == nil {
		return nil
	}
	text, err := expr.AppendJSON(nil, v)
	s.err = cmp.Or(s.err, err)
	return text
}

// extra is an object as JSON, nil for null.
func extra(e *spec.Expr, s *scope) json.RawMessage {
	object, known := typed[*expr.Object](e, s, "an object")
	if !known {
		return nil
	}
	return encoded(object, s)
}

// zoneless are forms of times that name no zone: they are UTC.
var zoneless = []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"}

// moment is a point in time: text, or seconds since 1970. Zero is unknown.
func moment(e *spec.Expr, s *scope) (at time.Time) {
	switch v := value(e, s).(type) {
	case nil:
	case float64:
		at = time.Unix(0, int64(v*1e9))
	case string:
		if v == "" {
			return at
		}
		var err error
		at, err = time.Parse(time.RFC3339Nano, v)
		for _, form := range zoneless {
			if err != nil {
				at, err = time.Parse(form, v)
			}
		}
		if err != nil {
			s.fail(e, "want a time such as 2026-01-31T12:00:00Z, got %s", describe(v))
		}
	default:
		s.fail(e, "want a time such as 2026-01-31T12:00:00Z, got %s", describe(v))
	}
	return at.UTC()
}

func describe(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case *expr.Object:
		return "an object"
	case []any:
		return "a list"
	case string:
		const most = 40
		if runes := []rune(x); len(runes) > most {
			x = string(runes[:most]) + "…"
		}
		return strconv.Quote(x)
	}
	return fmt.Sprint(v)
}

// object evaluates named expressions; none give nil.
func object(named source.Named[spec.Expr], s *scope) any {
	if len(named) == 0 {
		return nil
	}
	o := expr.NewObject(len(named))
	for i := range named {
		o.Set(named[i].Key, value(&named[i].Value, s))
	}
	return o
}
