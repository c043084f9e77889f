package record

import (
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

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
