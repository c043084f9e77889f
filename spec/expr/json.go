package expr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxJSONDepth is how deep objects and lists may be nested.
const maxJSONDepth = 1000

// ParseJSON reads one JSON value into plain values: *Object with the keys in the order of the text (of equal keys the
// last value wins, at the place of the first), []any, float64, string, bool and nil. Bytes that are no UTF-8 become
// U+FFFD. Errors name the byte at which the text is wrong; anything after the value is an error.
func ParseJSON(text []byte) (any, error) { return parseJSON(text, false) }

// ParseUniqueJSON is [ParseJSON] for what must not say two things: a key that stands twice in an object is an error.
func ParseUniqueJSON(text []byte) (any, error) { return parseJSON(text, true) }

func parseJSON(text []byte, unique bool) (any, error) {
	if len(text) > 0 && text[0] == '"' {
		if plain, err := jsontext.AppendUnquote(nil, text); err == nil {
			return string(plain), nil // most outputs are a text, which takes no decoder
		}
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(!unique))
	value, err := readJSON(d)
	if err == nil {
		rest := text[d.InputOffset():]
		if after := bytes.TrimLeft(rest, " \t\r\n"); len(after) > 0 {
			first, _ := utf8.DecodeRune(after)
			return nil, fmt.Errorf("at byte %d: invalid character %q after top-level value", len(text)-len(after)+1, first)
		}
		return value, nil
	}
	at := d.InputOffset()
	if wrong, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at, err = wrong.ByteOffset, wrong.Err
		if errors.Is(err, jsontext.ErrDuplicateName) {
			err = fmt.Errorf("duplicate key %q", wrong.JSONPointer.LastToken())
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		at, err = int64(len(text)), errors.New("the text ends too early")
	}
	return nil, fmt.Errorf("at byte %d: %w", at+1, err)
}

// readJSON reads the next value.
func readJSON(d *jsontext.Decoder) (any, error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return readObject(d)
	case '[':
		return readList(d)
	case '"':
		return token.String(), nil
	case '0':
		n, err := strconv.ParseFloat(token.String(), 64)
		if err != nil {
			err = fmt.Errorf("number %.40s is out of range", token.String())
		}
		return n, err
	case 'n':
		return nil, nil
	}
	return token.Bool(), nil
}

func readObject(d *jsontext.Decoder) (any, error) {
	if d.StackDepth() > maxJSONDepth {
		return nil, fmt.Errorf("JSON nested deeper than %d levels", maxJSONDepth)
	}
	o := &Object{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := readJSON(d)
		if err != nil {
			return nil, err
		}
		o.Set(key, value)
	}
	_, err := d.ReadToken()
	return o, err
}

func readList(d *jsontext.Decoder) (any, error) {
	if d.StackDepth() > maxJSONDepth {
		return nil, fmt.Errorf("JSON nested deeper than %d levels", maxJSONDepth)
	}
	items := []any{}
	for d.PeekKind() != ']' {
		item, err := readJSON(d)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err := d.ReadToken()
	return items, err
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
		return errors.New("reading an object: the JSON is something else")
	}
	*o = *read
	return nil
}

// AppendJSON appends a plain value as JSON on one line. Durations are written as seconds ("1.5s"). NaN, the infinities
// and values that are not plain are errors. Models read this text: <, > and & stay as they are.
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
		return jsontext.AppendFloat(dst, v, 64), nil
	case string:
		return appendString(dst, v), nil
	case time.Duration:
		return appendString(dst, durationText(v)), nil
	case *Object:
		if v == nil {
			return append(dst, "null"...), nil
		}
		return appendMembers(dst, "{}", v.Len(), func(dst []byte, i int) ([]byte, error) {
			key, value := v.At(i)
			return AppendJSON(append(appendString(dst, key), ':'), value)
		})
	case []any:
		return appendMembers(dst, "[]", len(v), func(dst []byte, i int) ([]byte, error) { return AppendJSON(dst, v[i]) })
	case Fields:
		return dst, errors.New("a record cannot be written whole, only its fields")
	}
	text, err := json.Marshal(value)
	return append(dst, text...), err
}

// appendMembers appends n members between two brackets.
func appendMembers(dst []byte, brackets string, n int, member func(dst []byte, i int) ([]byte, error)) (_ []byte, err error) {
	dst = append(dst, brackets[0])
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = member(dst, i); err != nil {
			return dst, err
		}
	}
	return append(dst, brackets[1]), nil
}

// appendString appends a text in quotes. Bytes that are no UTF-8 become U+FFFD, which is no error here.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

func durationText(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}
