package page

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf16"
)

func writeJSON(w io.Writer, p Page, _ Options) error { return p.WriteJSON(w) }

// EncodeJSON is a value as JSON, indented by two spaces behind the prefix, without
// anything that a terminal would obey or hide. An [Estimate] in a struct is a number, and behind it its interval
// (see [IntervalKeys]).
func EncodeJSON(value any, prefix string) ([]byte, error) {
	text, err := appendJSON(nil, reflect.ValueOf(value))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Indent(&out, text, prefix, "  ")
	return PlainJSON(out.Bytes()), err
}

// IntervalKeys are the keys of an estimate's interval in JSON: those of its ends, as in `interval:"low,high"`, or the one of both, that
// of the number and "_interval".
func IntervalKeys(field reflect.StructField) []string {
	if ends, ok := field.Tag.Lookup("interval"); ok {
		return strings.Split(ends, ",")
	}
	key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return []string{key + "_interval"}
}

// appendJSON appends a value as encoding/json writes it, estimates aside.
func appendJSON(b []byte, v reflect.Value) ([]byte, error) {
	if !v.IsValid() {
		return append(b, "null"...), nil
	}
	isNil := (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface || v.Kind() == reflect.Slice) && v.IsNil()
	switch t := v.Type(); {
	case isNil:
		return append(b, "null"...), nil
	case t.Implements(reflect.TypeFor[json.Marshaler]()), t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
	case v.Kind() == reflect.Pointer, v.Kind() == reflect.Interface:
		return appendJSON(b, v.Elem())
	case v.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return appendAll(b, v)
	case v.Kind() == reflect.Struct:
		start := len(b)
		b, err := appendMembers(b, v)
		if len(b) == start {
			b = append(b, ',')
		}
		b[start] = '{'
		return append(b, '}'), err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v.Interface())
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...), err
}

func appendAll(b []byte, all reflect.Value) (_ []byte, err error) {
	b = append(b, '[')
	for i := range all.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendJSON(b, all.Index(i)); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// appendMembers appends the fields of a struct, each behind a comma.
func appendMembers(b []byte, of reflect.Value) (_ []byte, err error) {
	member := func(key string, v any) {
		if err == nil {
			b, err = appendJSON(append(b, `,"`+key+`":`...), reflect.ValueOf(v))
		}
	}
	for i := range of.NumField() {
		field, v := of.Type().Field(i), of.Field(i)
		key, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		empty := v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
		switch {
		case field.Anonymous && key == "" && err == nil:
			b, err = appendMembers(b, reflect.Indirect(v))
		case !field.IsExported() || key == "-" || empty && strings.Contains(options, "omit"):
		case field.Type == reflect.TypeFor[Estimate]():
			e, keys := v.Interface().(Estimate), IntervalKeys(field)
			member(key, e.Value)
			if len(keys) == 1 {
				member(keys[0], e.Range)
			} else {
				member(keys[0], e.Low)
				member(keys[1], e.High)
			}
		default:
			member(cmp.Or(key, field.Name), v.Interface())
		}
	}
	return b, err
}

// WriteObject writes a value as JSON, and a line feed.
func WriteObject(w io.Writer, of any) error {
	text, err := EncodeJSON(of, "")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// PlainJSON is the same JSON with escapes for all that a terminal would obey or
// hide, which stands inside strings.
func PlainJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, hiddenInJSON) {
		return text
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		if !hiddenInJSON(r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.Bytes()
}

func hiddenInJSON(r rune) bool { return r != '\n' && invisible(r) }
