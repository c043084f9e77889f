package record

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// A shape writes and reads the values of a type, by the json tags of its fields.
// What it writes is byte for byte what encoding/json writes with EscapeHTML off,
// and what it reads is that: compact, with the keys as the tags have them. It
// takes a quarter of the time, which counts for what is written and read of every
// run. It knows the types of this package, not all that there are. A value is given by
// where it is: each type is looked at once.
type shape struct {
	write func(*writer, unsafe.Pointer)
	read  func(*reader, unsafe.Pointer)
}

// coded is a type that writes and reads itself.
type coded interface {
	encode(*writer)
	decode(*reader)
}

// shapes are those of the types that came so far: *shape by reflect.Type.
var shapes sync.Map

func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	s, _ := shapes.LoadOrStore(t, makeShape(t, map[reflect.Type]*shape{}))
	return s.(*shape)
}

// makeShape makes the shape of a type and those of its parts. One in the making is
// not whole yet: a run holds runs of delegates.
func makeShape(t reflect.Type, making map[reflect.Type]*shape) *shape {
	if begun, ok := making[t]; ok {
		return begun
	}
	s := &shape{}
	making[t] = s
	switch kind := t.Kind(); {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[coded]()):
		s.write = func(w *writer, p unsafe.Pointer) { reflect.NewAt(t, p).Interface().(coded).encode(w) }
		s.read = func(r *reader, p unsafe.Pointer) { reflect.NewAt(t, p).Interface().(coded).decode(r) }
		return s
	case t == reflect.TypeFor[time.Time]():
		s.write, s.read = writeTime, readTime
	case t == reflect.TypeFor[json.RawMessage]():
		s.write, s.read = writeRaw, readRaw
	case kind == reflect.String:
		s.write = func(w *writer, p unsafe.Pointer) { w.to = appendString(w.to, *(*string)(p)) }
		s.read = func(r *reader, p unsafe.Pointer) { *(*string)(p) = r.string() }
	case kind == reflect.Int:
		s.write = func(w *writer, p unsafe.Pointer) { w.to = strconv.AppendInt(w.to, int64(*(*int)(p)), 10) }
		s.read = func(r *reader, p unsafe.Pointer) { *(*int)(p) = int(r.integer()) }
	case kind == reflect.Int64:
		s.write = func(w *writer, p unsafe.Pointer) { w.to = strconv.AppendInt(w.to, *(*int64)(p), 10) }
		s.read = func(r *reader, p unsafe.Pointer) { *(*int64)(p) = r.integer() }
	case kind == reflect.Float64:
		s.write = func(w *writer, p unsafe.Pointer) { w.number(*(*float64)(p)) }
		s.read = func(r *reader, p unsafe.Pointer) { *(*float64)(p) = r.number() }
	case kind == reflect.Bool:
		s.write = func(w *writer, p unsafe.Pointer) { w.to = strconv.AppendBool(w.to, *(*bool)(p)) }
		s.read = func(r *reader, p unsafe.Pointer) { *(*bool)(p) = r.boolean() }
	case kind == reflect.Pointer:
		element := makeShape(t.Elem(), making)
		s.write = func(w *writer, p unsafe.Pointer) { element.write(w, *(*unsafe.Pointer)(p)) }
		s.read = func(r *reader, p unsafe.Pointer) {
			to := (*unsafe.Pointer)(p)
			if *to == nil {
				*to = reflect.New(t.Elem()).UnsafePointer()
			}
			element.read(r, *to)
		}
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		s.write, s.read = writeBytes, readBytes
	case kind == reflect.Slice:
		s.ofList(t, makeShape(t.Elem(), making))
	case kind == reflect.Map:
		s.ofMap(t, makeShape(t.Elem(), making))
	case kind == reflect.Struct:
		s.ofStruct(t, making)
	default:
		panic("no line of a result folder holds a " + t.String())
	}
	switch write := s.write; t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		s.write = func(w *writer, p unsafe.Pointer) {
			if *(*unsafe.Pointer)(p) == nil { // each of them begins with one
				w.to = append(w.to, "null"...)
				return
			}
			write(w, p)
		}
	}
	return s
}

