package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
)

// reader reads compact JSON of a known shape from memory, about ten times as
// fast as encoding/json. The first fault sticks; values read after it are zero.
// Members that nobody asks for are passed over.
type reader struct {
	text  []byte
	at    int
	err   error
	depth int

	// What is kept from one text to the next saves allocations: short strings
	// that come again and again, and lists before their length is known.
	names      map[string]string
	iterations []IterationSignals
	calls      []CallSignals
	head       Signals
}

// begin makes the reader ready for a text. The zero reader is, too.
func (r *reader) begin(text []byte) {
	if r.names == nil {
		r.names = map[string]string{}
	}
	r.text, r.at, r.err, r.depth = text, 0, nil, 0
}

var errShape = errors.New("unexpected JSON")

func (r *reader) fail() {
	if r.err == nil {
		r.err = fmt.Errorf("%w at byte %d", errShape, r.at)
	}
	r.at = len(r.text)
}

// next is the coming byte, 0 at the end.
func (r *reader) next() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func (r *reader) skip(c byte) bool {
	if r.next() != c || r.at >= len(r.text) {
		return false
	}
	r.at++
	return true
}

func (r *reader) expect(c byte) {
	if !r.skip(c) {
		r.fail()
	}
}

// object yields the keys of an object, valid until something else is read; the
// body reads or passes over the value.
func (r *reader) object() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		r.expect('{')
		if r.skip('}') {
			return
		}
		for r.err == nil {
			key := r.quoted()
			r.expect(':')
			if r.err != nil || !yield(key) {
				return
			}
			if !r.skip(',') {
				r.expect('}')
				return
			}
		}
	}
}

// list yields the indices of a list's elements.
func (r *reader) list() iter.Seq[int] {
	return func(yield func(int) bool) {
		r.expect('[')
		if r.skip(']') {
			return
		}
		for i := 0; r.err == nil; i++ {
			if !yield(i) {
				return
			}
			if !r.skip(',') {
				r.expect(']')
				return
			}
		}
	}
}

// string reads a string into its own memory.
func (r *reader) string() string { return string(r.quoted()) }

// name reads a string; equal ones that were read before share their memory.
func (r *reader) name() string {
	text := r.quoted()
	if r.err != nil {
		return ""
	}
	return r.shared(text)
}

// shared is a text that shares its memory with equal ones.
func (r *reader) shared(text []byte) string {
	if known, ok := r.names[string(text)]; ok {
		return known
	}
	value := string(text)
	if len(value) <= longestName && len(r.names) < mostNames {
		r.names[value] = value
	}
	return value
}

const (
	longestName = 48
	mostNames   = 1 << 12
	deepest     = 1000 // values within values; as deep as memory is cheap
)

// quoted is what stands between quotes, with escapes resolved.
func (r *reader) quoted() []byte {
	start := r.at
	r.expect('"')
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == '"':
			r.at++
			return r.text[start+1 : r.at-1]
		case c == '\\', c < ' ', c >= 0x80:
			r.at = start
			return r.unescaped()
		}
	}
	r.fail()
	return nil
}

// unescaped leaves strings that are not plain to encoding/json.
func (r *reader) unescaped() []byte {
	end := r.at + 1
	for end < len(r.text) && r.text[end] != '"' {
		if r.text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(r.text) {
		r.fail()
		return nil
	}
	var value string
	if json.Unmarshal(r.text[r.at:end+1], &value) != nil {
		r.fail()
		return nil
	}
	r.at = end + 1
	return []byte(value)
}

// integer reads a number without a fraction.
func (r *reader) integer() int64 {
	start := r.at
	r.skip('-')
	var value int64
	for c := r.next(); c >= '0' && c <= '9'; c = r.next() {
		value = value*10 + int64(c-'0')
		r.at++
	}
	digits := r.text[start:r.at]
	if len(digits) > 17 || len(digits) < 1 || digits[0] == '-' {
		return r.unusualInteger(string(digits))
	}
	return value
}

// unusualInteger may be negative, too large, or no number.
func (r *reader) unusualInteger(digits string) int64 {
	value, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		r.fail()
	}
	return value
}

func (r *reader) number() float64 {
	start := r.at
	for numeric(r.next()) {
		r.at++
	}
	text := r.text[start:r.at]
	if len(text) == 0 || text[0] == '+' || !json.Valid(text) {
		r.fail()
		return 0
	}
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		r.fail()
	}
	return value
}

func numeric(c byte) bool {
	switch c {
	case '+', '-', '.', 'e', 'E':
		return true
	}
	return c >= '0' && c <= '9'
}

func (r *reader) boolean() bool {
	value := r.next() == 't'
	if value {
		r.word("true")
	} else {
		r.word("false")
	}
	return value && r.err == nil
}

func (r *reader) word(word string) {
	if end := r.at + len(word); end <= len(r.text) && string(r.text[r.at:end]) == word {
		r.at = end
		return
	}
	r.fail()
}

// pass reads a value of any shape and drops it.
func (r *reader) pass() {
	r.depth++
	defer func() { r.depth-- }()
	switch c := r.next(); {
	case r.depth > deepest:
		r.fail()
	case c == '{':
		for range r.object() {
			r.pass()
		}
	case c == '[':
		for range r.list() {
			r.pass()
		}
	case c == '"':
		r.quoted()
	case c == 't' || c == 'f':
		r.boolean()
	case c == 'n':
		r.word("null")
	default:
		r.number()
	}
}

// end tells whether everything was read, and read well.
func (r *reader) end() error {
	if r.err == nil && r.at != len(r.text) {
		r.fail()
	}
	return r.err
}
