package spec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
	"github.com/bmatcuk/doublestar/v4"
)

// folder is a place that files are read from and that no path leaves: not with "..", not with a symbolic link.
type folder struct {
	shown string // what its files' names start with in messages
	disk  string // where it is on disk; "" for one that is embedded
	fsys  fs.FS  // of one that is embedded
	root  bool   // declared under roots
}

// What may be read at once. Rows of .jsonl and .csv files are streamed and have no limit together.
const (
	maxSpecBytes = 16 << 20
	maxDataBytes = 1 << 30
	// maxUnpackedBytes is for what is packed and read whole.
	maxUnpackedBytes = 256 << 20
	// A packed file may unpack to maxUnpackedTimes its size, and maxUnpackedFree more: logs and data sets unpack to 5 to 30
	// times theirs, and the same line again and again to 1,000.
	maxUnpackedTimes = 100
	maxUnpackedFree  = 64 << 20
	rowBytes         = 64 // what a row counts as at least
)

// fileError is a path that cannot be read, in words for people.
type fileError struct{ what, hint string }

func (e *fileError) Error() string { return e.what }

// name is how messages call a file of the folder.
func (f folder) name(file string) string {
	if f.root {
		return f.shown + file
	}
	return filepath.ToSlash(filepath.Join(f.shown, file))
}

// within refuses a path that leads out of the folder by its text alone.
func (f folder) within(file string) (string, error) {
	clean := path.Clean(filepath.ToSlash(file))
	switch {
	case path.IsAbs(clean), filepath.IsAbs(file), clean == "..", strings.HasPrefix(clean, "../"):
		return "", f.escape(file)
	case !fs.ValidPath(clean):
		return "", &fileError{what: fmt.Sprintf("%q is no path", file)}
	}
	return clean, nil
}

func (f folder) escape(file string) error {
	return &fileError{fmt.Sprintf("%q leads out of the folder that it is relative to", file),
		"declare the other folder: roots: {data: {default: ../data}}, and write data:/" + path.Base(filepath.ToSlash(file))}
}

// open opens a regular file of at most limit bytes (0: of any size).
func (f folder) open(file string, limit int64) (fs.File, error) {
	clean, err := f.within(file)
	if err != nil {
		return nil, err
	}
	opened, err := f.openRegular(clean)
	if err != nil {
		return nil, f.explain(clean, err)
	}
	if info, err := opened.Stat(); err == nil && limit > 0 && info.Size() > limit {
		opened.Close()
		return nil, &fileError{what: fmt.Sprintf("%s has %d bytes, at most %d are allowed", f.name(clean), info.Size(), limit)}
	}
	return opened, nil
}

var errNotRegular = errors.New("no regular file")

// openRegular looks before it opens: opening a named pipe would wait for a writer.
func (f folder) openRegular(file string) (fs.File, error) {
	if f.fsys != nil {
		return openRegular(f.fsys, file)
	}
	root, err := os.OpenRoot(f.disk)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return openRegular(root.FS(), file)
}

