// Package secret decides what is never written down: the values of all keys in
// use, in every form in which they could come back, and whatever has the shape
// of a key.
//
// The stages: a value becomes its forms (forms.go), of which one matcher finds
// them all in one pass (matcher.go); shapes are found beside them (shapes.go);
// what was found becomes regions that leave JSON valid (region.go), and each
// region the word [redacted]. A Writer does it to a stream (stream.go).
package secret

import (
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Replacement stands where a secret was.
const Replacement = "[redacted]"

// Shortest is how many bytes a value needs to be known as a secret: shorter ones
// would eat ordinary words and numbers. A key of a usual shape is found whether
// its value is known or not.
const Shortest = 8

// placeholders are what manuals of local servers tell people to set as a key.
var placeholders = []string{
	"lm-studio", "not-needed", "not-used", "no-key-required", "placeholder", "dummy-key", "anything", "whatever", "no_key_needed",
}

// Redactor hides secrets. The zero value, as nil, knows the shapes of keys only.
// It is safe for concurrent use.
type Redactor struct {
	mu    sync.Mutex // of those who learn
	known []string
	forms atomic.Pointer[matcher]
}

// New makes a redactor that knows some values.
func New(values ...string) *Redactor {
	r := &Redactor{}
	r.Learn(values...)
	return r
}

// Learn adds values to those that are hidden from now on. One that holds
// credentials, such as "Bearer sk-…", is also known by its parts.
func (r *Redactor) Learn(values ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.known)
	for _, value := range values {
		for _, part := range parts(value) {
			if len(part) >= Shortest && !slices.Contains(placeholders, part) && !slices.Contains(r.known, part) {
				r.known = append(r.known, part)
			}
		}
	}
	if len(r.known) > before {
		r.forms.Store(newMatcher(r.known))
	}
}

// parts are a value and the secrets within it.
func parts(value string) []string {
	value = strings.TrimSpace(value)
	all := []string{value}
	scheme, rest, ok := strings.Cut(value, " ")
	if !ok {
		return all
	}
	switch strings.ToLower(scheme) {
	case "bearer", "token", "apikey":
		return append(all, strings.TrimSpace(rest))
	case "basic":
		all = append(all, strings.TrimSpace(rest))
		if pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest)); err == nil {
			_, password, _ := strings.Cut(string(pair), ":")
			all = append(all, string(pair), password)
		}
	}
	return all
}

// Redact gives the text with every secret replaced. JSON stays valid. A text
// without any is returned as it is.
func (r *Redactor) Redact(text []byte) []byte {
	regions := r.find(text)
	if len(regions) == 0 {
		return text
	}
	return replace(make([]byte, 0, len(text)), text, 0, regions)
}

// String is Redact of a string.
func (r *Redactor) String(text string) string {
	bytes := unsafe.Slice(unsafe.StringData(text), len(text)) // only read: a copy of a large text is dear
	regions := r.find(bytes)
	if len(regions) == 0 {
		return text
	}
	return string(replace(nil, bytes, 0, regions))
}

// find gives the regions of a text that are to be replaced, in their order.
func (r *Redactor) find(text []byte) []region {
	found := r.matcher().find(nil, text)
	known := len(found)
	found = findShapes(found, text)
	if len(found) == 0 {
		return nil
	}
	return settle(text, found, known)
}

// matcher is nil where no value is known.
func (r *Redactor) matcher() *matcher {
	if r == nil {
		return nil
	}
	return r.forms.Load()
}
