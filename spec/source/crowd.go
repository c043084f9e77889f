package source

import (
	"regexp"
	"strings"
)

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
