package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agentbench/agentbench/engine/model"
)

// A body is read once, without making values of it: requests of coding agents are long, and most of one was in the one before.

// tree is a JSON text as its values in their order, each with all that is within it behind it.
type tree struct {
	text  []byte
	nodes []node
}

// node is a value.
type node struct {
	key  span // of the member that it is; empty within a list
	at   span
	next int // the first node behind what is within it
}

// span is a part of the text. That of a key or a text has no quotes.
type span struct{ from, to int }

// deepest bounds how deep values may lie in others, as encoding/json does.
const deepest = 10_000

// mostValues bounds the values of a body: each takes more memory here than its text, which may be two bytes.
const mostValues = 200_000

var (
	errJSON   = errors.New("the body is not valid JSON")
	errValues = fmt.Errorf("the body has more than %d JSON values", mostValues)
)

// parse reads a whole text.
func parse(text []byte) (*tree, error) {
	t := &tree{text: text, nodes: make([]node, 0, 64+len(text)/64)}
	at, err := t.value(t.space(0), span{}, 0)
	if err != nil {
		return nil, err
	}
	if t.space(at) != len(text) {
		return nil, errJSON
	}
	return t, nil
}

func (t *tree) space(at int) int {
	for at < len(t.text) && (t.text[at] == ' ' || t.text[at] == '\n' || t.text[at] == '\t' || t.text[at] == '\r') {
		at++
	}
	return at
}

// value reads the value that begins there, and gives where it ends.
func (t *tree) value(at int, key span, depth int) (end int, err error) {
	if at >= len(t.text) || depth > deepest {
		return 0, errJSON
	}
	place := len(t.nodes)
	if place == mostValues {
		return 0, errValues
	}
	t.nodes = append(t.nodes, node{key: key})
	switch c := t.text[at]; {
	case c == '{' || c == '[':
		end, err = t.members(at, depth)
	case c == '"':
		end, err = t.quoted(at)
	default:
		end, err = t.word(at)
	}
	n := &t.nodes[place]
	n.at, n.next = span{at, end}, len(t.nodes)
	return end, err
}

// members reads an object or a list.
func (t *tree) members(at, depth int) (end int, err error) {
	object, closing := t.text[at] == '{', byte(']')
	if object {
		closing = '}'
	}
	at = t.space(at + 1)
	if at < len(t.text) && t.text[at] == closing {
		return at + 1, nil
	}
	for {
		var key span
		if object {
			if end, err = t.quoted(at); err != nil {
				return 0, err
			}
			key = span{at + 1, end - 1}
			if at = t.space(end); at >= len(t.text) || t.text[at] != ':' {
				return 0, errJSON
			}
			at = t.space(at + 1)
		}
		if end, err = t.value(at, key, depth+1); err != nil {
			return 0, err
		}
		at = t.space(end)
		switch {
		case at < len(t.text) && t.text[at] == closing:
			return at + 1, nil
		case at >= len(t.text) || t.text[at] != ',':
			return 0, errJSON
		}
		at = t.space(at + 1)
	}
}

// quoted reads a text.
func (t *tree) quoted(at int) (end int, err error) {
	if at >= len(t.text) || t.text[at] != '"' {
		return 0, errJSON
	}
	for at++; at < len(t.text); at++ {
		switch c := t.text[at]; {
		case c == '"':
			return at + 1, nil
		case c < ' ':
			return 0, errJSON
		case c == '\\':
			if at++; at >= len(t.text) {
				return 0, errJSON
			}
			if t.text[at] == 'u' {
				if at += 4; at >= len(t.text) || !hexadecimal(t.text[at-3:at+1]) {
					return 0, errJSON
				}
			} else if bytes.IndexByte([]byte(`"\/bfnrt`), t.text[at]) < 0 {
				return 0, errJSON
			}
		}
	}
	return 0, errJSON
}

