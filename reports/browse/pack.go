package browse

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
)

// chunk is a part of the data that is unpacked by itself: JSON, gzip, base64.
type chunk struct{ name, text string }

// packed is a chunk of a value. Equal values give equal chunks.
func (s *Sources) packed(name string, value any) (chunk, error) {
	text, err := s.written(value)
	if err != nil {
		return chunk{}, fmt.Errorf("packing %s: %w", name, err)
	}
	var small bytes.Buffer
	pack := gzip.NewWriter(&small)
	if _, err = pack.Write(text); err == nil {
		err = pack.Close()
	}
	return chunk{name, base64.StdEncoding.EncodeToString(small.Bytes())}, err
}

// write writes the chunk as an element that a browser neither runs nor shows.
func (c *chunk) write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "<script type=\"application/octet-stream\" data-chunk=\"%s\">%s</script>\n", c.name, c.text)
	return err
}
