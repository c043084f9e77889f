package spec

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/spec/source"
)

// Image is a picture that comes with a task: a file, or a data: URL. It is read where it is needed, and not kept.
type Image struct {
	reference string // as the data set has it
	folder    folder // of the file
	path      string
	err       error // why there is no such file

	once sync.Once
	sum  string
	kind string
	fail error
}

// ImageCharacters is the text that has as many tokens as a large image, 1,600.
const ImageCharacters = 6400

// maxImageBytes is how large an image may be.
const maxImageBytes = 20_000_000

// imageKinds are how the files of images begin.
var imageKinds = []struct{ begins, kind string }{
	{"\x89PNG\r\n\x1a\n", "image/png"},
	{"\xff\xd8\xff", "image/jpeg"},
	{"GIF87a", "image/gif"},
	{"GIF89a", "image/gif"},
}

// kindOfImage is the media type of an image by its first 12 bytes, "" where it has none that models know.
func kindOfImage(data []byte) string {
	for _, k := range imageKinds {
		if bytes.HasPrefix(data, []byte(k.begins)) {
			return k.kind
		}
	}
	if len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP" {
		return "image/webp"
	}
	return ""
}

// isURL tells data:image/png;base64,... from data:/photo.png, a file below the root that is called data.
func (i *Image) isURL() bool {
	return strings.HasPrefix(i.reference, "data:") && !strings.HasPrefix(i.reference, "data:/")
}

// Name is what records call the image: its path, or how its URL begins.
func (i *Image) Name() string {
	if !i.isURL() {
		return i.reference
	}
	head, _, _ := strings.Cut(i.reference, ",")
	return shorten(head)
}

// Address is where a program finds the image: the path of its file, or its URL.
func (i *Image) Address() string {
	if i.isURL() || i.folder.disk == "" {
		return i.reference
	}
	file := filepath.Join(i.folder.disk, filepath.FromSlash(i.path))
	if whole, err := filepath.Abs(file); err == nil {
		return whole
	}
	return file
}

// Content reads the image.
func (i *Image) Content() (data []byte, kind string, err error) {
	if i.isURL() {
		data, err = i.decoded()
	} else if err = i.err; err == nil {
		data, err = i.folder.content(i.path, maxImageBytes)
	}
	if err != nil {
		return nil, "", err
	}
	if kind = kindOfImage(data); kind == "" {
		err = i.unknown()
	}
	return data, kind, err
}

// Sum is the SHA-256 of the image, in hexadecimal, and its media type, as they were when they were first asked for.
func (i *Image) Sum() (sum, kind string, err error) {
	i.once.Do(func() {
		var data []byte
		if data, i.kind, i.fail = i.Content(); i.fail == nil {
			hash := sha256.Sum256(data)
			i.sum = hex.EncodeToString(hash[:])
		}
	})
	return i.sum, i.kind, i.fail
}

// check finds what is wrong with an image, and reads no more than its beginning.
func (i *Image) check() error {
	if i.isURL() {
		_, _, err := i.Content()
		return err
	}
	if i.err != nil {
		return i.err
	}
	opened, err := i.folder.open(i.path, maxImageBytes)
	if err != nil {
		return err
	}
	defer opened.Close()
	head := make([]byte, 12)
	n, err := io.ReadFull(opened, head)
	if err != nil && n == 0 {
		return &fileError{what: i.reference + " is empty"}
	}
	if kindOfImage(head[:n]) == "" {
		return i.unknown()
	}
	return nil
}

func (i *Image) unknown() error {
	return &fileError{i.Name() + " is no PNG, JPEG, GIF or WebP", "its content counts, not its name; convert it"}
}

// decoded is what the URL holds.
func (i *Image) decoded() ([]byte, error) {
	const hint = "write data:image/png;base64, and the image in base64"
	head, text, found := strings.Cut(i.reference, ",")
	switch {
	case !found || !strings.HasSuffix(head, ";base64"):
		return nil, &fileError{i.Name() + " is no data: URL in base64", hint}
	case base64.StdEncoding.DecodedLen(len(text)) > maxImageBytes+2:
		return nil, &fileError{what: fmt.Sprintf("%s has more than %d bytes", i.Name(), maxImageBytes)}
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, &fileError{i.Name() + " is not base64", hint}
	}
	return data, nil
}

// locate finds the files of a task's images: relative to the file that has the task, or below a root.
func (d *Document) locate(images []*Image, r row) {
	from, dir := d.folder, ""
	if r.dataFile != nil {
		from, dir = r.folder, path.Dir(r.path)
	}
	for _, image := range images {
		if image.isURL() {
			continue
		}
		at, err := d.roots.resolve(from, image.reference)
		if image.err = err; err != nil {
			continue
		}
		if at.path == image.reference {
			at.path = path.Join(dir, filepath.ToSlash(at.path))
		}
		image.folder, image.path = at.folder, at.path
	}
}

// checkImages finds what is wrong with the images of a task.
func (r row) checkImages(images []*Image) error {
	var faults source.Faults
	for n, image := range images {
		at := r
		if r.node != nil {
			at.node = r.node.Get("images").Items[n]
		}
		if err := image.check(); err != nil {
			hint := ""
			if known, ok := errors.AsType[*fileError](err); ok {
				hint = known.hint
			}
			faults = append(faults, at.fault(hint, "an image of this task: %v", err))
		}
	}
	return faults.Err()
}

// imagesOf are the images that a row names: a list of texts, or one. A cell of a .csv file may name several, with | between.
func imagesOf(value any, r row) (images []*Image, err error) {
	list, ok := value.([]any)
	if text, one := value.(string); one {
		ok = true
		for part := range strings.SplitSeq(text, "|") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		if !r.isCSV() {
			list = []any{text}
		}
	}
	if !ok && value != nil {
		return nil, r.fault(`write "images": ["photo.png"]`, "images is a list of paths and data: URLs")
	}
	for _, entry := range list {
		text, ok := entry.(string)
		if !ok || text == "" {
			return nil, r.fault(`write "images": ["photo.png"]`, "images is a list of paths and data: URLs")
		}
		images = append(images, &Image{reference: text})
	}
	return images, nil
}
