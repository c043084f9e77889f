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
	"github.com/agentbench/agentbench/engine/workspace"
)

// mostPacked is how large the files of a suite may be that travel to the workers.
const mostPacked = 512 << 20

// pack makes an archive of a suite's folder. It depends on nothing but names, contents and
// permissions: the folder may hold what workspaces begin with. Result folders and caches of
// answers stay behind, and so does the folder's own .git, unless repository says otherwise. So
// do files that usually hold secrets, and what the folder's .gitignore names: left are these.
// A file that the suite reads is an error then.
func pack(folder string, repository bool, reads []string) (content []byte, of parcel, err error) {
	ignored, err := readIgnored(folder)
	if err != nil {
		return nil, of, err
	}
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(folder, path)
		if e.IsDir() {
			if name == "." {
				return nil
			}
			if name == ".git" && !repository || name == "results" || ofResults(path) {
				return filepath.SkipDir
			}
		}
		if slashed := filepath.ToSlash(name); ignored.has(slashed, e.IsDir()) {
			of.left = append(of.left, slashed)
			if slices.ContainsFunc(reads, func(file string) bool { return file == slashed || strings.HasPrefix(file, slashed+"/") }) {
				return exit.Usage("send it by an exception in .gitignore, such as !"+slashed+", or keep it below a root that all machines have",
					"the suite reads files that are not sent to workers, because .gitignore names them or they may hold secrets: %s", slashed)
			}
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() {
			of.files++
			of.size += info.Size()
		}
		if of.size > mostPacked {
			return exit.Usage("keep the suite in a folder of its own, and large data below a root that all machines have", "%s holds more than %d MiB, too much to send to workers", folder, mostPacked>>20)
		}
		return add(archive, path, filepath.ToSlash(name), info)
	})
	if err = errors.Join(err, archive.Close(), zipped.Close()); err != nil {
		return nil, of, fmt.Errorf("packing the suite's folder: %w", err)
	}
	return packed.Bytes(), of, nil
}

// parcel is what an archive has, and what was left out of it.
type parcel struct {
	files int
	size  int64
	left  []string
}

func (p parcel) String() string {
	text := fmt.Sprintf("%d files (%d bytes)", p.files, p.size)
	if len(p.left) > 0 {
		text += ", without " + exit.Some(p.left)
	}
	return text
}

// secretFiles usually hold secrets. No exception of a .gitignore sends them.
var secretFiles = []string{".env*", "*.pem", ".netrc"}

// ignored are the paths that stay behind.
type ignored struct {
	secrets workspace.Patterns
	lines   []ignoredLine // of .gitignore; the last one that matches counts
}

type ignoredLine struct {
	workspace.Patterns
	exception bool
}

func readIgnored(folder string) (i ignored, err error) {
	if i.secrets, err = workspace.ParsePatterns(secretFiles); err != nil {
		return i, err
	}
	text, err := os.ReadFile(filepath.Join(folder, ".gitignore"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return i, err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		var of ignoredLine
		line, of.exception = strings.CutPrefix(line, "!")
		of.Patterns, err = workspace.ParsePatterns([]string{strings.ReplaceAll(line, "[!", "[^")})
		if err != nil {
			return i, exit.Usage("what it names is not sent to workers", "%s: %w", filepath.Join(folder, ".gitignore"), err)
		}
		i.lines = append(i.lines, of)
	}
	return i, nil
}

// has reports whether a path stays behind; whether its folder does, the caller knows.
func (i *ignored) has(name string, folder bool) bool {
	if i.secrets.Match(name, folder) {
		return true
	}
	for _, line := range slices.Backward(i.lines) {
		if line.Match(name, folder) {
			return !line.exception
		}
	}
	return false
}

// ofResults reports whether a folder is one of results. What a workspace begins with may have a
// manifest.json as well.
func ofResults(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "records.jsonl"))
	return err == nil && results.IsFolder(dir)
}

func add(archive *tar.Writer, path, name string, info fs.FileInfo) error {
	head := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), ModTime: time.Unix(0, 0)}
	switch {
	case info.IsDir():
		head.Typeflag = tar.TypeDir
		return archive.WriteHeader(head)
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
	defer workspace.Remove(beside)
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
	var folders []*tar.Header
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if head.Typeflag == tar.TypeDir {
			folders = append(folders, head)
		}
		if err := place(root, head, archive); err != nil {
			return err
		}
	}
	for _, head := range slices.Backward(folders) { // one may be that nothing can be written to
		if err := root.Chmod(head.Name, fs.FileMode(head.Mode)); err != nil {
			return err
		}
	}
	return nil
}

// place writes one entry. Links that lead out of the folder are refused.
func place(root *os.Root, head *tar.Header, content io.Reader) error {
	if at := strings.LastIndexByte(head.Name, '/'); at > 0 {
		if err := root.MkdirAll(head.Name[:at], 0o755); err != nil {
			return err
		}
	}
	switch head.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(head.Name, 0o755)
	case tar.TypeSymlink:
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
	return errors.Join(err, f.Chmod(fs.FileMode(head.Mode)), f.Close()) // the umask is this machine's
}
