package record

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"strings"
	"time"
)

// FileHash identifies the content of a file of a [Spec]: 32 hexadecimal digits.
func FileHash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// TextFiles are files in memory, by their paths.
type TextFiles map[string]string

// Open implements [fs.FS]. There are no folders.
func (t TextFiles) Open(name string) (fs.File, error) {
	text, ok := t[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &textFile{strings.NewReader(text), name}, nil
}

type textFile struct {
	*strings.Reader
	name string
}

func (f *textFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *textFile) Close() error               { return nil }
func (f *textFile) Name() string               { return f.name }
func (f *textFile) Mode() fs.FileMode          { return 0o444 }
func (f *textFile) ModTime() time.Time         { return time.Time{} }
func (f *textFile) IsDir() bool                { return false }
func (f *textFile) Sys() any                   { return nil }
