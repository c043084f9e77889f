package openai

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// longestPiece is in what pieces long answers are kept while they are read. They
// are joined at the end, and not at all where they turn out to be too long.
const longestPiece = 1 << 20

// firstPiece is the first of them; shorter where the answer tells that it is.
const firstPiece = 4 << 10

// pieces are what was read so far.
type pieces struct {
	full [][]byte
	last []byte
}

// room is where to read on.
func (p *pieces) room() []byte {
	if len(p.last) == cap(p.last) {
		if p.last != nil {
			p.full = append(p.full, p.last)
		}
		p.last = make([]byte, 0, max(firstPiece, min(2*cap(p.last), longestPiece)))
	}
	return p.last[len(p.last):cap(p.last)]
}

func (p *pieces) read(n int) { p.last = p.last[:len(p.last)+n] }

// join makes one of the pieces, each of which is let go once it is copied.
func (p *pieces) join() []byte {
	if p.full == nil {
		return p.last
	}
	length := len(p.last)
	for _, piece := range p.full {
		length += len(piece)
	}
	whole := make([]byte, 0, length)
	for i, piece := range p.full {
		whole = append(whole, piece...)
		p.full[i] = nil
	}
	whole = append(whole, p.last...)
	*p = pieces{}
	return whole
}

// readAll reads to the end; on an error it gives nothing. The length is a hint,
// negative where nothing is known.
func readAll(from io.Reader, length int64) ([]byte, error) {
	var p pieces
	if length >= 0 {
		p.last = make([]byte, 0, min(firstPiece-1, length)+1) // the end is seen where there is room to read
	}
	for {
		n, err := from.Read(p.room())
		p.read(n)
		switch {
		case errors.Is(err, io.EOF):
			return p.join(), nil
		case err != nil:
			return nil, err
		}
	}
}

// readLine reads a line with its end. At the end of all it gives what is left,
// and io.EOF; on another error nothing.
func readLine(from *bufio.Reader) ([]byte, error) {
	var p pieces
	for {
		part, err := from.ReadSlice('\n')
		switch {
		case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case p.last == nil && !errors.Is(err, bufio.ErrBufferFull):
			return part, err // most lines: nothing is copied
		}
		for len(part) > 0 {
			n := copy(p.room(), part)
			p.read(n)
			part = part[n:]
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return p.join(), err
		}
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
