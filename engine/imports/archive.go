package imports

import (
	"archive/zip"
	"errors"
	"io"
	"path"
	"strings"
)

// archive reads a zip file: the members that the mapping says are rows, or else
// every JSON member as a file of its own.
func (f *file) archive(r io.Reader, start io.Reader) {
	opened, err := openZip(r)
	if err != nil {
		f.fail(0, err)
		return
	}
	var doc any
	if f.zip != nil && f.zip.Doc != "" {
		if doc, err = f.memberValue(opened, f.zip.Doc); err != nil {
			f.fail(0, err)
			return
		}
	}
	for _, member := range opened.File {
		if !f.wants(member.Name) {
			continue
		}
		f.member(member, doc)
		if f.ended {
			return
		}
	}
}

func (f *file) wants(member string) bool {
	if f.zip == nil {
		ext := strings.ToLower(path.Ext(member))
		return ext == ".json" || ext == ".jsonl"
	}
	matched, _ := path.Match(f.zip.Rows, member) // the pattern was checked
	return matched
}

// openZip wants a file that can be read at any place.
func openZip(r io.Reader) (*zip.Reader, error) {
	at, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return nil, errors.New("a zip file cannot be read from a pipe")
	}
	size, err := at.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	return zip.NewReader(at, size)
}

// member reads a member: as a row, or as a file.
func (f *file) member(m *zip.File, doc any) {
	inner := &file{name: f.name + "/" + m.Name, shape: f.shape, give: f.give}
	defer func() { f.ended = inner.ended }()
	opened, err := m.Open()
	if err != nil {
		inner.fail(0, unknownMethod(m, err))
		return
	}
	defer opened.Close()
	if f.zip == nil {
		inner.read(opened)
		return
	}
	value, line, err := newStream(opened).value()
	inner.yield(row{doc: doc, value: value, line: line}, err)
}

func (f *file) memberValue(opened *zip.Reader, name string) (any, error) {
	for _, m := range opened.File {
		if m.Name != name {
			continue
		}
		r, err := m.Open()
		if err != nil {
			return nil, unknownMethod(m, err)
		}
		defer r.Close()
		value, _, err := newStream(r).value()
		return value, err
	}
	return nil, errors.New("the zip file has no member " + name)
}

func unknownMethod(m *zip.File, err error) error {
	if errors.Is(err, zip.ErrAlgorithm) {
		return errors.New(m.Name + " is compressed in a way that is not known here; unpack it and import the members")
	}
	return err
}
