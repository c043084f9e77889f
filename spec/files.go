package spec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/agentbench/agentbench/spec/source"
)

// folder is a place that files are read from and that no path leaves: not with "..", not with a symbolic link.
type folder struct {
	shown string // what its files' names start with in messages
	disk  string // where it is on disk; "" for one that is embedded
	fsys  fs.FS  // of one that is embedded
	root  bool   // declared under roots
	// copied is where the folder is in a copy of the document, and read notes the files that are opened; nil: nobody asks.
	copied string
	read   *filesRead
}

// What may be read of a file.
const (
	maxSpecBytes     = 16 << 20
	maxDataBytes     = 1 << 30
	maxUnpackedBytes = 256 << 20
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
		return "", &fileError{what: fmt.Sprintf("invalid path %q", file)}
	}
	return clean, nil
}

func (f folder) escape(file string) error {
	return &fileError{fmt.Sprintf("%q leads out of the folder that it is relative to", file),
		"declare the other folder: roots: {data: {default: ../data}}, and write data:/" + path.Base(filepath.ToSlash(file))}
}

// open opens a regular file of at most limit bytes (0: of any size), which is then one that the document was made of.
func (f folder) open(file string, limit int64) (fs.File, error) {
	opened, err := f.look(file, limit)
	if err == nil {
		f.read.note(f, path.Clean(filepath.ToSlash(file)))
	}
	return opened, err
}