func hexadecimal(digits []byte) bool {
	for _, c := range digits {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// word reads a number, true, false or null.
func (t *tree) word(at int) (end int, err error) {
	end = at
	for end < len(t.text) && bytes.IndexByte([]byte(" \t\r\n,]}"), t.text[end]) < 0 {
		end++
	}
	if !json.Valid(t.text[at:end]) || t.text[at] == '"' {
		return 0, errJSON
	}
	return end, nil
}

// within are the places of what a value holds.
func (t *tree) within(place int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := place + 1; i < t.nodes[place].next; i = t.nodes[i].next {
			if !yield(i) {
				return
			}
		}
	}
}

// member is the place of an object's member, -1 where it has none of that name. Upper case and escapes make no difference: some
// servers, as those in Go, read Model as model.
func (t *tree) member(of int, name string) (place int) {
	place = -1
	if of < 0 || t.kind(of) != '{' {
		return place
	}
	for i := range t.within(of) {
		if strings.EqualFold(t.name(i), name) {
			place = i
		}
	}
	return place
}

// name is that of a member.
func (t *tree) name(place int) string {
	key := t.nodes[place].key
	if bytes.IndexByte(t.part(key), '\\') < 0 {
		return string(t.part(key))
	}
	var name string
	_ = json.Unmarshal(t.text[key.from-1:key.to+1], &name) // it was read before
	return name
}

// twice is a name that two members of an object have, in whatever case; "" where all differ. Of two some servers take the first and
// some the last.
func (t *tree) twice(of int) string {
	seen := map[string]bool{}
	for i := range t.within(of) {
		folded := strings.Map(fold, t.name(i))
		if seen[folded] {
			return t.name(i)
		}
		seen[folded] = true
	}
	return ""
}

// fold is the same for all cases of a letter, as for [strings.EqualFold].
func fold(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}

// kind is the first byte of a value: { [ " or that of a word; 0 where there is none.
func (t *tree) kind(place int) byte {
	if place < 0 {
		return 0
	}
	return t.text[t.nodes[place].at.from]
}

func (t *tree) part(of span) []byte { return t.text[of.from:of.to] }

// raw is a value as it is written.
func (t *tree) raw(place int) []byte { return t.part(t.nodes[place].at) }

// string is a text, "" where the value is none.
func (t *tree) string(place int) (text string) {
	if t.kind(place) == '"' {
		_ = json.Unmarshal(t.raw(place), &text) // it was read before
	}
	return text
}

// length is how many values a list or an object has.
func (t *tree) length(place int) (n int) {
	if kind := t.kind(place); kind != '[' && kind != '{' {
		return 0
	}
	for range t.within(place) {
		n++
	}
	return n
}

// canonical appends a value without spaces, the members of objects sorted, and without those members of its own that are left out.
func (t *tree) canonical(to []byte, place int, leftOut []string) []byte {
	switch t.kind(place) {
	case '{':
		return t.object(to, place, leftOut)
	case '[':
		to = append(to, '[')
		for i := range t.within(place) {
			if to[len(to)-1] != '[' {
				to = append(to, ',')
			}
			to = t.canonical(to, i, always)
		}
		return append(to, ']')
	}
	return append(to, t.raw(place)...)
}

// always are members that say how a request is to be handled, and are left out wherever they stand: clients move them from one
// message to the next.
var always = []string{"cache_control"}

func (t *tree) object(to []byte, place int, leftOut []string) []byte {
	members := make([]int, 0, 16)
	for i := range t.within(place) {
		if !slices.Contains(leftOut, string(t.part(t.nodes[i].key))) {
			members = append(members, i)
		}
	}
	slices.SortStableFunc(members, func(a, b int) int { return bytes.Compare(t.part(t.nodes[a].key), t.part(t.nodes[b].key)) })
	to = append(to, '{')
	for n, i := range members {
		if n > 0 {
			to = append(to, ',')
		}
		to = append(append(append(to, '"'), t.part(t.nodes[i].key)...), `":`...)
		to = t.canonical(to, i, always)
	}
	return append(to, '}')
}

// imageBytes is the text that has as many tokens as a large image.
const imageBytes = 6400

// images are where parts of a conversation hold an image or a file: the data, or its address.
var images = map[model.Protocol]map[string][]string{
	model.Chat:      {"image_url": {"image_url", "url"}, "input_audio": {"input_audio", "data"}, "file": {"file", "file_data"}},
	model.Responses: {"input_image": {"image_url"}, "input_file": {"file_data"}, "computer_screenshot": {"image_url"}},
	model.Messages:  {"image": {"source", "data"}, "document": {"source", "data"}},
}

// bytes is the length of what a model reads: of the whole text, where an image or a file of the conversation counts as a large image.
func (t *tree) bytes(p model.Protocol) int64 {
	bytes := len(t.text)
	var count func(of int)
	count = func(of int) {
		if data := t.image(p, of); data >= 0 {
			bytes += imageBytes - len(t.raw(data))
			return
		}
		for _, name := range []string{"content", "output"} {
			switch parts := t.member(of, name); t.kind(parts) {
			case '[':
				for part := range t.within(parts) {
					count(part)
				}
			case '{':
				count(parts)
			}
		}
	}
	if items := t.member(0, forms[p].items); items >= 0 {
		for item := range t.within(items) {
			count(item)
		}
	}
	return int64(bytes)
}

// image is the place of the data of a part that is an image or a file, else -1. What may be read in two ways is none, and a source
// of Messages may be a text.
func (t *tree) image(p model.Protocol, part int) (place int) {
	place = part
	for _, name := range images[p][t.string(t.member(part, "type"))] {
		if t.kind(place) != '{' || t.twice(place) != "" || t.string(t.member(place, "type")) == "text" {
			return -1
		}
		place = t.member(place, name)
	}
	if place == part || t.kind(place) != '"' {
		return -1
	}
	return place
}
