package proxy

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentbench/agentbench/engine/model"
)

// asked is a request as the proxy reads it.
type asked struct {
	protocol      model.Protocol
	header        http.Header
	model         string // as the program calls it
	before, after []byte // the body around that name
	stream, tools bool
	bytes         int64 // of what a model reads, where an image or a file counts as a large image
	rules         *rules
	items         []json.RawMessage // of the conversation
	sum           sum
	opening       sum   // of what stands before the conversation
	prefixes      []sum // of the conversation up to each of its items
}

type sum = [sha256.Size]byte

// object are the members of a body. Their names are folded, for some servers, as those in Go, read Model as model.
type object map[string]json.RawMessage

// folded is the same for a name in any case.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		for next := unicode.SimpleFold(r); next > r; next = unicode.SimpleFold(r) {
			r = next
		}
		return unicode.SimpleFold(r) // the first of all its cases
	}, name)
}

// lenient reads JSON as encoding/json does, sorted writes it with the members of objects in order.
var (
	lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	sorted  = append(lenient[:2:2], jsontext.ReorderRawObjects(true))
)

// read reads a body. What is wrong with it is for the program to read.
func read(p model.Protocol, header http.Header, body []byte, r *rules, ofRun []string) (a *asked, wrong string) {
	a = &asked{protocol: p, header: header, rules: r, bytes: int64(len(body))}
	members := object{}
	decoder := jsontext.NewDecoder(bytes.NewBuffer(body), lenient...)
	if decoder.PeekKind() != '{' {
		return nil, "the body is no JSON object"
	}
	_, _ = decoder.ReadToken()
	for decoder.PeekKind() == '"' {
		token, _ := decoder.ReadToken()
		name := folded(token.String())
		if _, twice := members[name]; twice { // some servers take the first and some the last
			return nil, fmt.Sprintf("the body has %q twice", token.String())
		}
		if name == folded(forms[p].items) && decoder.PeekKind() == '[' {
			a.items, members[name] = elements(decoder, body), nil
			continue
		}
		value, _ := decoder.ReadValue() // where it is none, neither is the end
		end := int(decoder.InputOffset())
		members[name] = body[end-len(value) : end]
		if name == folded("model") {
			a.before, a.after = body[:end-len(value)], body[end:]
		}
	}
	_, err := decoder.ReadToken()
	if _, end := decoder.ReadToken(); err != nil || end != io.EOF {
		return nil, "the body is not valid JSON"
	}
	var isText bool
	if a.model, isText = decode(members[folded("model")]).(string); !isText {
		return nil, "the body has no model"
	}
	a.stream = string(members[folded("stream")]) == "true"
	a.tools = isList(members[folded("tools")]) || isList(members[folded("functions")])
	if text := members[folded(forms[p].items)]; len(text) > 0 && text[0] == '"' {
		a.items = []json.RawMessage{text}
	}
	a.bytes -= a.imageBytes(body)
	a.sumUp(members, ofRun)
	return a, ""
}

// isList reports whether a value is a list that is not empty.
func isList(value json.RawMessage) bool {
	inner, isList := bytes.CutPrefix(value, []byte("["))
	return isList && !bytes.HasPrefix(bytes.TrimLeft(inner, " \t\r\n"), []byte("]"))
}

// elements are those of the list that a decoder of the text reads next, as far as they are valid.
func elements(decoder *jsontext.Decoder, text []byte) (all []json.RawMessage) {
	_, _ = decoder.ReadToken()
	for decoder.PeekKind() != ']' {
		value, err := decoder.ReadValue()
		if err != nil {
			return all
		}
		end := int(decoder.InputOffset())
		all = append(all, text[end-len(value):end])
	}
	_, _ = decoder.ReadToken()
	return all
}

