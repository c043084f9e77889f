package record

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// writer appends JSON to a buffer, as encoding/json would with EscapeHTML off.
// It exists because Signals and Score are written for every run.
type writer struct {
	to  []byte
	err error
}

// key begins a member of an object.
func (w *writer) key(name string) {
	if last := w.to[len(w.to)-1]; last != '{' {
		w.to = append(w.to, ',')
	}
	w.to = append(w.to, '"')
	w.to = append(w.to, name...)
	w.to = append(w.to, '"', ':')
}

func (w *writer) string(name, value string) {
	w.key(name)
	w.to = appendString(w.to, value)
}

func (w *writer) integer(name string, value int64) {
	w.key(name)
	w.to = strconv.AppendInt(w.to, value, 10)
}

func (w *writer) boolean(name string, value bool) {
	w.key(name)
	w.to = strconv.AppendBool(w.to, value)
}

// number refuses what JSON cannot hold.
func (w *writer) number(name string, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		if w.err == nil {
			w.err = fmt.Errorf("%s is %v", name, value)
		}
		return
	}
	w.key(name)
	w.to = appendNumber(w.to, value)
}

// list appends n elements.
func (w *writer) list(name string, n int, element func(i int)) {
	w.key(name)
	w.to = append(w.to, '[')
	for i := range n {
		if i > 0 {
			w.to = append(w.to, ',')
		}
		element(i)
	}
	w.to = append(w.to, ']')
}

func (w *writer) open()  { w.to = append(w.to, '{') }
func (w *writer) close() { w.to = append(w.to, '}') }

// The maybe methods leave the member out where encoding/json's omitempty does.
func (w *writer) maybeString(name, value string) {
	if value != "" {
		w.string(name, value)
	}
}

func (w *writer) maybeInteger(name string, value int64) {
	if value != 0 {
		w.integer(name, value)
	}
}

func (w *writer) maybeTrue(name string, value bool) {
	if value {
		w.boolean(name, true)
	}
}

func (w *writer) maybeNumber(name string, value float64) {
	if value != 0 {
		w.number(name, value)
	}
}

// appendNumber writes what encoding/json writes: ECMAScript's shortest form.
func appendNumber(dst []byte, value float64) []byte {
	format := byte('f')
	if abs := math.Abs(value); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, value, format, -1, 64)
	if n := len(dst); format == 'e' && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 becomes e-9
		dst = dst[:n-1]
	}
	return dst
}

func appendString(dst []byte, value string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(value); {
		c, size := utf8.DecodeRuneInString(value[i:])
		if plain(c, size) {
			i += size
			continue
		}
		dst = append(dst, value[done:i]...)
		dst = appendEscaped(dst, c)
		i += size
		done = i
	}
	dst = append(dst, value[done:]...)
	return append(dst, '"')
}

func plain(c rune, size int) bool {
	switch {
	case c < ' ', c == '"', c == '\\', c == '\u2028', c == '\u2029':
		return false
	}
	return c != utf8.RuneError || size > 1
}

// escapes are the characters that have a short escape.
var escapes = map[rune]string{
	'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
}

func appendEscaped(dst []byte, c rune) []byte {
	if short, ok := escapes[c]; ok {
		return append(dst, short...)
	}
	return fmt.Appendf(dst, `\u%04x`, c)
}
