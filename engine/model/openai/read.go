package openai

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// longestPiece is in what pieces long answers are kept while they are read. They
// are joined at the end, and not at all where they turn out to be too long.
const longestPiece = 1 << 20

// firstPiece is the first of them; shorter where the answer tells that it is.
const firstPiece = 4 << 10

// readAll reads to the end; on an error it gives nothing. The length is a hint,
// negative where nothing is known.
func readAll(from io.Reader, length int64) ([]byte, error) {
	var full [][]byte
	first := int64(firstPiece)
	if length >= 0 {
		first = min(first-1, length) + 1 // the end is seen where there is room to read
	}
	piece := make([]byte, 0, first)
	for {
		n, err := from.Read(piece[len(piece):cap(piece)])
		piece = piece[:len(piece)+n]
		switch {
		case errors.Is(err, io.EOF) && full == nil:
			return piece, nil
		case errors.Is(err, io.EOF):
			return bytes.Join(append(full, piece), nil), nil
		case err != nil:
			return nil, err
		case len(piece) == cap(piece):
			full = append(full, piece)
			piece = make([]byte, 0, min(2*cap(piece), longestPiece))
		}
	}
}

// readLine reads a line with its end. At the end of all it gives what is left,
// and io.EOF; on another error nothing.
func readLine(from *bufio.Reader) ([]byte, error) {
	var full [][]byte
	for {
		part, err := from.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			full = append(full, bytes.Clone(part))
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case full == nil:
			return part, err
		}
		return bytes.Join(append(full, part), nil), err
	}
}

// limited fails where more is read than allowed.
type limited struct {
	from       io.Reader
	left, most int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.from.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("%w: more than %d bytes", errTooLarge, l.most)
	}
	return n, err
}