func openRegular(fsys fs.FS, file string) (fs.File, error) {
	info, err := fs.Stat(fsys, file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	return fsys.Open(file)
}

// explain says what is wrong with a file.
func (f folder) explain(file string, err error) error {
	switch {
	case errors.Is(err, errNotRegular):
		return &fileError{what: fmt.Sprintf("%s is a folder or a device, not a file", f.name(file)), hint: f.folderHint(file)}
	case errors.Is(err, fs.ErrNotExist):
		return &fileError{fmt.Sprintf("there is no file %s", f.name(file)), f.nearFile(file)}
	case strings.Contains(err.Error(), "escapes from parent"): // the os package has no exported error for it
		return f.escape(file)
	}
	var inside *fs.PathError
	if errors.As(err, &inside) {
		err = inside.Err
	}
	return &fileError{what: fmt.Sprintf("%s cannot be read: %v", f.name(file), err)}
}

// nearFile suggests a file of the same folder.
func (f folder) nearFile(file string) string {
	var names []string
	_ = f.walk(func(fsys fs.FS) error {
		entries, err := fs.ReadDir(fsys, path.Dir(file))
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return err
	})
	if closest := source.Closest(path.Base(file), names); closest != "" {
		return fmt.Sprintf("did you mean %q?", path.Join(path.Dir(file), closest))
	}
	return ""
}

// walk hands out the folder as a file system.
func (f folder) walk(do func(fs.FS) error) error {
	if f.fsys != nil {
		return do(f.fsys)
	}
	root, err := os.OpenRoot(f.disk)
	if err != nil {
		return err
	}
	defer root.Close()
	return do(root.FS())
}

// read reads a whole file.
func (f folder) read(file string, limit int64) ([]byte, error) {
	opened, err := f.open(file, limit)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	if err != nil {
		return nil, f.explain(file, err)
	}
	return text, nil
}

// glob gives the files that a pattern means, sorted; a path without a pattern means itself, and one that ends in / the
// files of a folder.
func (f folder) glob(pattern string) ([]string, error) {
	clean, err := f.within(pattern)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(pattern, "/") {
		return f.list(clean)
	}
	if !strings.ContainsAny(clean, `*?[{\`) {
		return []string{clean}, nil
	}
	var files []string
	err = f.walk(func(fsys fs.FS) error {
		if _, err := fs.Stat(fsys, clean); err == nil {
			files = []string{clean}
			return nil
		}
		// Links that lead back to a folder above would be followed round and round.
		files, err = doublestar.Glob(fsys, clean, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
		files = slices.DeleteFunc(files, func(file string) bool {
			info, err := fs.Stat(fsys, file)
			return err == nil && info.IsDir() // a link to one
		})
		return err
	})
	switch {
	case errors.Is(err, doublestar.ErrBadPattern):
		return nil, &fileError{what: fmt.Sprintf("%q is no pattern of file names", pattern)}
	case err != nil:
		return nil, f.explain(clean, err)
	case len(files) == 0:
		return nil, &fileError{what: fmt.Sprintf("no file matches %s", f.name(clean))}
	}
	slices.Sort(files)
	return files, nil
}

// list gives the files of a folder, sorted, without those that are hidden and those of the folders in it.
func (f folder) list(dir string) ([]string, error) {
	var files []string
	err := f.walk(func(fsys fs.FS) error {
		entries, err := fs.ReadDir(fsys, dir)
		for _, entry := range entries {
			file := path.Join(dir, entry.Name())
			if strings.HasPrefix(entry.Name(), ".") {
				continue
			}
			if info, err := fs.Stat(fsys, file); err != nil || !info.IsDir() {
				files = append(files, file)
			}
		}
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &fileError{what: fmt.Sprintf("there is no folder %s", f.name(dir))}
	case err != nil:
		return nil, f.explain(dir, err)
	case len(files) == 0:
		return nil, &fileError{what: fmt.Sprintf("the folder %s holds no files", f.name(dir))}
	}
	return files, nil
}

// folderHint says how the files of a folder are named.
func (f folder) folderHint(file string) (hint string) {
	_ = f.walk(func(fsys fs.FS) error { // a hint only
		if info, err := fs.Stat(fsys, file); err == nil && info.IsDir() {
			hint = fmt.Sprintf("%q names all files in it", file+"/")
		}
		return nil
	})
	return hint
}

// sub is the folder of a file: what that file names is relative to it and stays below it.
func (f folder) sub(file string) folder {
	dir := path.Dir(file)
	if dir == "." {
		return f
	}
	below := folder{shown: f.name(dir), root: f.root}
	if f.root {
		below.shown += "/"
	}
	if f.fsys == nil {
		below.disk = filepath.Join(f.disk, filepath.FromSlash(dir))
		return below
	}
	sub, err := fs.Sub(f.fsys, dir)
	if err != nil {
		panic(err) // the file was opened below dir
	}
	below.fsys = sub
	return below
}
