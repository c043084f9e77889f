package expr

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// maxJSONDepth is how deep objects and lists may be nested.
const maxJSONDepth = 1000

// escapes are the one-letter escapes of JSON strings and what they stand for.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// ParseJSON reads one JSON value into plain values: *Object with the keys in the order of the text (of equal keys the
// last value wins, at the place of the first), []any, float64, string, bool and nil. Bytes that are no UTF-8 become
// U+FFFD. Errors name the byte at which the text is wrong; anything after the value is an error.
func ParseJSON(text []byte) (any, error) { return parseJSON(text, false) }

// ParseUniqueJSON is [ParseJSON] for what must not say two things: a key that stands twice in an object is an error.
func ParseUniqueJSON(text []byte) (any, error) { return parseJSON(text, true) }

func parseJSON(text []byte, unique bool) (any, error) {
	// Strings without escapes are cut out of this one copy.
	p := jsonParser{text: string(text), unique: unique}
	value, err := p.document()
	if err != nil {
		return nil, fmt.Errorf("at byte %d: %w", p.pos+1, err)
	}
	return value, nil
}

type jsonParser struct {
	text   string
	pos    int
	depth  int
	unique bool
}

func (p *jsonParser) document() (any, error) {
	value, err := p.value()
	if err != nil {
		return nil, err
	}
	p.space()
	if p.pos < len(p.text) {
		return nil, fmt.Errorf("%s after the end of the JSON value", p.here())
	}
	return value, nil
}

func (p *jsonParser) value() (any, error) {
	p.space()
	switch c := p.peek(); {
	case c == '{':
		return p.object()
	case c == '[':
		return p.list()
	case c == '"':
		return p.str()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case p.literal("true"):
		return true, nil
	case p.literal("false"):
		return false, nil
	case p.literal("null"):
		return nil, nil
	}
	return nil, fmt.Errorf("%s where a JSON value should begin", p.here())
}

// enter steps behind an opening bracket and counts the level.
func (p *jsonParser) enter() error {
	p.pos++
	if p.depth++; p.depth > maxJSONDepth {
		return fmt.Errorf("JSON nested deeper than %d levels", maxJSONDepth)
	}
	return nil
}

func (p *jsonParser) leave() { p.depth-- }

func (p *jsonParser) object() (any, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if p.space(); p.accept('}') {
		return NewObject(0), nil // a long text may hold very many
	}
	o := NewObject(4)
	for {
		if p.space(); p.peek() != '"' {
			return nil, fmt.Errorf("%s where a key in quotes should stand", p.here())
		}
		key, err := p.str()
		if err != nil {
			return nil, err
		}
		if p.unique && o.find(key) >= 0 {
			return nil, fmt.Errorf("duplicate key %q", key)
		}
		if p.space(); !p.accept(':') {
			return nil, fmt.Errorf("%s after a key, not a colon", p.here())
		}
		value, err := p.value()
		if err != nil {
			return nil, err
		}
		o.Set(key, value)
		if done, err := p.next('}'); done || err != nil {
			return o, err
		}
	}
}

func (p *jsonParser) list() (any, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	items := []any{}
	if p.space(); p.accept(']') {
		return items, nil
	}
	for {
		value, err := p.value()
		if err != nil {
			return nil, err
		}
		items = append(items, value)
		if done, err := p.next(']'); done || err != nil {
			return items, err
		}
	}
}

// next reads what stands between two members: a comma, or the end.
func (p *jsonParser) next(end byte) (done bool, err error) {
	p.space()
	switch {
	case p.accept(end):
		return true, nil
	case p.accept(','):
		return false, nil
	}
	return false, fmt.Errorf("%s where a comma or %c should stand", p.here(), end)
}

func (p *jsonParser) number() (any, error) {
	start := p.pos
	p.accept('-')
	if p.accept('0') {
		// A leading zero stands alone.
	} else if !p.digits() {
		return nil, fmt.Errorf("%s in a number", p.here())
	}
	if p.accept('.') && !p.digits() {
		return nil, fmt.Errorf("%s in a number", p.here())
	}
	if p.accept('e') || p.accept('E') {
		if !p.accept('+') {
			p.accept('-')
		}
		if !p.digits() {
			return nil, fmt.Errorf("%s in a number", p.here())
		}
	}
	n, err := strconv.ParseFloat(p.text[start:p.pos], 64)
	if err != nil {
		return nil, fmt.Errorf("number %.40s is out of range", p.text[start:p.pos])
	}
	return n, nil
}

func (p *jsonParser) digits() bool {
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		p.pos++
	}
	return p.pos > start
}

func (p *jsonParser) str() (string, error) {
	p.pos++
	start := p.pos
	for i := start; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '"':
			p.pos = i + 1
			return p.text[start:i], nil
		case c < ' ' || c == '\\' || c >= utf8.RuneSelf:
			return p.slowString(start, i)
		}
	}
	p.pos = len(p.text)
	return "", fmt.Errorf("the text ends inside a string")
}

