package results

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// specFolder has the copies of what a result folder was made of, in folders that are numbered.
const specFolder = "spec"

// Copies are files that are to be kept in a result folder. They are a file system, too.
type Copies struct {
	spec  record.Spec
	files map[string][]byte // all, by their paths
	data  []spec.DataFile   // those that the suite names, copied or not
}

// NewCopies makes a copy of a suite, of whose tasks the plan selects some.
func (w Writer) NewCopies(d *spec.Document, tasks iter.Seq2[*spec.Task, error]) (*Copies, error) {
	c, err := d.Copy(tasks, w.Redact)
	if err != nil {
		return nil, err
	}
	made := &Copies{spec: record.Spec{Suite: c.Document, Files: map[string]string{}, Data: map[string]string{}, Programs: c.ProgramFiles}, files: c.Files}
	if made.data, err = d.DataFiles(); err != nil {
		return nil, fmt.Errorf("hashing the data: %w", err)
	}
	for name := range c.Files {
		made.spec.Files[name] = ""
	}
	for name, text := range c.Data {
		made.spec.Data[name], made.files[name] = "", text
	}
	for _, set := range c.Set {
		made.spec.Set = append(made.spec.Set, record.Setting{Path: set.Path, Value: string(w.Redact([]byte(set.Value)))})
	}
	made.hash()
	return made, nil
}

// hash hashes the files.
func (c *Copies) hash() {
	for _, hashes := range []map[string]string{c.spec.Files, c.spec.Data} {
		for name := range hashes {
			if text, ok := c.files[name]; ok {
				hashes[name] = record.FileHash(text)
			}
		}
	}
}

// Open implements [fs.FS].
func (c *Copies) Open(name string) (fs.File, error) {
	texts := record.TextFiles{}
	if text, ok := c.files[name]; ok {
		texts[name] = string(text)
	}
	return texts.Open(name)
}

// Keep writes the files into a result folder, unless one of its specs has the same, and says where they are. Copies that the
// manifest does not name are removed.
func (c *Copies) Keep(dir string, specs []record.Spec) (record.Spec, error) {
	s, numbers := c.spec, 0
	for i := range specs {
		one := &specs[i]
		numbers = max(numbers, numberOf(one.Dir))
		if one.Suite == s.Suite && maps.Equal(one.Files, s.Files) && maps.Equal(one.Data, s.Data) && c.there(filepath.Join(dir, filepath.FromSlash(one.Dir))) {
			s.Dir = one.Dir
			return s, nil
		}
	}
	found, _ := os.ReadDir(filepath.Join(dir, specFolder)) // it need not be there
	for _, e := range found {
		named := slices.ContainsFunc(specs, func(s record.Spec) bool { return s.Dir == path.Join(specFolder, e.Name()) })
		if !named && len(specs) > 0 && numberOf(e.Name()) > 0 {
			if err := os.RemoveAll(filepath.Join(dir, specFolder, e.Name())); err != nil {
				return s, fmt.Errorf("removing an old copy of the suite: %w", err)
			}
		}
	}
	s.Dir = path.Join(specFolder, strconv.Itoa(numbers+1))
	for name, text := range c.files {
		file := filepath.Join(dir, filepath.FromSlash(s.Dir), filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return s, fmt.Errorf("copying the suite: %w", err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return s, fmt.Errorf("copying the suite: %w", err)
		}
	}
	return s, nil
}

// numberOf is the number of the folder of a copy, 0 of any other.
func numberOf(dir string) int {
	number, _ := strconv.Atoi(path.Base(dir))
	return number
}

// there reports whether a folder has all files as they are.
func (c *Copies) there(dir string) bool {
	for name, text := range c.files {
		if is, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))); err != nil || !bytes.Equal(is, text) {
			return false
		}
	}
	return true
}

// copied has the files of a copy, and refuses those that are not as they were written.
type copied struct {
	from fs.FS
	spec *record.Spec
}

// Open implements [fs.FS].
func (c *copied) Open(name string) (fs.File, error) {
	file := path.Join(c.spec.Dir, name)
	hash, known := c.spec.Files[name]
	if !known {
		if hash, known = c.spec.Data[name]; !known {
			return c.from.Open(file)
		}
	}
	text, err := fs.ReadFile(c.from, file)
	if err != nil {
		return nil, err
	}
	if record.FileHash(text) != hash {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it was changed since the runs were made")}
	}
	return record.TextFiles{name: string(text)}.Open(name)
}
