// Package secret redacts secrets. New makes a Redactor of the values of all keys in
// use, which it finds in every form in which they could come back, and whatever has the shape
// of a key.
//
// The stages: a value becomes its forms, of which one matcher finds
// them all in one pass (matcher.go); shapes are found beside them;
// what was found becomes regions that leave JSON valid, and each
// region the word [redacted]. A Writer does it to a stream.
//
// It is no stable API.
package secret

import (
	"encoding/base64"
	"io"
	"regexp"
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

// reference matches what a shell replaces by a variable's value, also behind a scheme: it names a secret, and is none.
var reference = regexp.MustCompile(`^(\w+ )?\$(\w+|\{\w+\})$`)

// Redactor hides secrets. The zero value, as nil, knows the shapes of keys only.
// It is safe for concurrent use.
type Redactor struct {
	mu    sync.Mutex // of those who learn
	known []string
	forms atomic.Pointer[matcher]

	noShapes bool
}

// New makes a redactor that knows some values.
func New(values ...string) *Redactor {
	r := &Redactor{}
	r.Learn(values...)
	return r
}

// Values makes a redactor that knows the values alone: what else looks like a key is left as it is, as what a model wrote must be.
func Values(values ...string) *Redactor {
	r := New(values...)
	r.noShapes = true
	return r
}

// Learn adds values to those that are hidden from now on. One that holds
// credentials, such as "Bearer sk-…", is also known by its parts.
func (r *Redactor) Learn(values ...string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.known)
	for _, value := range values {
		for _, part := range parts(value) {
			if len(part) >= Shortest && !slices.Contains(placeholders, part) && !reference.MatchString(part) && !slices.Contains(r.known, part) {
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

// Knows reports whether a text holds a known value. What only has the shape of a key does not count.
func (r *Redactor) Knows(text []byte) bool { return len(r.matcher().find(nil, text)) > 0 }

// Longest is how many bytes a known value has at most, in any form; 0: none is known.
func (r *Redactor) Longest() int {
	if m := r.matcher(); m != nil {
		return m.longest
	}
	return 0
}

// find gives the regions of a text that are to be replaced, in their order.
func (r *Redactor) find(text []byte) []region {
	found := r.matcher().find(nil, text)
	known := len(found)
	if r.shapes() {
		found = findShapes(found, text)
	}
	if len(found) == 0 {
		return nil
	}
	return settle(text, found, known)
}

func (r *Redactor) shapes() bool { return r == nil || !r.noShapes }

// matcher is nil where no value is known.
func (r *Redactor) matcher() *matcher {
	if r == nil {
		return nil
	}
	return r.forms.Load()
}

// Writer redacts what is written through it, also where a secret is split over
// several writes. It keeps back only an end of what was written that may be the
// beginning of a secret, and no more than a bound. It is safe for concurrent use.
type Writer struct {
	to      io.Writer
	secrets *Redactor

	mu   sync.Mutex
	text []byte // what may still matter
	sent int    // how much of the text was written on
}

// mostKept bounds what is kept back: no key of a usual shape is longer. Longer
// values are kept as long as they need.
const mostKept = 4 << 10

// mostReused is how much memory is kept for the next write.
const mostReused = 256 << 10

// Writer gives a writer that redacts into another one. Flush it at the end.
func (r *Redactor) Writer(to io.Writer) *Writer { return &Writer{to: to, secrets: r} }

// Unwrap gives the writer behind it.
func (w *Writer) Unwrap() io.Writer { return w.to }

// Write writes on what is certain. Its error is that of the writer behind it.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	regions := w.secrets.find(w.text)
	if err := w.pass(regions, w.certain(regions)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what was kept back.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pass(w.secrets.find(w.text), len(w.text))
}

// certain is up to where no text that is still to come can change anything.
func (w *Writer) certain(regions []region) int {
	values := w.secrets.matcher()
	upTo, bound := values.open(w.text), mostKept
	if w.secrets.shapes() {
		upTo = min(upTo, openShape(w.text))
	}
	if values != nil {
		bound = max(bound, values.longest)
	}
	upTo = escapeBefore(w.text, upTo)
	if len(w.text)-upTo > bound {
		return len(w.text)
	}
	for _, r := range regions {
		ends := r.end > upTo || r.end+longestEscape > len(w.text) // what follows may be of the same escape, or make it a name
		if r.begin < upTo && ends {
			upTo = r.begin
		}
	}
	return max(upTo, w.sent)
}

// pass writes the text up to there, with its regions replaced, and forgets all
// but what the next text may need before it.
func (w *Writer) pass(regions []region, upTo int) error {
	var passed []region
	for _, r := range regions {
		if r.end > w.sent && r.end <= upTo {
			passed = append(passed, region{max(r.begin, w.sent), r.end})
		}
	}
	out := replace(nil, w.text[:upTo], w.sent, passed)
	keep := context(w.text, upTo)
	if cap(w.text) > mostReused {
		w.text = slices.Clone(w.text[keep:])
	} else {
		w.text = append(w.text[:0], w.text[keep:]...)
	}
	w.sent = upTo - keep
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}

// context is from where on a text matters for what follows a place: the token
// there, with a scheme, an escape or the name of a JSON member before it.
func context(text []byte, at int) int {
	const before = 32
	begin := at
	for begin > 0 && at-begin < mostKept && inToken[text[begin-1]] {
		begin--
	}
	return max(0, begin-before)
}