// slowString reads a string that has escapes or bytes beyond ASCII from position i on.
func (p *jsonParser) slowString(start, i int) (string, error) {
	out := append(make([]byte, 0, i-start+32), p.text[start:i]...)
	for p.pos = i; p.pos < len(p.text); {
		switch c := p.text[p.pos]; {
		case c == '"':
			p.pos++
			return string(out), nil
		case c == '\\':
			var err error
			if out, err = p.escape(out); err != nil {
				return "", err
			}
		case c < ' ':
			return "", fmt.Errorf("a control character inside a string")
		case c < utf8.RuneSelf:
			out = append(out, c)
			p.pos++
		default:
			r, size := utf8.DecodeRuneInString(p.text[p.pos:])
			out = utf8.AppendRune(out, r)
			p.pos += size
		}
	}
	return "", fmt.Errorf("the text ends inside a string")
}

func (p *jsonParser) escape(out []byte) ([]byte, error) {
	p.pos++
	if p.pos >= len(p.text) {
		return nil, fmt.Errorf("the text ends inside a string")
	}
	c := p.text[p.pos]
	if b := escapes[c]; b != 0 {
		p.pos++
		return append(out, b), nil
	}
	if c != 'u' {
		return nil, fmt.Errorf("unknown escape \\%c in a string", c)
	}
	r, err := p.unit()
	if err != nil {
		return nil, err
	}
	if utf16.IsSurrogate(r) {
		r = p.pair(r)
	}
	return utf8.AppendRune(out, r), nil
}

// unit reads the uXXXX of an escape.
func (p *jsonParser) unit() (rune, error) {
	if p.pos+5 > len(p.text) {
		return 0, fmt.Errorf("the text ends inside an escape")
	}
	n, err := strconv.ParseUint(p.text[p.pos+1:p.pos+5], 16, 16)
	if err != nil {
		return 0, fmt.Errorf("\\%s is no escape", p.text[p.pos:p.pos+5])
	}
	p.pos += 5
	return rune(n), nil
}

// pair joins a surrogate with the one that follows; a lone one is U+FFFD and what follows is read on its own.
func (p *jsonParser) pair(first rune) rune {
	before := p.pos
	if p.accept('\\') && p.peek() == 'u' {
		if second, err := p.unit(); err == nil {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r
			}
		}
	}
	p.pos = before
	return utf8.RuneError
}

func (p *jsonParser) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// peek is the next byte, 0 at the end.
func (p *jsonParser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *jsonParser) accept(c byte) bool {
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *jsonParser) literal(word string) bool {
	if len(p.text)-p.pos >= len(word) && p.text[p.pos:p.pos+len(word)] == word {
		p.pos += len(word)
		return true
	}
	return false
}

func (p *jsonParser) here() string {
	if p.pos >= len(p.text) {
		return "end of text"
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return strconv.QuoteRune(r)
}

// MarshalJSON writes the object with its keys in order.
func (o *Object) MarshalJSON() ([]byte, error) { return AppendJSON(nil, o) }

// UnmarshalJSON reads an object and keeps its order. Anything else is an error.
func (o *Object) UnmarshalJSON(text []byte) error {
	value, err := ParseJSON(text)
	if err != nil {
		return err
	}
	read, ok := value.(*Object)
	if !ok {
		return fmt.Errorf("reading an object: the JSON is something else")
	}
	*o = *read
	return nil
}

// AppendJSON appends a plain value as JSON on one line. Durations are written as seconds ("1.5s"). NaN, the infinities
// and values that are not plain are errors.
func AppendJSON(dst []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return dst, fmt.Errorf("%v cannot be written as JSON", v)
		}
		return appendNumber(dst, v), nil
	case string:
		return appendString(dst, v), nil
	case time.Duration:
		return appendString(dst, durationText(v)), nil
	case *Object:
		return v.appendJSON(dst)
	case []any:
		return appendList(dst, v)
	}
	if _, ok := value.(Fields); ok {
		return dst, fmt.Errorf("a record cannot be written whole, only its fields")
	}
	text, err := json.Marshal(value)
	return append(dst, text...), err
}

func (o *Object) appendJSON(dst []byte) ([]byte, error) {
	if o == nil {
		return append(dst, "null"...), nil
	}
	dst = append(dst, '{')
	for i, key := range o.keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, key), ':')
		var err error
		if dst, err = AppendJSON(dst, o.values[i]); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func appendList(dst []byte, items []any) ([]byte, error) {
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = AppendJSON(dst, item); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// appendNumber writes whole numbers without a fraction, and exponents only where encoding/json does.
func appendNumber(dst []byte, n float64) []byte {
	if size := math.Abs(n); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.AppendFloat(dst, n, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, n, 'f', -1, 64)
}

func durationText(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

// appendString escapes what JSON must and leaves <, > and & as they are: models read this text.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if c >= utf8.RuneSelf && (r != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		dst = append(append(dst, s[start:i]...), escaped(c, r)...)
		i += size
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

func escaped(c byte, r rune) string {
	switch c {
	case '"':
		return `\"`
	case '\\':
		return `\\`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	return fmt.Sprintf(`\u%04x`, r)
}