func (s *shape) ofList(t reflect.Type, element *shape) {
	size := t.Elem().Size()
	s.write = func(w *writer, p unsafe.Pointer) {
		list := *(*[]struct{})(p) // begin and length are those of any slice
		first := unsafe.Pointer(unsafe.SliceData(list))
		w.to = append(w.to, '[')
		for i := range list {
			if i > 0 {
				w.to = append(w.to, ',')
			}
			element.write(w, unsafe.Add(first, uintptr(i)*size))
		}
		w.to = append(w.to, ']')
	}
	const mostUsual = 64   // elements are made room for before they are read
	var usual atomic.Int32 // how long the last list was: most runs of a folder are alike
	s.read = func(r *reader, p unsafe.Pointer) {
		v := reflect.NewAt(t, p).Elem()
		v.SetLen(0) // what lies behind it is zero, or memory to be used again
		n := 0
		for range r.list() {
			if n == v.Cap() {
				v.Grow(max(1, int(usual.Load())-n))
			}
			v.SetLen(n + 1)
			element.read(r, unsafe.Add(v.UnsafePointer(), uintptr(n)*size))
			n++
		}
		if n == 0 && v.IsNil() {
			v.Set(reflect.MakeSlice(t, 0, 0))
		} else if last := int32(min(n, mostUsual)); n > 0 && usual.Load() != last {
			usual.Store(last)
		}
	}
}

// ofMap writes the keys in their order. A map is read into a new one.
func (s *shape) ofMap(t reflect.Type, element *shape) {
	s.write = func(w *writer, p unsafe.Pointer) {
		v, value := reflect.NewAt(t, p).Elem(), reflect.New(t.Elem())
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		w.to = append(w.to, '{')
		for _, key := range keys {
			w.name(key.String())
			value.Elem().Set(v.MapIndex(key))
			element.write(w, value.UnsafePointer())
		}
		w.to = append(w.to, '}')
	}
	s.read = func(r *reader, p unsafe.Pointer) {
		v := reflect.NewAt(t, p).Elem()
		v.Set(reflect.MakeMap(t))
		for text := range r.object() {
			key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem())
			key.SetString(r.shared(text))
			element.read(r, value.UnsafePointer())
			v.SetMapIndex(key, value.Elem())
		}
	}
}

// field is a member of an object.
type field struct {
	name  string
	head  string  // with quotes and a colon
	at    uintptr // from the beginning of the struct
	omit  func(unsafe.Pointer) bool
	shape *shape
	null  bool // it reads null by itself
}

func (s *shape) ofStruct(t reflect.Type, making map[reflect.Type]*shape) {
	fields := fieldsOf(t, making)
	s.write = func(w *writer, p unsafe.Pointer) {
		w.to = append(w.to, '{')
		for i := range fields {
			f := &fields[i]
			part := unsafe.Add(p, f.at)
			if f.omit != nil && f.omit(part) {
				continue
			}
			w.comma()
			w.to = append(w.to, f.head...)
			f.shape.write(w, part)
			if w.err != nil {
				w.at(f.name)
			}
		}
		w.to = append(w.to, '}')
	}
	s.read = func(r *reader, p unsafe.Pointer) {
		r.deeper()
		if r.expect('{'); r.skip('}') {
			r.depth--
			return
		}
		for next := 0; r.err == nil; {
			at := r.fieldOf(fields, next)
			switch {
			case at < 0:
			case r.next() == 'n' && !fields[at].null:
				r.word("null")
			default:
				fields[at].shape.read(r, unsafe.Add(p, fields[at].at))
			}
			next = at + 1
			if !r.skip(',') {
				r.expect('}')
				r.depth--
				return
			}
		}
	}
}

// fieldOf reads a key and gives the index of its field. Fields mostly come in their order.
// A member that has none is passed over: -1.
func (r *reader) fieldOf(fields []field, next int) int {
	rest := r.text[r.at:]
	for i := next; i < len(fields); i++ {
		if head := fields[i].head; len(rest) > len(head) && rest[1] == head[1] && string(rest[:len(head)]) == head {
			r.at += len(head)
			return i
		}
	}
	key := r.quoted()
	at := slices.IndexFunc(fields, func(f field) bool { return f.name == string(key) })
	switch r.expect(':'); {
	case at >= 0 || r.err != nil:
	case r.strict:
		r.err = fmt.Errorf("unknown key %q", key)
	default:
		r.pass()
	}
	return at
}

