package sweep

import (
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// MostCandidates is how many configurations are tried at most. Each takes some 700
// bytes and 60 µs before a run is looked at.
const MostCandidates = 200_000

// Base is a recorded configuration that parameters are set in.
type Base struct {
	Name string
	Loop *spec.Loop
}

// TooMany says that a grid has more configurations than are tried.
type TooMany struct {
	Count string // in groups of three digits
	// Widest are the axes in words, the one with the most values first.
	Widest []string
}

// Error has the count.
func (e *TooMany) Error() string {
	return fmt.Sprintf("the sweep has %s configurations; at most %s are tried", e.Count, Thousands(MostCandidates))
}

// Hint says what to narrow.
func (e *TooMany) Hint() string {
	return "narrow it: " + strings.Join(e.Widest, ", ")
}

// Grid is every combination of the values of the axes, in the order declared and
// the last axis changing fastest, in every base, each with the same parameters
// set before. Equal configurations are there once. The error is a source.Faults,
// or a *TooMany; nothing is made then.
func Grid(bases []Base, set []spec.Assignment, axes []Axis) ([]Candidate, error) {
	if what := conflict(set, axes); what != "" {
		return nil, errors.New(what)
	}
	if err := Affords(len(bases), axes); err != nil {
		return nil, err
	}
	var all []Candidate
	kinds := &kinds{}
	for i := range bases {
		made, err := grid(&bases[i], len(bases) > 1, set, axes, kinds)
		if err != nil {
			return nil, err
		}
		all = append(all, made...)
	}
	return distinct(all), nil
}

// Affords refuses more combinations than are tried. An axis whose values are not
// observed yet counts as one.
func Affords(bases int, axes []Axis) error {
	n := big.NewInt(int64(bases))
	for i := range axes {
		n.Mul(n, big.NewInt(int64(max(1, len(axes[i].Values)))))
	}
	if n.Cmp(big.NewInt(MostCandidates)) <= 0 {
		return nil
	}
	sorted := slices.Clone(axes)
	slices.SortStableFunc(sorted, func(a, b Axis) int { return len(b.Values) - len(a.Values) })
	e := &TooMany{Count: grouped(n.String())}
	for i := range sorted {
		e.Widest = append(e.Widest, sorted[i].Words())
	}
	return e
}

func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// gridding is the grid of one base.
type gridding struct {
	base  *Base
	axes  []Axis
	set   []spec.Assignment
	names []string // of the parameters, those set first
	named bool     // candidates are told apart by the name of their base
	kinds *kinds
}

func grid(base *Base, named bool, set []spec.Assignment, axes []Axis, kinds *kinds) ([]Candidate, error) {
	g := &gridding{base: base, axes: axes, set: set, named: named, kinds: kinds}
	if err := g.name(); err != nil {
		return nil, err
	}
	n := 1
	for i := range axes {
		n *= len(axes[i].Values)
	}
	all, faults := make([]Candidate, n), make([]source.Faults, n)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				all[i], faults[i] = g.candidate(i)
			}
		})
	}
	workers.Wait()
	for i := range faults {
		if faults[i] != nil {
			return nil, faults[i]
		}
	}
	return all, nil
}

// name finds what parameters are called, in a loop that has the first values.
func (g *gridding) name() error {
	first := slices.Clone(g.set)
	for i := range g.axes {
		first = append(first, g.axes[i].assignment(g.axes[i].Values[0]))
	}
	loop, faults := g.base.Loop.With(first...)
	if loop == nil {
		return faults
	}
	paths := make([]string, len(first))
	for i := range first {
		paths[i] = first[i].Path
	}
	g.names = loop.ShortNames(paths...)
	return nil
}

// candidate is combination i.
func (g *gridding) candidate(i int) (Candidate, source.Faults) {
	loop, faults := g.loop(i)
	if loop == nil {
		return Candidate{}, faults
	}
	assignments := g.assignments(i)
	made := Candidate{Name: g.nameOf(assignments), Params: spec.ParamsOf(assignments), of: g, at: i, hash: loop.Hash(), when: g.kinds.timing(loop)}
	if g.named {
		made.Base = g.base.Name
	}
	return made, nil
}

// loop is that of combination i.
func (g *gridding) loop(i int) (*spec.Loop, source.Faults) {
	return g.base.Loop.With(g.assignments(i)...)
}

func (g *gridding) assignments(i int) []spec.Assignment {
	assignments := append(slices.Clone(g.set), make([]spec.Assignment, len(g.axes))...)
	for k := len(g.axes) - 1; k >= 0; k-- {
		a := &g.axes[k]
		assignments[len(g.set)+k] = a.assignment(a.Values[i%len(a.Values)])
		i /= len(a.Values)
	}
	return assignments
}

func (g *gridding) nameOf(assignments []spec.Assignment) string {
	parts := make([]string, len(assignments))
	for i := range assignments {
		parts[i] = g.names[i] + "=" + assignments[i].Text()
	}
	name := strings.Join(parts, ",")
	switch {
	case name == "":
		return g.base.Name
	case g.named:
		return g.base.Name + "[" + name + "]"
	}
	return name
}

// distinct keeps the first of the candidates that are equal.
func distinct(all []Candidate) []Candidate {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(c Candidate) bool {
		known := seen[c.Hash()]
		seen[c.Hash()] = true
		return known
	})
}
