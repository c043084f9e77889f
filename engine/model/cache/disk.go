package cache

import (
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// disk is how a store writes. Tests make it fail.
type disk interface {
	// Create makes a file that must not be there yet.
	Create(path string) (io.WriteCloser, error)
	MakeFolder(path string) error
	Rename(from, to string) error
	Remove(path string) error
}

// folder is the real disk.
type folder struct{}

func (folder) Create(path string) (io.WriteCloser, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err // a nil *os.File would be a writer that is not nil
	}
	return f, nil
}

func (folder) MakeFolder(path string) error { return os.MkdirAll(path, 0o755) }
func (folder) Rename(from, to string) error { return os.Rename(from, to) }
func (folder) Remove(path string) error     { return os.Remove(path) }

const temporaryPrefix = "tmp-"

// temporaryName is a name beside the path that no other process uses.
func temporaryName(path string) string {
	return filepath.Join(filepath.Dir(path), temporaryPrefix+rand.Text())
}

func isTemporary(name string) bool { return strings.HasPrefix(name, temporaryPrefix) }
