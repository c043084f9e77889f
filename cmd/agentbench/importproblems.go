package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/agentbench/agentbench/engine/imports"
)

// problems are what could not be read: of each kind the first, and how many.
type problems struct {
	count int
	kinds []*problemKind
	at    map[string]*problemKind
}

type problemKind struct {
	first *imports.Problem
	count int
}

const (
	mostProblemKinds = 1000
	shownProblems    = 20
)

func newProblems() *problems { return &problems{at: map[string]*problemKind{}} }

func (p *problems) add(problem *imports.Problem) {
	p.count++
	key := problem.File + "\x00" + problem.What
	kind := p.at[key]
	if kind == nil && len(p.kinds) < mostProblemKinds {
		kind = &problemKind{first: problem}
		p.kinds, p.at[key] = append(p.kinds, kind), kind
	}
	if kind != nil {
		kind.count++
	}
}

func (p *problems) print(w io.Writer) {
	var b bytes.Buffer
	for i, kind := range p.kinds {
		if i == shownProblems {
			fmt.Fprintf(&b, "agentbench: warning: and %s of other kinds\n", count(len(p.kinds)-i, "problem", "problems"))
			break
		}
		more := ""
		if kind.count > 1 {
			more = fmt.Sprintf(" (and %d more of this kind in the file)", kind.count-1)
		}
		fmt.Fprintf(&b, "agentbench: warning: not read: %s%s\n", printable(kind.first.Error()), more)
	}
	_, _ = w.Write(b.Bytes())
}
