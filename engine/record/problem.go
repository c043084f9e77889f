package record

import (
	"errors"
	"fmt"
)

// Problem is a fault in a file of a result folder. Readers report it as an error
// and go on behind it.
type Problem struct {
	File   string // its name in the folder
	Line   int    // the first bad line, from 1
	Lines  int    // how many bad ones follow each other
	Offset int64  // of the first one's first byte
	Bytes  int64  // how many bytes they take
	// Torn says that nothing good follows: what a crash leaves behind.
	Torn bool
	What string
}

// Error names the place and what is wrong there.
func (p *Problem) Error() string {
	more := ""
	if p.Lines > 1 {
		more = fmt.Sprintf(", and %d more bad lines", p.Lines-1)
	}
	return fmt.Sprintf("%s:%d: %s (byte %d, %d bytes%s)", p.File, p.Line, p.What, p.Offset, p.Bytes, more)
}

func isTorn(err error) bool {
	var p *Problem
	return errors.As(err, &p) && p.Torn
}
