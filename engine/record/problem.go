package record

import "fmt"

// Problem is a fault in a file of a result folder. Readers report it and go on
// with the next line.
type Problem struct {
	File   string // its name in the folder
	Line   int    // from 1
	Offset int64  // of the line's first byte
	Bytes  int64  // how many bytes it takes
	// Torn says that nothing good follows: what a crash leaves behind.
	Torn bool
	What string
}

// Error names the place and what is wrong there.
func (p *Problem) Error() string {
	return fmt.Sprintf("%s:%d: %s (byte %d, %d bytes)", p.File, p.Line, p.What, p.Offset, p.Bytes)
}
