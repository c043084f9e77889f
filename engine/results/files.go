package results

import (
	"bytes"
	"io/fs"
	"time"
)

// files are texts by the name of their file; all other files are those beneath.
type files struct {
	texts   map[string][]byte
	beneath fs.FS
}

// Open implements [fs.FS].
func (f files) Open(name string) (fs.File, error) {
	if text, ok := f.texts[name]; ok {
		return &file{Reader: bytes.NewReader(text), name: name}, nil
	}
	return f.beneath.Open(name)
}

// file is an open text.
type file struct {
	*bytes.Reader
	name string
}

func (f *file) Stat() (fs.FileInfo, error) { return f, nil }
func (f *file) Close() error               { return nil }

func (f *file) Name() string       { return f.name }
func (f *file) Mode() fs.FileMode  { return 0o444 }
func (f *file) ModTime() time.Time { return time.Time{} }
func (f *file) IsDir() bool        { return false }
func (f *file) Sys() any           { return nil }