// look is open of a file of which no copy is kept.
func (f folder) look(file string, limit int64) (fs.File, error) {
	clean, err := f.within(file)
	if err != nil {
		return nil, err
	}
	var opened fs.File
	err = f.walk(func(fsys fs.FS) (err error) { // opening a named pipe would wait for a writer, so that it looks first
		info, err := fs.Stat(fsys, clean)
		switch {
		case err != nil:
		case !info.Mode().IsRegular():
			err = errNotRegular
		default:
			opened, err = fsys.Open(clean)
		}
		return err
	})
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

// explain says what is wrong with a file.
func (f folder) explain(file string, err error) error {
	switch {
	case errors.Is(err, errNotRegular):
		return &fileError{what: fmt.Sprintf("%s is a folder or a device, not a file", f.name(file)), hint: f.folderHint(file)}
	case errors.Is(err, fs.ErrNotExist):
		return &fileError{fmt.Sprintf("file not found: %s", f.name(file)), f.nearFile(file)}
	case strings.Contains(err.Error(), "escapes from parent"): // the os package has no exported error for it
		return f.escape(file)
	}
	if inside, ok := errors.AsType[*fs.PathError](err); ok {
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
	if slices.Contains(names, path.Base(file)) {
		return "it is a link to a file that does not exist"
	}
	if near := cmp.Or(source.Closest(path.Base(file), names), sameStart(path.Base(file), names)); near != "" {
		return fmt.Sprintf("did you mean %q?", path.Join(path.Dir(file), near))
	}
	elsewhere := false
	_ = f.walk(func(fsys fs.FS) error {
		_, err := fs.Stat(fsys, path.Base(file))
		elsewhere = err == nil
		return err
	})
	if elsewhere {
		return fmt.Sprintf("did you mean %q?", path.Base(file))
	}
	if strings.HasPrefix(file, "~") {
		return "~ is not replaced: write the path from the folder of the file that names it"
	}
	ending := path.Ext(file)
	if ending == ".yaml" || ending == ".yml" {
		ending = ".loop" + ending // any of the others may be meant
	}
	others := slices.DeleteFunc(names, func(name string) bool { return ending == "" || !strings.HasSuffix(name, ending) })
	if len(others) == 0 || len(others) > fewNames {
		return ""
	}
	return "the folder has " + strings.Join(others, ", ")
}

// sameStart is the only name that starts and ends as a file does, up to its first and from its last dot: summary.loop.yaml
// for summary.yaml.
func sameStart(file string, names []string) string {
	stem, _, _ := strings.Cut(file, ".")
	similar := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		start, _, _ := strings.Cut(name, ".")
		return stem == "" || start != stem || path.Ext(name) != path.Ext(file)
	})
	if len(similar) != 1 {
		return ""
	}
	return similar[0]
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

// content reads a whole file.
func (f folder) content(file string, limit int64) ([]byte, error) {
	opened, err := f.open(file, limit)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	var text bytes.Buffer
	if info, err := opened.Stat(); err == nil {
		text.Grow(int(info.Size()) + bytes.MinRead) // at once: a data set may be large
	}
	n, err := text.ReadFrom(io.LimitReader(opened, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	if err != nil {
		return nil, f.explain(file, err)
	}
	return text.Bytes(), nil
}

// match gives the files that a path or pattern means, or the folders, sorted. A file without a pattern means itself, there or
// not; a path that ends in / means what a folder holds. What is hidden in a folder is passed over, and hidden folders are.
func (f folder) match(pattern string, folders bool) (found []string, err error) {
	clean, err := f.within(pattern)
	if err != nil {
		return nil, err
	}
	kind, inside := "file", strings.HasSuffix(pattern, "/") || folders && clean == "."
	if folders {
		kind = "folder"
	}
	name := clean // that is looked at
	err = f.walk(func(fsys fs.FS) error {
		names, err := meantBy(fsys, clean, inside)
		for _, name = range names {
			info, missing := fs.Stat(fsys, name)
			isFolder := missing == nil && info.IsDir()
			switch {
			case strings.HasPrefix(path.Base(name), ".") && name != clean && (inside || folders):
			case folders && missing != nil: // a link that leads out, or nowhere
				return missing
			case isFolder == folders || !folders && name == clean:
				found = append(found, name)
			case folders && name == clean:
				return errNoFolder
			}
		}
		return err
	})
	slices.Sort(found)
	switch {
	case errors.Is(err, doublestar.ErrBadPattern):
		return nil, &fileError{what: fmt.Sprintf("invalid %s pattern %q", kind, pattern)}
	case errors.Is(err, errNoFolder):
		return nil, &fileError{f.name(clean) + " is a file, not a folder", "files: names files of tasks"}
	case errors.Is(err, fs.ErrNotExist):
		return nil, &fileError{"folder not found: " + f.name(name), f.nearFile(name)}
	case err != nil:
		return nil, f.explain(name, err)
	case len(found) == 0 && inside && !folders:
		return nil, &fileError{what: fmt.Sprintf("the folder %s holds no files", f.name(clean))}
	case len(found) == 0:
		return nil, &fileError{what: fmt.Sprintf("no %s matches %s", kind, f.name(clean))}
	}
	return found, nil
}

// meantBy are what a path or pattern means, or what is inside of it. Links that lead back to a folder above are not followed
// round and round.
func meantBy(fsys fs.FS, pattern string, inside bool) (names []string, err error) {
	_, missing := fs.Stat(fsys, pattern)
	switch {
	case missing != nil && strings.ContainsAny(pattern, `*?[{\`):
		if inside {
			pattern += "/*"
		}
		return doublestar.Glob(fsys, pattern, doublestar.WithNoFollow())
	case !inside:
		return []string{pattern}, nil
	}
	entries, err := fs.ReadDir(fsys, pattern)
	for _, entry := range entries {
		names = append(names, path.Join(pattern, entry.Name()))
	}
	return names, err
}

var errNoFolder = errors.New("no folder")

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
	below := folder{shown: f.name(dir), root: f.root, copied: path.Join(f.copied, dir), read: f.read}
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

// place is a file: a folder, and the path below it.
type place struct {
	folder folder
	path   string
}

var rooted = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*):/+(.*)$`)

// address matches what is fetched, not read from a disk.
var address = regexp.MustCompile(`^(?i:https?|s3|gs|hf|ftp)://`)

// roots are the folders that a suite declares.
type roots struct {
	declared source.Named[Root]
	base     folder // relative to which defaults are
	getenv   func(string) string
	copies   bool // they are in a copy of the document
}

// resolve finds what a path means for a file in the folder from: a path below it, or below a root.
func (r roots) resolve(from folder, reference string) (place, error) {
	m := rooted.FindStringSubmatch(reference)
	if m == nil {
		return place{from, reference}, nil
	}
	root, ok := r.declared.Get(m[1])
	if !ok && address.MatchString(reference) {
		return place{}, &fileError{source.Shorten(reference, longName) + " is an address, want a file", "download it, and write the path of the file"}
	}
	if !ok {
		declare := fmt.Sprintf("declare it: roots: {%s: {default: ../%s}}", m[1], m[1])
		return place{}, &fileError{fmt.Sprintf("unknown root %q", m[1]), cmp.Or(didYouMean(m[1], r.declared.Keys()), declare)}
	}
	at, err := r.folder(m[1], root)
	return place{at, m[2]}, err
}

// files are those that a path or pattern names, by their paths in a folder.
func (r roots) files(from folder, reference string) (at place, found []string, err error) {
	if at, err = r.resolve(from, reference); err == nil {
		found, err = at.folder.match(at.path, false)
	}
	return at, found, err
}

// folder is the folder of a root: what its variable names, else its default.
func (r roots) folder(name string, root Root) (folder, error) {
	at := folder{shown: name + ":/", root: true, copied: path.Join(rootCopies, name), read: r.base.read}
	if r.copies {
		var err error
		at.fsys, err = fs.Sub(r.base.fsys, at.copied)
		return at, err
	}
	disk := ""
	if root.Env != "" {
		disk = r.getenv(root.Env)
	}
	if disk == "" && root.Default != "" {
		disk = root.Default
		if !filepath.IsAbs(disk) {
			disk = filepath.Join(r.base.disk, filepath.FromSlash(disk))
		}
	}
	hint := ""
	if root.Env != "" {
		hint = fmt.Sprintf("set %s to the folder", root.Env)
	}
	if disk == "" {
		return folder{}, &fileError{fmt.Sprintf("the root %q has no folder: %s is not set and has no default", name, root.Env), hint}
	}
	if info, err := os.Stat(disk); err != nil || !info.IsDir() {
		return folder{}, &fileError{fmt.Sprintf("the root %q names %s, which is not a folder", name, disk), hint}
	}
	at.disk = disk
	return at, nil
}
