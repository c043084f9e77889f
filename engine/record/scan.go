package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
)

// place is where a line of a file begins.
type place struct {
	line   int // lines before it
	offset int64
}

// object is the content of a good line. Its JSON is valid until the next one.
type object struct {
	place
	bytes int64 // of the whole line
	json  []byte
}

func (o *object) end() place { return place{o.line + 1, o.offset + o.bytes} }

// scanner takes a file apart into lines.
type scanner struct {
	name string
	in   *bufio.Reader
	at   place
	long []byte // a line that is longer than the reader's buffer
}

// scan yields the objects of a file's lines and, where lines are bad, a *Problem
// for all of them that follow each other. Any other error is the last element.
// The input begins at the given place of the file.
func scan(name string, in io.Reader, at place) iter.Seq2[object, error] {
	s := &scanner{name: name, in: bufio.NewReaderSize(in, 1<<16), at: at}
	return func(yield func(object, error) bool) {
		var bad *Problem
		for {
			o, err := s.next()
			if err == io.EOF {
				break
			}
			if problem, ok := err.(*Problem); ok {
				bad = bad.and(problem)
				continue
			}
			if bad != nil && !yield(object{}, bad) {
				return
			}
			bad = nil
			if !yield(o, err) || err != nil {
				return
			}
		}
		if bad != nil {
			bad.Torn = true
			yield(object{}, bad)
		}
	}
}

// and joins the next bad line to the ones before it.
func (p *Problem) and(next *Problem) *Problem {
	if p == nil {
		return next
	}
	p.Lines, p.Bytes = p.Lines+next.Lines, p.Bytes+next.Bytes
	return p
}

// next is the object of the next line, io.EOF at the end.
func (s *scanner) next() (object, error) {
	o := object{place: s.at}
	line, size, err := s.line()
	if size == 0 {
		return o, err
	}
	o.bytes = size
	s.at = o.end()
	switch {
	case err == io.EOF:
		err = errors.New("a line that breaks off")
	case err == nil:
		o.json, err = unseal(line)
	case !errors.Is(err, errTooLong):
		return o, err
	}
	if err != nil {
		return o, o.problem(s.name, err)
	}
	return o, nil
}

func (o *object) problem(file string, err error) *Problem {
	return &Problem{File: file, Line: o.line + 1, Lines: 1, Offset: o.offset, Bytes: o.bytes, What: err.Error()}
}

var errTooLong = fmt.Errorf("a line of more than %d MiB", longestLine>>20)

// line is the next line without its line feed, and its size with it.
func (s *scanner) line() (line []byte, size int64, err error) {
	s.long = s.long[:0]
	for {
		part, err := s.in.ReadSlice('\n')
		size += int64(len(part))
		if err == nil && len(s.long) == 0 {
			return part[:len(part)-1], size, nil
		}
		if size <= longestLine {
			s.long = append(s.long, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil:
			return nil, size, err
		case size > longestLine:
			return nil, size, errTooLong
		}
		return s.long[:len(s.long)-1], size, nil
	}
}
