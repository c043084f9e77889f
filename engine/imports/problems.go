package imports

import (
	"fmt"
	"slices"
)

// Problem is something that could not be read.
type Problem struct {
	File string
	Line int // 0: of the file as a whole
	What string
}

// Error names the place.
func (p *Problem) Error() string {
	switch {
	case p.File == "":
		return fmt.Sprintf("line %d: %s", p.Line, p.What)
	case p.Line == 0:
		return p.File + ": " + p.What
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.What)
}

// Problems are what could not be read: of each kind the first, and how many.
type Problems struct {
	Count int
	kinds []problemKind
}

type problemKind struct {
	first *Problem
	count int
}

// Add counts a problem.
func (p *Problems) Add(problem *Problem) {
	const mostKinds = 1000
	p.Count++
	at := slices.IndexFunc(p.kinds, func(k problemKind) bool { return k.first.File == problem.File && k.first.What == problem.What })
	switch {
	case at >= 0:
		p.kinds[at].count++
	case len(p.kinds) < mostKinds:
		p.kinds = append(p.kinds, problemKind{problem, 1})
	}
}

// Lines tell of the first kinds, in a line each, and how many others there are.
func (p *Problems) Lines() (lines []string) {
	const shown = 20
	for _, kind := range p.kinds[:min(shown, len(p.kinds))] {
		line := "not read: " + kind.first.Error()
		if kind.count > 1 {
			line += fmt.Sprintf(" (and %d more of this kind in the file)", kind.count-1)
		}
		lines = append(lines, line)
	}
	switch more := len(p.kinds) - shown; {
	case more == 1:
		lines = append(lines, "and 1 problem of other kinds")
	case more > 1:
		lines = append(lines, fmt.Sprintf("and %d problems of other kinds", more))
	}
	return lines
}
