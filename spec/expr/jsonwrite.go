package expr

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

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
	return appendOther(dst, value)
}

func appendOther(dst []byte, value any) ([]byte, error) {
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
