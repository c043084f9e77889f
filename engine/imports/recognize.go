package imports

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/agentbench/agentbench/spec"
)

// HeadSize is how much of a file is read first to find its format, MostHead how much is read of one whose
// format does not show by then.
const (
	HeadSize = 256 << 10
	MostHead = 16 << 20
)

// mostHeads is how many documents of a file are looked at.
const mostHeads = 20

// Head is the beginning of a file, by which its format is found.
type Head struct {
	name      string
	documents []any
	zipped    *zip.Reader // nil: no zip file
}

// NewHead is the head of a file that begins with a text: of a zip file the members that matter, of any
// other the first documents, of which the last may be cut off.
func NewHead(name string, text []byte, file io.Reader) (h *Head, err error) {
	h = &Head{name: name}
	switch {
	case bytes.HasPrefix(text, []byte("PK\x03\x04")):
		h.zipped, err = openZip(file)
	case len(bytes.TrimSpace(text)) == 0:
		err = errors.New("the file is empty")
	case bytes.IndexByte(text, 0) >= 0:
		err = errors.New("the file is binary: want JSON, JSON lines, CSV or a zip file of them")
	default:
		h.documents = documentsOf(text)
	}
	return h, err
}

// documentsOf are the first documents of a text, the last of which may be cut off; what is not JSON is passed over.
func documentsOf(text []byte) (documents []any) {
	v := newValues(bytes.NewReader(text))
	for len(documents) < mostHeads {
		raw, line, err := v.raw()
		if err != nil {
			raw = completed(v.text)
		}
		if document, wrong := parse(raw, line); wrong == nil {
			documents = append(documents, document)
		}
		if err != nil {
			break
		}
	}
	return documents
}

// completed closes what is open in a JSON text that is cut off, after its last whole member.
func completed(text []byte) []byte {
	var open, closers []byte // now, and at the end of the last whole member
	whole, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			open = append(open, c+2) // the closing bracket, in ASCII
			whole, closers = i+1, append(closers[:0], open...)
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
			whole, closers = i+1, append(closers[:0], open...)
		case c == ',':
			whole, closers = i, append(closers[:0], open...)
		}
	}
	slices.Reverse(closers)
	return append(bytes.Clone(text[:whole]), closers...)
}

// of are the documents that a mapping looks at.
func (h *Head) of(m *spec.Import) []any {
	if h.zipped == nil {
		return h.documents
	}
	for _, member := range h.zipped.File {
		wanted := m.Zip != nil && slices.Contains(m.Zip.Doc, member.Name)
		if !wanted && (m.Zip != nil || !isJSON(member.Name)) {
			continue
		}
		r, err := openMember(member)
		if err != nil {
			return nil
		}
		defer r.Close()
		text, _ := io.ReadAll(io.LimitReader(r, HeadSize)) // what can be read
		return documentsOf(text)
	}
	return nil
}

// Recognized reports by what a mapping recognizes the format of a file: words such as "its
// schema_version". "" if it is not.
func (h *Head) Recognized(m *spec.Import) string {
	for i := range m.Recognize {
		for _, document := range h.of(m) {
			s := &scope{row: row{doc: document, value: document, file: h.name}}
			if is, _ := value(&m.Recognize[i].Value, s).(bool); is && s.err == nil {
				return m.Recognize[i].Key
			}
		}
	}
	return ""
}
