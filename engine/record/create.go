package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrExists says that a folder holds results already.
var ErrExists = errors.New("there are results already")

// Create makes a result folder, which may be there but must hold no results, and
// opens its journal. The caller closes it.
func Create(dir string, m Manifest, options Options) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the results folder: %w", err)
	}
	folder, err := lock(dir)
	if err != nil {
		return nil, err
	}
	j := newJournal(folder, options)
	if err := j.create(m); err != nil {
		return nil, errors.Join(err, j.leave())
	}
	go j.commit()
	return j, nil
}

func (j *Journal) create(m Manifest) error {
	for _, name := range append([]string{manifestFile}, fileNames[:]...) {
		switch _, err := os.Stat(filepath.Join(j.folder.dir, name)); {
		case err == nil:
			return fmt.Errorf("%w in %s", ErrExists, j.folder.dir)
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("making the results folder: %w", err)
		}
	}
	if err := j.WriteManifest(m); err != nil {
		return err
	}
	return j.openFiles()
}

func newJournal(home *locked, options Options) *Journal {
	j := &Journal{
		folder: home, disk: options.Disk, delay: options.Delay, redact: options.Redact,
		pending: &group{}, spare: &group{},
		hurry: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	j.changed.L = &j.mu
	if j.disk == nil {
		j.disk = folder(home.dir)
	}
	if j.delay == 0 {
		j.delay = defaultDelay
	}
	return j
}

func (j *Journal) openFiles() error {
	for i, name := range fileNames {
		f, err := j.disk.Append(name)
		if err != nil {
			return writing(err)
		}
		j.files[i] = f
	}
	return nil
}
