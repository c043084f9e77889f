package temporal

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/exit"
)

// Store keeps what all machines of a suite read and write. Names have slashes. It is safe
// for concurrent use.
type Store interface {
	// Create writes what is not there yet, and reports whether it did: what is there stays.
	Create(ctx context.Context, name string, content []byte) (created bool, err error)
	// Read fails with fs.ErrNotExist where there is nothing of that name.
	Read(ctx context.Context, name string) ([]byte, error)
	// Send writes a file, which may be large, unless there is one of that name. Whatever
	// writes under one name writes the same.
	Send(ctx context.Context, name, file string) error
	// Fetch makes a file of what Send wrote, or fails with fs.ErrNotExist.
	Fetch(ctx context.Context, name, file string) error
	// Remove removes what Create wrote.
	Remove(ctx context.Context, name string) error
	// String is what people know it by.
	String() string
	// Folder is where the names are files; "": they are not.
	Folder() string
}

// openTimeout is how long a store may take to answer first.
const openTimeout = 15 * time.Second

// OpenStore opens the store that an address names: a folder, or s3://BUCKET/PREFIX. It fails
// where nothing can be written there.
func OpenStore(ctx context.Context, address string, getenv func(string) string) (Store, error) {
	return openStore(ctx, address, getenv, openTimeout)
}

func openStore(ctx context.Context, address string, getenv func(string) string, patience time.Duration) (Store, error) {
	if address == "" {
		return nil, exit.Usage("a folder that all machines share, or s3://BUCKET/PREFIX", "--store is missing")
	}
	store, err := answer(ctx, &watch{patience: patience}, func() {}, func(ctx context.Context) (store Store, err error) {
		if strings.HasPrefix(address, "s3://") {
			store, err = openBucket(address, getenv)
		} else {
			store, err = openFolder(address)
		}
		if err == nil {
			err = probe(ctx, store)
		}
		return store, err
	})
	if err != nil {
		return nil, exit.With(exit.NotMeasured, "workers and the coordinator write to it; nothing was run", "the store %s cannot be used: %w", address, err)
	}
	return store, nil
}

// probe fails where a store does not keep what is written.
func probe(ctx context.Context, store Store) error {
	name, content := "probes/"+rand.Text(), []byte(strings.Repeat("agentbench\n", 400))
	if _, err := store.Create(ctx, name, content); err != nil {
		return err
	}
	again, err := store.Create(ctx, name, []byte("other"))
	if err != nil {
		return err
	}
	read, err := store.Read(ctx, name)
	if err == nil && (again || string(read) != string(content)) {
		err = errors.New("it writes over what is there: it must know conditional writes (If-None-Match)")
	}
	return errors.Join(err, store.Remove(ctx, name))
}

// folderStore is a folder.
type folderStore string

func openFolder(path string) (Store, error) {
	whole, err := filepath.Abs(path)
	if err == nil {
		err = os.MkdirAll(whole, 0o755)
	}
	return folderStore(whole), err
}

func (s folderStore) Folder() string { return string(s) }

func (s folderStore) String() string { return string(s) }

func (s folderStore) path(name string) string {
	return filepath.Join(string(s), filepath.FromSlash(name))
}

// Create writes the file whole under another name, and links it to its own: that fails
// where there is one, on network file systems as well.
func (s folderStore) Create(ctx context.Context, name string, content []byte) (bool, error) {
	return s.create(ctx, name, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
}

func (s folderStore) create(ctx context.Context, name string, open func() (io.ReadCloser, error)) (bool, error) {
	path := s.path(name)
	if _, err := os.Lstat(path); err == nil {
		return false, nil
	}
	content, err := open()
	if err != nil {
		return false, err
	}
	defer content.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	temporary := filepath.Join(filepath.Dir(path), "tmp-"+rand.Text())
	if err = write(ctx, temporary, content); err == nil {
		err = os.Link(temporary, path)
	}
	_ = os.Remove(temporary)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// mostUnsynced is how much of a file is written before it is synced. The last sync of a large
// file would else be silent for as long as all of it takes.
const mostUnsynced = 8 << 20

// write writes a file so that it survives the machine.
func write(ctx context.Context, path string, content io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	for err == nil {
		if _, err = io.CopyN(f, moving{ctx, content}, mostUnsynced); err == nil {
			err = f.Sync()
		}
	}
	if errors.Is(err, io.EOF) {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
	}
	return err
}

func (s folderStore) Send(ctx context.Context, name, file string) error {
	_, err := s.create(ctx, name, func() (io.ReadCloser, error) { return os.Open(file) })
	return err
}

func (s folderStore) Fetch(ctx context.Context, name, file string) error {
	content, err := os.Open(s.path(name))
	if err != nil {
		return fmt.Errorf("reading the store: %w", err)
	}
	defer content.Close()
	return write(ctx, file, content)
}

func (s folderStore) Read(ctx context.Context, name string) ([]byte, error) {
	f, err := os.Open(s.path(name))
	if err != nil {
		return nil, fmt.Errorf("reading the store: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(moving{ctx, f})
	if err != nil {
		return nil, fmt.Errorf("reading the store: %w", err)
	}
	return content, nil
}

func (s folderStore) Remove(_ context.Context, name string) error { return os.Remove(s.path(name)) }
