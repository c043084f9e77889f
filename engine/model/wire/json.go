package wire

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// Members are the names and values of a JSON object, in the order in which they are written; anything else has none. The JSON
// must be valid. Both stay as they are written, the names without their quotes.
func Members(object []byte) iter.Seq2[[]byte, []byte] { return within(object, '{') }

// Elements are those of a JSON list, as Members has them.
func Elements(list []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, value := range within(list, '[') {
			if !yield(value) {
				return
			}
		}
	}
}

func within(whole []byte, begin byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		rest := afterSpace(whole)
		if len(rest) == 0 || rest[0] != begin {
			return
		}
		for rest = afterSpace(rest[1:]); rest[0] != '}' && rest[0] != ']'; {
			var name []byte
			if begin == '{' {
				size := sizeOf(rest)
				name, rest = rest[1:size-1], afterSpace(rest[size:])
				rest = afterSpace(rest[1:]) // the colon
			}
			size := sizeOf(rest)
			if !yield(name, rest[:size:size]) {
				return
			}
			if rest = afterSpace(rest[size:]); rest[0] == ',' {
				rest = afterSpace(rest[1:])
			}
		}
	}
}

func afterSpace(text []byte) []byte {
	for i, c := range text {
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return text[i:]
		}
	}
	return nil
}

// sizeOf is how many bytes the value has that a text begins with.
func sizeOf(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			if i += quoted(text[i:]) - 1; depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // the end of what the value stands in
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// quoted is how many bytes the string has that a text begins with.
func quoted(text []byte) int {
	for i := 1; ; i++ {
		i += bytes.IndexByte(text[i:], '"')
		escapes := 0
		for text[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

// Fields reads the members of an object: field is where one goes, nil where it goes nowhere. What it reads is what encoding/json
// reads, in less time. Where it fails, encoding/json may know better: that finds a field by its name in upper case, too.
func Fields(object []byte, field func(name []byte) any) (ok bool) {
	if object = afterSpace(object); object[0] != '{' {
		return object[0] == 'n'
	}
	for name, value := range Members(object) {
		if into := field(name); into != nil {
			ok = read(value, into)
		} else {
			ok = !bytes.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf || r == '\\' || 'A' <= r && r <= 'Z' })
		}
		if !ok {
			return false
		}
	}
	return true
}

func read(value []byte, into any) (ok bool) {
	switch into := into.(type) {
	case func(value []byte) (ok bool):
		return into(value)
	case json.Unmarshaler:
		return into.UnmarshalJSON(value) == nil
	case *string:
		if value[0] == '"' && bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value) {
			*into = string(value[1 : len(value)-1]) // most texts stand for themselves
			return true
		}
	}
	return json.Unmarshal(value, into) == nil
}
