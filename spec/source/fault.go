package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing wrong (or, as a warning, doubtful) at one place of a file.
// Len is the number of code points to underline; 0 counts as 1.
type Fault struct {
	File    *File
	Pos     Pos
	Len     int
	What    string
	Hint    string // what to do about it, may be empty
	Warning bool
}

// Error is "file:line:col: what is wrong", without the hint.
func (f Fault) Error() string {
	what := f.What
	if f.Warning {
		what = "warning: " + what
	}
	switch {
	case f.File == nil:
		return what
	case f.Pos.Line == 0:
		return f.File.Name + ": " + what
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.File.Name, f.Pos.Line, f.Pos.Col, what)
}

// Faults are all faults of one or several files.
type Faults []Fault

// Error has one line a fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// maxFaults are kept of one file: who has made one mistake in 10,000 tasks wants to read it once.
const maxFaults = 100

// add keeps f, or says once that there are more errors.
func (fs *Faults) add(f Fault) {
	switch {
	case len(*fs) < maxFaults:
		*fs = append(*fs, f)
	case len(*fs) == maxFaults && !f.Warning:
		f.What, f.Hint = fmt.Sprintf("more than %d faults; the others are not shown", maxFaults), ""
		*fs = append(*fs, f)
	}
}

// Err is nil when there are only warnings, or nothing at all.
func (fs Faults) Err() error {
	if slices.ContainsFunc(fs, func(f Fault) bool { return !f.Warning }) {
		return fs
	}
	return nil
}

// Sort orders by file name, line, column; what stands at one place keeps its order.
func (fs Faults) Sort() {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.fileName(), b.fileName()),
			cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
}

func (f Fault) fileName() string {
	if f.File == nil {
		return ""
	}
	return f.File.Name
}

// Fault is a fault at n: at the text of a scalar, at the first key or the bracket of anything else.
func (n *Node) Fault(hint, format string, args ...any) Fault {
	return Fault{File: n.File, Pos: n.Pos, Len: n.width(), Hint: hint, What: fmt.Sprintf(format, args...)}
}

// FaultAt is a fault at the length runes of n's text that start at rune offset, wherever they stand in the file.
func (n *Node) FaultAt(offset, length int, hint, format string, args ...any) Fault {
	fault := n.Fault(hint, format, args...)
	fault.Pos, fault.Len = n.PosAt(offset), 1
	if end := n.PosAt(offset + length); end.Line == fault.Pos.Line {
		fault.Len = end.Col - fault.Pos.Col
	}
	return fault
}

// KeyFault is a fault at a key of the mapping n; without such a key it is one at n.
func (n *Node) KeyFault(key, hint, format string, args ...any) Fault {
	fault := n.Fault(hint, format, args...)
	if i := n.index(key); i >= 0 {
		entry := n.Entries[i]
		fault.File, fault.Pos, fault.Len = entry.file(), entry.KeyPos, runes(key)
	}
	return fault
}
