package spec

import (
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// What one load may do, so that check of any file ends within seconds and in little memory.
const (
	// maxCombinations of all sweeps of a suite are spread out. Who wants to try more lets tune replay them.
	maxCombinations = 10_000
	// maxValues are made of all loop files together, each counted for every configuration that uses it.
	maxValues = 500_000
	// maxEffort is the length of all different expressions. Compiling a kilobyte takes up to 15 ms.
	maxEffort = 32 << 10
)

// effort is what a load has done so far.
type effort struct {
	combinations, values int64
	expressions          int
	compiled             map[compiledText]bool
	toldExpressions      bool
}

type compiledText struct {
	env  *expr.Env
	text string
}

// affordsConfigurations reports whether so many more configurations of a loop can be made, and tells the first that
// cannot.
func (l *loader) affordsConfigurations(at *source.Node, n int64, file *loopFile) bool {
	const hint = "sweep fewer values; tune tries thousands without running them"
	told := l.effort.combinations > maxCombinations || l.effort.values > maxValues
	l.effort.combinations += n
	l.effort.values += n * sizeOf(file.tree)
	switch {
	case told:
	case l.effort.combinations > maxCombinations && n == 1:
		l.fault(at, hint, "a suite may have %s configurations", Thousands(maxCombinations))
	case l.effort.combinations > maxCombinations:
		count := Thousands(n)
		if n == manyCombinations {
			count = "more than " + count
		}
		l.fault(at, hint, "this sweep has %s combinations; a suite may have %s", count, Thousands(maxCombinations))
	case l.effort.values > maxValues:
		l.fault(at, hint, "the loops of all configurations have more than %s values together", Thousands(maxValues))
	default:
		return true
	}
	return false
}

// sizeOf counts the values of a tree.
func sizeOf(n *source.Node) int64 {
	if n == nil {
		return 0
	}
	size := int64(1)
	for _, item := range n.Items {
		size += sizeOf(item)
	}
	for _, entry := range n.Entries {
		size += sizeOf(entry.Value)
	}
	return size
}

// affords reports whether one more expression can be compiled, and tells the first that cannot. One that was met before
// costs nothing.
func (c compiler) affords(n *source.Node, text string, cost int) bool {
	known := compiledText{c.env, text}
	if !c.effort.compiled[known] {
		if c.effort.compiled == nil {
			c.effort.compiled = map[compiledText]bool{}
		}
		c.effort.compiled[known] = true
		c.effort.expressions += cost
	}
	if c.effort.expressions <= maxEffort {
		return true
	}
	if !c.effort.toldExpressions {
		c.effort.toldExpressions = true
		c.fault(n, "let expressions read parameters, or split the suite", "too many expressions: a suite may have %d KiB of different ones", maxEffort>>10)
	}
	return false
}

// effortOf is what compiling an expression costs: its length, and more where literals are nested, whose types take
// long to find.
func effortOf(text string) int {
	const perExpression, shallow, longest = 16, 4, 4096 // what is longer is refused at once
	depth, deepest := 0, 0
	for _, char := range text {
		switch char {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth--
		}
	}
	return (perExpression + min(len(text), longest)) * max(shallow, deepest) / shallow
}

// effortOfPrompt is the effort of the expressions in a text.
func effortOfPrompt(text string) (sum int) {
	pieces := strings.Split(strings.ReplaceAll(text, "{{{{", ""), "{{")
	for _, piece := range pieces[1:] {
		inside, _, _ := strings.Cut(piece, "}}")
		sum += effortOf(inside)
	}
	return sum
}
