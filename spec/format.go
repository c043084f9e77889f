package spec

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// taskFormats are what files of rows may be; textFormats are files that are one row each, of tasks alone.
var (
	taskFormats = []string{".jsonl", ".json", ".yaml", ".yml", ".csv"}
	textFormats = []string{".txt", ".md"}
)

// format is how a data file is read: what its name ends in, in lower case, and whether it is packed.
type format struct {
	ext    string
	packed bool
}

func formatOf(file string) format {
	ext := path.Ext(file)
	if !strings.EqualFold(ext, ".gz") {
		return format{ext: strings.ToLower(ext)}
	}
	return format{strings.ToLower(path.Ext(strings.TrimSuffix(file, ext))), true}
}

// stem is the name of a file without what it ends in.
func stem(file string) string {
	name := path.Base(file)
	if ext := path.Ext(name); strings.EqualFold(ext, ".gz") {
		name = strings.TrimSuffix(name, ext)
	}
	return strings.TrimSuffix(name, path.Ext(name))
}

// rows says that the file holds rows; any other is text, and one row.
func (f format) rows() bool { return slices.Contains(taskFormats, f.ext) }

func (f format) streamed() bool { return f.ext == ".jsonl" || f.ext == ".csv" }

// open opens the file as it reads unpacked.
func (f *dataFile) open() (io.ReadCloser, error) {
	opened, err := f.folder.open(f.path, 0)
	if err != nil || !f.format.packed {
		return opened, err
	}
	info, err := opened.Stat()
	if err != nil {
		opened.Close()
		return nil, f.readFailure(err)
	}
	unpacked, err := gzip.NewReader(opened)
	if err != nil {
		opened.Close()
		return nil, f.readFailure(err)
	}
	return &packed{unpacked, opened, maxUnpackedFree + maxUnpackedTimes*info.Size()}, nil
}

// packed is a file that is read through gzip, up to so many bytes: a few that are packed may stand for very many.
type packed struct {
	*gzip.Reader
	file fs.File
	left int64
}

var errUnpacksTooMuch = errors.New("it unpacks to too much")

// Read implements [io.Reader].
func (p *packed) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if p.left -= int64(n); p.left < 0 {
		return 0, errUnpacksTooMuch
	}
	return n, err
}

// countRow counts a row of a file as at least rowBytes bytes: what a row takes to read does not end with its length.
func countRow(opened io.Reader, bytes int64) {
	if p, ok := opened.(*packed); ok {
		p.left -= max(0, rowBytes-bytes)
	}
}

// Close implements io.Closer.
func (p *packed) Close() error { return errors.Join(p.Reader.Close(), p.file.Close()) }

// read reads the whole file. What it unpacks to is limited, too.
func (f *dataFile) read() ([]byte, error) {
	if !f.format.packed {
		return f.folder.read(f.path, maxDataBytes)
	}
	opened, err := f.open()
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, maxUnpackedBytes+1))
	if err == nil && len(text) > maxUnpackedBytes {
		return nil, &fileError{fmt.Sprintf("%s unpacks to more than %d bytes", f.name, maxUnpackedBytes), "files that end in .jsonl.gz or .csv.gz are not read whole"}
	}
	if err != nil {
		return nil, f.readFailure(err)
	}
	return text, nil
}
