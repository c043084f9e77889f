package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
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

// A line of records.jsonl, signals.jsonl or scores.jsonl is one JSON object and
// a line feed. Its first key is the checksum of all that follows:
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

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal turns lineHead and the object behind it, which start at that offset of
// the buffer, into a line. The object is compact and has at least one key.
func seal(buffer []byte, start int) ([]byte, error) {
	line := buffer[start:]
	if len(line) >= longestLine {
		return nil, fmt.Errorf("it takes %d MiB, and a line holds %d", len(line)>>20, longestLine>>20)
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

// rawText is a text of a run that is not UTF-8, whole.
type rawText struct {
	At    string `json:"at"`     // for example iterations/0/calls/0/stderr
	Bytes []byte `json:"base64"` // encoding/json writes bytes as base64
}

func rawTexts(r *Run) []rawText {
	var raw []rawText
	eachText(reflect.ValueOf(r).Elem(), "", func(at string, text reflect.Value) {
		if s := text.String(); !utf8.ValidString(s) {
			raw = append(raw, rawText{At: at, Bytes: []byte(s)})
		}
	})
	return raw
}

func restoreRawTexts(r *Run, raw []rawText) {
	whole := make(map[string][]byte, len(raw))
	for _, t := range raw {
		whole[t.At] = t.Bytes
	}
	eachText(reflect.ValueOf(r).Elem(), "", func(at string, text reflect.Value) {
		if bytes, ok := whole[at]; ok {
			text.SetString(string(bytes))
		}
	})
}

// eachText visits every string in a record with its path in the JSON. JSON
// values in it (json.RawMessage) are no strings.
func eachText(v reflect.Value, at string, visit func(at string, text reflect.Value)) {
	switch v.Kind() {
	case reflect.String:
		visit(at, v)
	case reflect.Pointer:
		if !v.IsNil() {
			eachText(v.Elem(), at, visit)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			eachText(v.Index(i), below(at, strconv.Itoa(i)), visit)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			eachText(v.Field(i), below(at, name), visit)
		}
	}
}

func below(at, name string) string { return strings.TrimPrefix(at+"/"+name, "/") }

// runLine is a run as its line holds it. Texts that are not UTF-8 stand in the
// run with U+FFFD for each bad byte, as JSON demands, and whole in Raw.
type runLine struct {
	*Run
	Raw []rawText `json:"raw,omitempty"`
}

// appendRun appends the run as a line.
func appendRun(dst []byte, r *Run) ([]byte, error) {
	line, err := appendRunLine(dst, r)
	if err != nil {
		return nil, fmt.Errorf("the record of run %s cannot be written: %w", r.ID, err)
	}
	return line, nil
}

func appendRunLine(dst []byte, r *Run) ([]byte, error) {
	if r.Iterations == nil { // a list also where it is empty
		with := *r
		with.Iterations = []Iteration{}
		r = &with
	}
	line, err := appendObject(dst, r)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(line[len(dst):], []byte(`\ufffd`)) { // how encoding/json writes a bad byte
		if line, err = appendObject(dst, &runLine{Run: r, Raw: rawTexts(r)}); err != nil {
			return nil, err
		}
	}
	return seal(line, len(dst))
}

func appendObject(dst []byte, object any) ([]byte, error) {
	b := bytes.NewBuffer(append(dst, lineHead...))
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(object)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

// readRun reads the object of a line.
func readRun(object []byte) (*Run, error) {
	line := runLine{Run: &Run{}}
	if err := json.Unmarshal(object, &line); err != nil {
		return nil, err
	}
	if len(line.Iterations) == 0 {
		line.Iterations = nil
	}
	if len(line.Raw) > 0 {
		restoreRawTexts(line.Run, line.Raw)
	}
	return line.Run, nil
}

// A line of scores.jsonl holds all scores that were made of a run at one time,
// so that a crash leaves all of them or none:
//
//	{"crc":"…","run":"default/backend-1/1","scores":[{"name":"close","value":1}, …]}

// appendScores appends the scores of one run as a line; their Run is not read.
func appendScores(dst []byte, run string, scores []Score) ([]byte, error) {
	w := writer{to: append(dst, lineHead...)}
	w.open()
	w.string("run", run)
	w.list("scores", len(scores), func(i int) { w.score(&scores[i]) })
	w.close()
	if w.err != nil {
		return nil, fmt.Errorf("the scores of run %s cannot be written: %w", run, w.err)
	}
	line, err := seal(w.to, len(dst))
	if err != nil {
		return nil, fmt.Errorf("the scores of run %s cannot be written: %w", run, err)
	}
	return line, nil
}

func (w *writer) score(s *Score) {
	w.open()
	w.string("name", s.Name)
	w.maybeInteger("iteration", int64(s.Iteration))
	w.number("value", s.Value)
	w.maybeString("answer", s.Answer)
	w.maybeString("explanation", s.Explanation)
	w.maybeString("unscored", s.Unscored)
	w.maybeString("scorer", s.Scorer)
	if len(s.Votes) > 0 {
		w.list("votes", len(s.Votes), func(i int) { w.vote(&s.Votes[i]) })
	}
	if s.Usage != (Usage{}) {
		w.key("usage")
		w.usage(&s.Usage)
	}
	w.maybeTrue("removed", s.Removed)
	w.close()
}

func (w *writer) vote(v *Vote) {
	w.open()
	w.maybeString("judge", v.Judge)
	w.maybeString("criterion", v.Criterion)
	w.maybeTrue("swapped", v.Swapped)
	w.number("value", v.Value)
	w.maybeString("answer", v.Answer)
	w.maybeString("explanation", v.Explanation)
	w.maybeString("unscored", v.Unscored)
	w.maybeTrue("repaired", v.Repaired)
	w.maybeTrue("cached", v.Cached)
	w.close()
}

// readScores reads the object of a line.
func (r *reader) readScores(object []byte) (run string, scores []Score, err error) {
	r.begin(object)
	for key := range r.object() {
		switch string(key) {
		case "run":
			run = r.string()
		case "scores":
			for range r.list() {
				scores = append(scores, r.score())
			}
		default:
			r.pass()
		}
	}
	for i := range scores {
		scores[i].Run = run
	}
	return run, scores, r.end()
}

func (r *reader) score() Score {
	var s Score
	for key := range r.object() {
		switch string(key) {
		case "name":
			s.Name = r.name()
		case "iteration":
			s.Iteration = int(r.integer())
		case "value":
			s.Value = r.number()
		case "answer":
			s.Answer = r.string()
		case "explanation":
			s.Explanation = r.name()
		case "unscored":
			s.Unscored = r.name()
		case "scorer":
			s.Scorer = r.name()
		case "votes":
			for range r.list() {
				s.Votes = append(s.Votes, r.vote())
			}
		case "usage":
			r.usage(&s.Usage)
		case "removed":
			s.Removed = r.boolean()
		default:
			r.pass()
		}
	}
	return s
}

func (r *reader) vote() Vote {
	var v Vote
	for key := range r.object() {
		switch string(key) {
		case "judge":
			v.Judge = r.name()
		case "criterion":
			v.Criterion = r.name()
		case "swapped":
			v.Swapped = r.boolean()
		case "value":
			v.Value = r.number()
		case "answer":
			v.Answer = r.string()
		case "explanation":
			v.Explanation = r.string()
		case "unscored":
			v.Unscored = r.name()
		case "repaired":
			v.Repaired = r.boolean()
		case "cached":
			v.Cached = r.boolean()
		default:
			r.pass()
		}
	}
	return v
}
