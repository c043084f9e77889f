package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// DataFile is a file of tasks or of recorded answers, and the hash of its bytes.
type DataFile struct{ Name, Hash string }

// DataFiles are the files of the suite's tasks and of its script models, in their order. They are named as the suite
// names them; those that a pattern finds, by their paths in its folder.
func (d *Document) DataFiles() ([]DataFile, error) {
	if d.Suite == nil {
		return nil, nil
	}
	var references []string
	for _, m := range d.Suite.Models {
		references = append(references, m.Value.Files...)
		if r := m.Value.Responses; r != nil && r.File != "" {
			references = append(references, r.File)
		}
	}
	files, err := d.TaskFiles()
	if err != nil {
		return nil, err
	}
	answers, err := d.hashAll(references)
	return append(files, answers...), err
}

// TaskFiles are those of the suite's tasks alone.
func (d *Document) TaskFiles() ([]DataFile, error) {
	if d.Suite == nil {
		return nil, nil
	}
	return d.hashAll(d.Suite.Tasks.Files)
}

func (d *Document) hashAll(references []string) (files []DataFile, err error) {
	for _, reference := range references {
		found, err := d.hashFound(reference)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

func (d *Document) hashFound(reference string) ([]DataFile, error) {
	at, err := d.roots.resolve(d.folder, reference)
	if err != nil {
		return nil, err
	}
	found, err := at.folder.glob(at.path)
	if err != nil {
		return nil, err
	}
	prefix := reference[:len(reference)-len(at.path)] // the root
	var files []DataFile
	for _, file := range found {
		sum, err := at.folder.sum(file)
		if err != nil {
			return nil, err
		}
		files = append(files, DataFile{Name: prefix + file, Hash: sum})
	}
	return files, nil
}

// sum is the hash of a file of any size.
func (f folder) sum(file string) (string, error) {
	opened, err := f.open(file, 0)
	if err != nil {
		return "", err
	}
	defer opened.Close()
	h := sha256.New()
	if _, err := io.Copy(h, opened); err != nil {
		return "", fmt.Errorf("reading %s: %w", f.name(file), err)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