// sumUp makes the sums: of the conversation item by item, each with what was before it, and with them of all that is asked.
// Of the members only those stay that count beside the conversation.
func (a *asked) sumUp(members object, ofRun []string) {
	f := forms[a.protocol]
	var room []byte
	of := func(text json.RawMessage, leftOut []string) sum {
		room = canonical(room[:0], text, leftOut)
		return sha256.Sum256(a.rules.mask(room, ofRun))
	}
	for _, name := range f.opening {
		if text := members[folded(name)]; text != nil {
			s := of(text, nil)
			a.opening = sha256.Sum256(append(a.opening[:], s[:]...))
		}
	}
	var so sum
	for _, item := range a.items {
		s := of(item, f.ofItems)
		so = sha256.Sum256(append(so[:], s[:]...))
		a.prefixes = append(a.prefixes, so)
	}
	if a.opening == (sum{}) && len(a.prefixes) > 0 {
		a.opening = a.prefixes[0]
	}
	for _, name := range append(f.leftOut[:len(f.leftOut):len(f.leftOut)], f.items) {
		delete(members, folded(name))
	}
	rest, _ := json.Marshal(members) // of JSON
	s := of(rest, nil)
	a.sum = sha256.Sum256(append(append([]byte(a.protocol), s[:]...), so[:]...))
}

// always is a member that says how a request is to be handled, and is left out wherever it stands: clients move it from one
// message to the next.
const always = "cache_control"

// decode reads a value that is valid JSON. Its numbers stay as they are written.
func decode(text json.RawMessage) (value any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	_ = decoder.Decode(&value)
	strip(value)
	return value
}

func strip(value any) {
	switch value := value.(type) {
	case map[string]any:
		delete(value, always)
		for _, inner := range value {
			strip(inner)
		}
	case []any:
		for _, inner := range value {
			strip(inner)
		}
	}
}

// canonical appends a value without spaces, the members of objects sorted, and without those members of its own that are left out.
func canonical(to []byte, text json.RawMessage, leftOut []string) []byte {
	if len(leftOut) > 0 || bytes.Contains(text, []byte(`"`+always+`"`)) {
		value := decode(text)
		members, _ := value.(map[string]any)
		for _, name := range leftOut {
			delete(members, name)
		}
		text, _ = json.Marshal(value) // it was JSON
	}
	to, _ = jsontext.AppendFormat(to, text, sorted...) // it is valid
	return to
}

// mostValues bounds the values of a body: each takes more memory here than its text, which may be two bytes.
const mostValues = 200_000

// values is how many values a JSON text has, or a few more.
func values(text []byte) (n int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\':
			i++
		case !quoted && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

// imageBytes is the text that has as many tokens as a large image.
const imageBytes = 6400

// images are where parts of a conversation hold an image or a file: the data, or its address.
var images = map[model.Protocol]map[string][]string{
	model.Chat:      {"image_url": {"image_url", "url"}, "input_audio": {"input_audio", "data"}, "file": {"file", "file_data"}},
	model.Responses: {"input_image": {"image_url"}, "input_file": {"file_data"}, "computer_screenshot": {"image_url"}},
	model.Messages:  {"image": {"source", "data"}, "document": {"source", "data"}},
}

// imageBytes is how many bytes the images and files of a conversation have beyond those of large images.
func (a *asked) imageBytes(body []byte) (excess int64) {
	for kind := range images[a.protocol] {
		if bytes.Contains(body, []byte(`"`+kind+`"`)) {
			for _, item := range a.items {
				excess += imagesIn(a.protocol, decode(item))
			}
			break
		}
	}
	return excess
}

// imagesIn is the same of an item, or a part of one.
func imagesIn(p model.Protocol, item any) (bytes int64) {
	members, _ := item.(map[string]any)
	if data, isImage := image(p, members); isImage {
		return int64(len(data) - imageBytes)
	}
	for _, name := range []string{"content", "output"} {
		switch parts := members[name].(type) {
		case []any:
			for _, part := range parts {
				bytes += imagesIn(p, part)
			}
		case map[string]any:
			bytes += imagesIn(p, parts)
		}
	}
	return bytes
}

// image is the data of a part that is an image or a file. What may be read in two ways is none, and a source of Messages may be
// a text.
func image(p model.Protocol, part map[string]any) (data string, isImage bool) {
	kind, _ := part["type"].(string)
	var value any = part
	for _, name := range images[p][kind] {
		members, isObject := value.(map[string]any)
		if !isObject || ambiguous(members) || members["type"] == "text" {
			return "", false
		}
		value = members[name]
	}
	data, isImage = value.(string)
	return data, isImage
}

// ambiguous reports whether two members have one name in different cases.
func ambiguous(members map[string]any) bool {
	seen := map[string]bool{}
	for name := range members {
		seen[folded(name)] = true
	}
	return len(seen) < len(members)
}
