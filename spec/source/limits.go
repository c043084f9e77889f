package source

import (
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

const (
	largeLists    = "keep large task lists in a .jsonl file of their own"
	tooManyValues = "more than 500,000 values, aliases expanded"
)

// surveyor measures a document without expanding it: every anchor is measured once, so bombs cost nothing.
type surveyor struct {
	file    *File
	fault   *Fault // the first limit exceeded
	open    map[*yaml.Node]bool
	sizes   map[*yaml.Node]extent // of aliased values
	aliases int
}

// extent is the size of a value after expansion.
type extent struct{ nodes, depth int }

// checkLimits refuses alias bombs, values that contain themselves, and too much of anything.
func checkLimits(file *File, root *yaml.Node) Faults {
	s := surveyor{file: file, open: map[*yaml.Node]bool{}, sizes: map[*yaml.Node]extent{}}
	if s.measure(root, 1); s.fault != nil {
		return Faults{*s.fault}
	}
	return nil
}

// refuse keeps the first fault; the rest would follow from it.
func (s *surveyor) refuse(y *yaml.Node, hint, format string, args ...any) {
	if s.fault == nil {
		s.fault = &Fault{File: s.file, Pos: Pos{y.Line, y.Column}, What: fmt.Sprintf(format, args...), Hint: hint}
	}
}

// measure gives the extent of y, which stands at the given depth.
func (s *surveyor) measure(y *yaml.Node, depth int) extent {
	if depth > maxDepth {
		s.refuse(y, "", "nested deeper than %d levels", maxDepth)
	}
	if y.Kind == yaml.MappingNode && len(y.Content)/2 > maxKeys {
		s.refuse(y, largeLists, "a mapping of %d keys, at most %d are allowed", len(y.Content)/2, maxKeys)
	}
	if s.fault != nil {
		return extent{}
	}
	if y.Kind == yaml.AliasNode {
		return s.alias(y, depth)
	}
	if y.Anchor != "" {
		s.open[y] = true
		defer delete(s.open, y)
	}
	total := extent{nodes: 1, depth: 1}
	for _, child := range y.Content {
		size := s.measure(child, depth+1)
		total.nodes += size.nodes
		total.depth = max(total.depth, size.depth+1)
		if total.nodes > maxNodes {
			s.refuse(child, largeLists, tooManyValues)
		}
	}
	return total
}

func (s *surveyor) alias(y *yaml.Node, depth int) extent {
	s.aliases++
	switch {
	case s.open[y.Alias]:
		s.refuse(y, "", "the alias *%s stands inside the value that it names", y.Value)
		return extent{}
	case s.aliases > maxAliases:
		s.refuse(y, "", "more than %d aliases", maxAliases)
		return extent{}
	}
	size, known := s.sizes[y.Alias]
	if !known {
		size = s.measure(y.Alias, depth)
		s.sizes[y.Alias] = size
	}
	if depth+size.depth-1 > maxDepth {
		s.refuse(y, "", "nested deeper than %d levels", maxDepth)
	}
	return size
}

// checkCrowd refuses, before yaml.v3 spends 300 bytes and a microsecond on each, many times more values than a file
// may hold. It is rough: it knows quotes, comments and indented texts, where commas and colons mean nothing, but
// it does not judge files that could just be within the limit; checkLimits does.
func (f *File) checkCrowd() Faults {
	if marks(f.text) <= 2*maxNodes {
		return nil
	}
	c := crowd{}
	for line := 1; line <= f.Lines(); line++ {
		if c.line(f.Line(line)); c.values > 2*maxNodes {
			return Faults{{File: f, Pos: Pos{line, 1}, What: tooManyValues, Hint: largeLists}}
		}
	}
	return nil
}

// marks is an upper bound of the values in a text.
func marks(text string) (n int) {
	for _, mark := range []string{"\n", ",", ":", "- ", "[", "{"} {
		n += strings.Count(text, mark)
	}
	return n
}

// crowd counts values line by line.
type crowd struct {
	values  int
	quote   byte // that is open, 0 for none
	flow    int  // open brackets
	text    bool // an indented text may go on
	outside int  // indentation of the line that started it
}

var startsText = regexp.MustCompile(`(^|[ \t])[|>][-+0-9]*[ \t]*(#.*)?$`)

func (c *crowd) line(line string) {
	if c.text && (isBlank(line) || leadingSpaces(line) > c.outside) {
		return
	}
	if c.text = c.quote == 0 && startsText.MatchString(nearEnd(line)); c.text {
		c.outside = leadingSpaces(line)
	}
	c.values++
	start := true // of a value: where quotes and brackets have a meaning
	for i := range len(line) {
		b := line[i]
		switch {
		case c.quote != 0:
			if b == c.quote && (i == 0 || line[i-1] != '\\') {
				c.quote = 0
			}
		case start && (b == '"' || b == '\''), i > 0 && b == '\'' && line[i-1] == '\'':
			c.quote = b
		case start && b == '#':
			return
		case start && (b == '[' || b == '{'):
			c.flow++
		case c.flow > 0 && (b == ']' || b == '}'):
			c.flow--
		case c.flow > 0 && b == ',':
			c.values++
		}
		start = strings.IndexByte(" \t,[{:-", b) >= 0
	}
}
