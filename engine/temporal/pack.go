package temporal

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/results"
)

// mostPacked is how large the files of a suite may be that travel to the workers.
const mostPacked = 512 << 20

// pack makes an archive of a suite's folder. It depends on nothing but names, contents and
// who may execute. Result folders, caches of answers and .git stay behind.
func pack(folder string) ([]byte, error) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	size := int64(0)
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(folder, path)
		if e.IsDir() {
			if name != "." && (e.Name() == ".git" || results.IsFolder(path) || e.Name() == "results") {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if size += info.Size(); size > mostPacked {
			return exit.Usage("keep the suite in a folder of its own, and large data below a root that all machines have", "%s holds more than %d MiB, too much to send to workers", folder, mostPacked>>20)
		}
		return add(archive, path, filepath.ToSlash(name), info)
	})
	if err = errors.Join(err, archive.Close(), zipped.Close()); err != nil {
		return nil, fmt.Errorf("packing the suite's folder: %w", err)
	}
	return packed.Bytes(), nil
}

func add(archive *tar.Writer, path, name string, info fs.FileInfo) error {
	head := &tar.Header{Name: name, Mode: int64(info.Mode().Perm() & 0o755), ModTime: time.Unix(0, 0)}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		head.Typeflag, head.Linkname = tar.TypeSymlink, target
		return archive.WriteHeader(head)
	case !info.Mode().IsRegular():
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head.Typeflag, head.Size = tar.TypeReg, info.Size()
	if err := archive.WriteHeader(head); err != nil {
		return err
	}
	_, err = io.CopyN(archive, f, info.Size())
	return err
}

// unpack writes an archive into a folder that appears whole or not at all. What is there
// already was written by another worker of this machine.
func unpack(packed []byte, into string) error {
	if _, err := os.Stat(into); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(into), 0o755); err != nil {
		return err
	}
	beside, err := os.MkdirTemp(filepath.Dir(into), "tmp-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(beside)
	if err := os.Chmod(beside, 0o755); err != nil {
		return err
	}
	if err := extract(packed, beside); err != nil {
		return fmt.Errorf("unpacking the suite: %w", err)
	}
	err = os.Rename(beside, into)
	if _, there := os.Stat(into); there == nil {
		return nil
	}
	return err
}

func extract(packed []byte, dir string) error {
	zipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	archive := tar.NewReader(zipped)
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := place(root, head, archive); err != nil {
			return err
		}
	}
}

// place writes one entry. Links that lead out of the folder are refused.
func place(root *os.Root, head *tar.Header, content io.Reader) error {
	if at := strings.LastIndexByte(head.Name, '/'); at > 0 {
		if err := root.MkdirAll(head.Name[:at], 0o755); err != nil {
			return err
		}
	}
	if head.Typeflag == tar.TypeSymlink {
		if filepath.IsAbs(head.Linkname) || slices.Contains(strings.Split(filepath.ToSlash(filepath.Join(filepath.Dir(head.Name), head.Linkname)), "/"), "..") {
			return fmt.Errorf("the link %s leads out of the suite's folder", head.Name)
		}
		return root.Symlink(head.Linkname, head.Name)
	}
	f, err := root.OpenFile(head.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(head.Mode))
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