// fieldsOf are the fields that JSON tells, those of embedded structs in their place.
func fieldsOf(t reflect.Type, making map[reflect.Type]*shape) (fields []field) {
	for i := range t.NumField() {
		in := t.Field(i)
		name, options, _ := strings.Cut(in.Tag.Get("json"), ",")
		switch {
		case in.Anonymous && name == "":
			for _, f := range fieldsOf(in.Type, making) {
				f.at += in.Offset
				fields = append(fields, f)
			}
		case !in.IsExported() || name == "-" || in.Tag.Get("line") == "-":
		default:
			name = cmp.Or(name, in.Name)
			f := field{name: name, head: `"` + name + `":`, at: in.Offset, shape: makeShape(in.Type, making)}
			f.null = in.Type == reflect.TypeFor[json.RawMessage]()
			switch options {
			case "omitempty":
				f.omit = emptyOf(in.Type)
			case "omitzero":
				f.omit = zeroOf(in.Type)
			}
			fields = append(fields, f)
		}
	}
	return fields
}

// emptyOf reports what omitempty leaves out.
func emptyOf(t reflect.Type) func(unsafe.Pointer) bool {
	switch t.Kind() {
	case reflect.String:
		return func(p unsafe.Pointer) bool { return *(*string)(p) == "" }
	case reflect.Slice:
		return func(p unsafe.Pointer) bool { return len(*(*[]struct{})(p)) == 0 }
	case reflect.Map:
		return func(p unsafe.Pointer) bool { return reflect.NewAt(t, p).Elem().Len() == 0 }
	case reflect.Struct:
		return nil
	}
	return zeroOf(t)
}

// zeroOf reports what omitzero leaves out.
func zeroOf(t reflect.Type) func(unsafe.Pointer) bool {
	switch t.Kind() {
	case reflect.Bool:
		return func(p unsafe.Pointer) bool { return !*(*bool)(p) }
	case reflect.Int:
		return func(p unsafe.Pointer) bool { return *(*int)(p) == 0 }
	case reflect.Int64:
		return func(p unsafe.Pointer) bool { return *(*int64)(p) == 0 }
	case reflect.Pointer:
		return func(p unsafe.Pointer) bool { return *(*unsafe.Pointer)(p) == nil }
	}
	if t == reflect.TypeFor[time.Time]() {
		return func(p unsafe.Pointer) bool { return (*time.Time)(p).IsZero() }
	}
	return func(p unsafe.Pointer) bool { return reflect.NewAt(t, p).Elem().IsZero() }
}

func writeTime(w *writer, p unsafe.Pointer) {
	text, err := (*time.Time)(p).MarshalJSON()
	w.to = append(w.to, text...)
	w.fail(err)
}

func readTime(r *reader, p unsafe.Pointer) {
	start := r.at
	if r.quoted(); r.err == nil && (*time.Time)(p).UnmarshalJSON(r.text[start:r.at]) != nil {
		r.fail()
	}
}

// writeRaw writes JSON without its white space, as encoding/json does.
func writeRaw(w *writer, p unsafe.Pointer) {
	raw := *(*[]byte)(p)
	compact := reader{text: raw}
	if compact.pass(); compact.end() == nil {
		w.to = append(w.to, raw...)
		return
	}
	b := bytes.NewBuffer(w.to)
	w.fail(json.Compact(b, raw))
	w.to = b.Bytes()
}

func readRaw(r *reader, p unsafe.Pointer) {
	start := r.at
	if r.pass(); r.err == nil {
		*(*[]byte)(p) = bytes.Clone(r.text[start:r.at])
	}
}

func writeBytes(w *writer, p unsafe.Pointer) {
	w.to = append(base64.StdEncoding.AppendEncode(append(w.to, '"'), *(*[]byte)(p)), '"')
}

func readBytes(r *reader, p unsafe.Pointer) {
	text, err := base64.StdEncoding.AppendDecode([]byte{}, r.quoted())
	if err != nil {
		r.fail()
	}
	*(*[]byte)(p) = text
}

// writer appends JSON to a buffer. The first error sticks.
type writer struct {
	to  []byte
	err error
}

