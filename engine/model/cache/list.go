package cache

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"
)

// Listed is an entry as it lies in a folder.
type Listed struct {
	Head
	Bytes int64
	Used  time.Time // last, to about a day
}

// List gives the entries of a folder, by key. It reads their heads only. An
// entry that cannot be read is an error between the others; one that vanishes
// meanwhile is left out. A folder that is not there is an fs.ErrNotExist.
func List(dir string) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		buffer := make([]byte, 8<<10)
		for file, err := range files(dir) {
			if err != nil {
				yield(Listed{}, err)
				return
			}
			if isTemporary(file.Name()) {
				continue
			}
			listed, err := file.head(buffer)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if !yield(listed, err) {
				return
			}
		}
	}
}

// file is a file of the cache, temporary ones included.
type file struct {
	fs.DirEntry
	path string
}

// files walks the folder, one of its 256 parts at a time. What is not the
// cache's is passed over.
func files(dir string) iter.Seq2[file, error] {
	return func(yield func(file, error) bool) {
		parts, err := os.ReadDir(dir)
		if err != nil {
			yield(file{}, fmt.Errorf("listing the cache: %w", err))
			return
		}
		for _, part := range parts {
			if !part.IsDir() || !isHex(part.Name(), 2) {
				continue
			}
			if !filesOf(filepath.Join(dir, part.Name()), yield) {
				return
			}
		}
	}
}

// filesOf walks one part, and says whether to go on.
func filesOf(dir string, yield func(file, error) bool) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		yield(file{}, fmt.Errorf("listing the cache: %w", err))
		return false
	}
	for _, e := range entries {
		if e.Type().IsRegular() && (isHex(e.Name(), 2*len(Key{})-2) || isTemporary(e.Name())) {
			if !yield(file{e, filepath.Join(dir, e.Name())}, nil) {
				return false
			}
		}
	}
	return true
}

func isHex(name string, digits int) bool {
	if len(name) != digits {
		return false
	}
	_, err := hex.DecodeString(name)
	return err == nil
}

// head reads the file's head. The buffer holds nearly all of them.
func (f *file) head(buffer []byte) (Listed, error) {
	opened, err := os.Open(f.path)
	if err != nil {
		return Listed{}, fmt.Errorf("listing the cache: %w", err)
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return Listed{}, fmt.Errorf("listing the cache: %w", err)
	}
	start := buffer[:min(int64(len(buffer)), info.Size())]
	if _, err := io.ReadFull(opened, start); err != nil {
		return Listed{}, fmt.Errorf("%s: %w", f.path, errDamaged)
	}
	head, _, err := decodeHead(start)
	if err != nil && info.Size() > int64(len(buffer)) && info.Size() <= largest {
		head, err = longHead(f.path)
	}
	if err != nil {
		return Listed{}, fmt.Errorf("%s: %w", f.path, err)
	}
	return Listed{Head: *head, Bytes: info.Size(), Used: info.ModTime()}, nil
}

// longHead reads a head that is longer than usual, for instance by its task's id.
func longHead(path string) (*Head, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	head, _, err := decodeHead(content)
	return head, err
}
