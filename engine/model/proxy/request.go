package proxy

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

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
	items         []any // of the conversation
	sum           sum
	opening       sum   // of what stands before the conversation
	prefixes      []sum // of the conversation up to each of its items
}

type sum = [sha256.Size]byte

// object are the members of a body. Their names are folded, for some servers, as those in Go, read Model as model.
type object map[string]json.RawMessage

func (o object) member(name string) any { return decode(o[folded(name)]) }

// folded is the same for a name in any case.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		for next := unicode.SimpleFold(r); next > r; next = unicode.SimpleFold(r) {
			r = next
		}
		return unicode.SimpleFold(r) // the first of all its cases
	}, name)
}

// read reads a body. What is wrong with it is for the program to read.
func read(p model.Protocol, header http.Header, body []byte, r *rules, ofRun []string) (a *asked, wrong string) {
	if !json.Valid(body) {
		return nil, "the body is not valid JSON"
	}
	a = &asked{protocol: p, header: header, rules: r, bytes: int64(len(body))}
	members := object{}
	decoder := json.NewDecoder(bytes.NewReader(body))
	begin, _ := decoder.Token() // it is valid, as all that follows
	for begin == json.Delim('{') && decoder.More() {
		name, _ := decoder.Token()
		var value json.RawMessage
		_ = decoder.Decode(&value)
		key := folded(name.(string))
		if _, twice := members[key]; twice { // some servers take the first and some the last
			return nil, fmt.Sprintf("the body has %q twice", name)
		}
		if members[key] = value; key == folded("model") {
			end := decoder.InputOffset()
			a.before, a.after = body[:end-int64(len(value))], body[end:]
		}
	}
	var isText bool
	if a.model, isText = members.member("model").(string); !isText {
		return nil, "the body has no model"
	}
	a.stream = members.member("stream") == true
	for _, name := range []string{"tools", "functions"} {
		list, _ := members.member(name).([]any)
		a.tools = a.tools || len(list) > 0
	}
	switch items := members.member(forms[p].items).(type) {
	case []any:
		a.items = items
	case string:
		a.items = []any{items}
	}
	for _, item := range a.items {
		a.bytes -= imagesIn(p, item)
	}
	a.sumUp(members, ofRun)
	return a, ""
}

// sumUp makes the sums: of the conversation item by item, each with what was before it, and with them of all that is asked.
func (a *asked) sumUp(members object, ofRun []string) {
	f := forms[a.protocol]
	of := func(value any) sum { return sha256.Sum256(a.rules.mask(canonical(value), ofRun)) }
	for _, name := range f.opening {
		if value := members.member(name); value != nil {
			s := of(value)
			a.opening = sha256.Sum256(append(a.opening[:], s[:]...))
		}
	}
	var so sum
	for _, item := range a.items {
		s := of(without(item, f.ofItems))
		so = sha256.Sum256(append(so[:], s[:]...))
		a.prefixes = append(a.prefixes, so)
	}
	if a.opening == (sum{}) && len(a.prefixes) > 0 {
		a.opening = a.prefixes[0]
	}
	rest := map[string]any{}
	for name := range members {
		rest[name] = members.member(name)
	}
	for _, name := range append(f.leftOut[:len(f.leftOut):len(f.leftOut)], f.items) {
		delete(rest, folded(name))
	}
	s := of(rest)
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

// without is an item without some of its own members.
func without(item any, names []string) any {
	whole, isObject := item.(map[string]any)
	if !isObject || len(names) == 0 {
		return item
	}
	rest := map[string]any{}
	for name, value := range whole {
		if !slices.Contains(names, name) {
			rest[name] = value
		}
	}
	return rest
}

// canonical is a value without spaces, the members of objects sorted.
func canonical(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // it was JSON
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
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

// imagesIn is how many bytes the images and files of an item have beyond those of a large image.
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