func (w *writer) fail(err error) {
	w.err = cmp.Or(w.err, err)
}

// notANumber is an error that does not say yet where the number stands.
type notANumber float64

func (n notANumber) Error() string { return fmt.Sprintf("a number is %v", float64(n)) }

// at names the member whose number cannot be written.
func (w *writer) at(name string) {
	if n, ok := w.err.(notANumber); ok {
		w.err = fmt.Errorf("%s is %v", name, float64(n))
	}
}

// number refuses what JSON cannot hold.
func (w *writer) number(value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		w.fail(notANumber(value))
		return
	}
	w.to = appendNumber(w.to, value)
}

// comma comes before every member but the first.
func (w *writer) comma() {
	if w.to[len(w.to)-1] != '{' {
		w.to = append(w.to, ',')
	}
}

// name begins a member whose key comes from outside.
func (w *writer) name(name string) {
	w.comma()
	w.to = append(appendString(w.to, name), ':')
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
		if plain[value[i]] {
			i++
			continue
		}
		c, size := utf8.DecodeRuneInString(value[i:])
		if c >= utf8.RuneSelf && c != '\u2028' && c != '\u2029' && (c != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		dst = append(dst, value[done:i]...)
		if short := shortEscape[value[i]]; short != 0 {
			dst = append(dst, '\\', short)
		} else {
			dst = fmt.Appendf(dst, `\u%04x`, c)
		}
		i += size
		done = i
	}
	dst = append(dst, value[done:]...)
	return append(dst, '"')
}

var (
	// plain are the bytes that need no escape within quotes.
	plain = func() (is [256]bool) {
		for c := ' '; c < utf8.RuneSelf; c++ {
			is[c] = c != '"' && c != '\\'
		}
		return is
	}()
	// shortEscape and escaped are the escapes of one letter, forth and back.
	shortEscape = [256]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}
	escaped     = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}
)

// reader reads compact JSON from memory. The first fault sticks; values read after
// it are zero. Members without a field are passed over.
type reader struct {
	text  []byte
	at    int
	err   error
	depth int
	// strict refuses objects with members without a field.
	strict bool

	// names are short strings that were read, which come again and again; room is for
	// those with escapes.
	names *[knownNames]string
	room  []byte
}

const (
	longestName = 48
	knownBits   = 10
	knownNames  = 1 << knownBits
	deepest     = 10_000 // values within values, as in encoding/json
)

// readers keep what is kept from one text to the next.
var readers = sync.Pool{New: func() any { return &reader{names: new([knownNames]string)} }}

// decode reads a text into a value that is zero, but for the memory of its lists.
func decode(text []byte, into any) error {
	r := readers.Get().(*reader)
	defer readers.Put(r)
	return r.decode(text, into)
}

func (r *reader) decode(text []byte, into any) error {
	r.begin(text)
	v := reflect.ValueOf(into)
	shapeOf(v.Type().Elem()).read(r, v.UnsafePointer())
	return r.end()
}

// begin makes the reader ready for a text.
func (r *reader) begin(text []byte) {
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
	if r.at >= len(r.text) || r.text[r.at] != c {
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

// deeper counts a level of nesting.
func (r *reader) deeper() {
	if r.depth++; r.depth > deepest {
		r.fail()
	}
}

// object yields the keys of an object, valid until something else is read; the
// body reads or passes over the value.
func (r *reader) object() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		r.deeper()
		if r.expect('{'); r.skip('}') {
			r.depth--
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
				r.depth--
				return
			}
		}
	}
}

// list yields the indices of a list's elements.
func (r *reader) list() iter.Seq[int] {
	return func(yield func(int) bool) {
		r.deeper()
		if r.expect('['); r.skip(']') {
			r.depth--
			return
		}
		for i := 0; r.err == nil; i++ {
			if !yield(i) {
				return
			}
			if !r.skip(',') {
				r.expect(']')
				r.depth--
				return
			}
		}
	}
}

// string reads a string; equal short ones that were read before share their memory.
func (r *reader) string() string {
	text := r.quoted()
	if r.err != nil {
		return ""
	}
	return r.shared(text)
}

