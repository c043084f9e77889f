package imports

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
)

// mostBytes is how long one value may be that is held whole: a row, or a document
// that is not read row by row.
const mostBytes = 1 << 30

// values reads the values of a JSON text one after the other, and holds one of them at a time. It only finds where
// each ends, so that a damaged one is no obstacle to the next.
type values struct {
	*bufio.Reader
	line int    // of what follows, from 1
	text []byte // of the last value
}

func newValues(r io.Reader) *values {
	return &values{Reader: withoutMark(bufio.NewReaderSize(r, 64<<10)), line: 1}
}

// withoutMark skips the byte order mark.
func withoutMark(r *bufio.Reader) *bufio.Reader {
	if mark, _ := r.Peek(3); bytes.Equal(mark, []byte("\ufeff")) {
		_, _ = r.Discard(3) // they were peeked at
	}
	return r
}

func (v *values) problem(format string, args ...any) error {
	return &Problem{Line: v.line, What: fmt.Sprintf(format, args...)}
}

// peek is the next byte that is no white space; 0 at the end.
func (v *values) peek() (byte, error) {
	for {
		c, err := v.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return 0, nil
		case err != nil:
			return 0, v.problem("%v", err)
		case c == '\n':
			v.line++
		case c != ' ' && c != '\t' && c != '\r':
			return c, v.UnreadByte()
		}
	}
}

// raw is the text of the next value, until the next call, and the line at which it begins.
func (v *values) raw() (text []byte, line int, err error) {
	first, err := v.peek()
	v.text, line = v.text[:0], v.line
	switch {
	case err != nil:
		return nil, line, err
	case first == 0:
		return nil, line, v.problem("the file ends before a value")
	case strings.IndexByte(",:]}", first) >= 0:
		return nil, line, v.problem("want a value, got %q", first)
	}
	bare := first != '{' && first != '[' && first != '"' // a number, or a word such as true
	for depth, quoted, escaped := 0, false, false; ; {
		c, err := v.ReadByte()
		switch {
		case bare && errors.Is(err, io.EOF):
			return v.text, line, nil
		case bare && err == nil && strings.IndexByte(" \t\r\n,:]}[{\"", c) >= 0:
			return v.text, line, v.UnreadByte()
		case errors.Is(err, io.EOF):
			return nil, line, &Problem{Line: line, What: "the file ends inside a value that begins here"}
		case err != nil:
			return nil, line, v.problem("%v", err)
		case len(v.text) == mostBytes:
			return nil, line, v.problem("a value of more than %d bytes", mostBytes)
		}
		v.text = append(v.text, c)
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case c == '\n':
			v.line++
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if !bare && !quoted && depth == 0 {
			return v.text, line, nil
		}
	}
}

// value is the next value.
func (v *values) value() (any, int, error) {
	text, line, err := v.raw()
	if err != nil {
		return nil, line, err
	}
	value, err := parse(text, line)
	return value, line, err
}

// members calls do at each member of an object or a list, with its key, to read the member.
func (v *values) members(do func(key string) error) error {
	open, err := v.ReadByte()
	for first := true; err == nil; first = false {
		c, wrong := v.peek()
		switch {
		case wrong != nil:
			return wrong
		case c == open+2: // the closing bracket, in ASCII
			_, err = v.ReadByte()
			return err
		case !first && c != ',':
			return v.problem("want a comma or %c", open+2)
		case !first:
			_, err = v.ReadByte()
		}
		key := ""
		if err == nil && open == '{' {
			key, err = v.key()
		}
		if err == nil {
			err = do(key)
		}
	}
	return err
}

func (v *values) key() (string, error) {
	if c, err := v.peek(); err != nil || c != '"' {
		return "", errors.Join(err, v.problem("want a key in quotes"))
	}
	value, _, err := v.value()
	if err != nil {
		return "", err
	}
	if c, err := v.peek(); err != nil || c != ':' {
		return "", errors.Join(err, v.problem("no colon after a key"))
	}
	key, _ := value.(string)
	_, err = v.ReadByte()
	return key, err
}

// parse reads a value that begins at a line. NaN and Infinity, which Python writes though JSON has no such numbers, are null.
func parse(text []byte, line int) (any, error) {
	value, err := expr.ParseJSON(text)
	if err != nil {
		text = pythons.ReplaceAllFunc(text, func(part []byte) []byte {
			if part[0] == '"' {
				return part
			}
			return []byte("null")
		})
		value, err = expr.ParseJSON(text)
	}
	if err == nil {
		return value, nil
	}
	at, what := 0, err.Error()
	if _, scanned := fmt.Sscanf(what, "at byte %d:", &at); scanned == nil {
		_, what, _ = strings.Cut(what, ": ")
	}
	before := text[:min(max(at-1, 0), len(text))]
	return nil, &Problem{Line: line + bytes.Count(before, []byte{'\n'}), What: "not JSON: " + what}
}

// pythons are texts, to be passed over, and the numbers that are not JSON.
var pythons = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)