// shared is a text that shares its memory with equal ones. Its place among those that
// are known depends on its ends, where ids differ.
func (r *reader) shared(text []byte) string {
	if len(text) > longestName || r.names == nil {
		return string(text)
	}
	var ends [16]byte
	copy(ends[:8], text)
	copy(ends[8:], text[max(0, len(text)-8):])
	hash := (binary.LittleEndian.Uint64(ends[:]) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(ends[8:]), 29)) * 0x9e3779b97f4a7c15
	known := &r.names[hash>>(64-knownBits)]
	if *known != string(text) {
		*known = string(text)
	}
	return *known
}

// quoted is what stands between quotes, with escapes resolved, until something else
// is read. Bytes that are not UTF-8 become U+FFFD.
func (r *reader) quoted() []byte {
	text, asIs := r.span()
	if asIs || r.err != nil {
		return text
	}
	r.room = appendUnescaped(r.room[:0], text)
	return r.room
}

// span walks over a string and gives what stands between its quotes, and whether that is
// its value: it is ASCII and has no escapes.
func (r *reader) span() (text []byte, asIs bool) {
	r.expect('"')
	asIs = true
	for start, i := r.at, r.at; i < len(r.text); i++ {
		c := r.text[i]
		if plain[c] {
			continue
		}
		if c == '"' {
			r.at = i + 1
			return r.text[start:i], asIs
		}
		if asIs = false; c < ' ' {
			break
		}
		if c == '\\' {
			i++
			if _, ok := codeUnit(r.text[i:]); !ok && (i == len(r.text) || escaped[r.text[i]] == 0) {
				break
			}
		}
	}
	r.fail()
	return nil, false
}

// codeUnit reads uXXXX.
func codeUnit(text []byte) (unit rune, ok bool) {
	if len(text) < 5 || text[0] != 'u' {
		return 0, false
	}
	for _, c := range text[1:5] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | rune(c)
	}
	return unit, true
}

// appendUnescaped appends the value of a string that span has walked over. A
// surrogate without the other one is U+FFFD.
func appendUnescaped(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if plain[c] {
			dst = append(dst, c)
			i++
			continue
		}
		if c != '\\' {
			r, size := utf8.DecodeRune(text[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		if i++; text[i] != 'u' {
			dst = append(dst, escaped[text[i]])
			i++
			continue
		}
		unit, _ := codeUnit(text[i:])
		i += 5
		if utf16.IsSurrogate(unit) {
			pair := rune(utf8.RuneError)
			if i < len(text) && text[i] == '\\' {
				if second, ok := codeUnit(text[i+1:]); ok {
					pair = utf16.DecodeRune(unit, second)
				}
			}
			if unit = pair; pair != utf8.RuneError {
				i += 6
			}
		}
		dst = utf8.AppendRune(dst, unit)
	}
	return dst
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
	if len(digits) <= 17 && len(digits) > 0 && digits[0] != '-' {
		return value
	}
	value, err := strconv.ParseInt(string(digits), 10, 64) // it may be negative, too large, or no number
	if err != nil {
		r.fail()
	}
	return value
}

func (r *reader) number() float64 {
	value, err := strconv.ParseFloat(string(r.numeral()), 64)
	if err != nil {
		r.fail()
	}
	return value
}

// numeral walks over a number.
func (r *reader) numeral() []byte {
	start := r.at
	r.skip('-')
	if !r.skip('0') {
		r.digits()
	}
	if r.skip('.') {
		r.digits()
	}
	if r.skip('e') || r.skip('E') {
		if !r.skip('+') {
			r.skip('-')
		}
		r.digits()
	}
	return r.text[start:r.at]
}

func (r *reader) digits() {
	start := r.at
	for r.at < len(r.text) && r.text[r.at]-'0' <= 9 {
		r.at++
	}
	if r.at == start {
		r.fail()
	}
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
	switch r.next() {
	case '{':
		for range r.object() {
			r.pass()
		}
	case '[':
		for range r.list() {
			r.pass()
		}
	case '"':
		r.span()
	case 't', 'f':
		r.boolean()
	case 'n':
		r.word("null")
	default:
		r.numeral()
	}
}

// end reports whether everything was read, and read well.
func (r *reader) end() error {
	if r.err == nil && r.at != len(r.text) {
		r.fail()
	}
	return r.err
}
