package source

import (
	"errors"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// complaint says in our words what yaml.v3 says in its own.
type complaint struct {
	theirs     string // how the message starts
	what, hint string
}

const quoteFlow = `put text that holds one of , : [ ] { } # ? " in quotes`

var complaints = []complaint{
	{"did not find expected ',' or ']'", `want "," or "]" in this list`, quoteFlow},
	{"did not find expected ',' or '}'", `want "," or "}" in this mapping`, quoteFlow},
	{"did not find expected key", "want a key here", "keys of one mapping start in the same column"},
	{"did not find expected '-' indicator", `want "- " here`, "items of one list start in the same column"},
	{"did not find expected node content", "want a value here", quoteFlow},
	{"did not find expected <document start>", "text after the end of the document", "keep one document a file"},
	{"did not find expected alphabetic", "want a name after * or &", "put text that starts with * or & in quotes"},
	{"did not find URI escape", "want a name after !", "put text that starts with ! in quotes"},
	{"did not find expected whitespace or line break", "want a space here", "put text that starts with ! in quotes"},
	{"did not find the expected '>'", "want a name after !", "put text that starts with ! in quotes"},
	{"found undefined tag handle", "unknown tag", "put text that starts with ! in quotes"},
	{"mapping values are not allowed", `a ": " where no value can start`, `put text that holds ": " in quotes, or correct the indentation`},
	{"block sequence entries are not allowed", `a "- " where no list can start`, "start the list on a line of its own"},
	{"could not find expected ':'", `want ":" after this key`, "keys of one mapping start in the same column; a long text starts with |"},
	{"found a tab character", "a tab in the indentation", "indent with spaces"},
	{"found unexpected end of stream", "this quote is never closed", ""},
	{"found unexpected document indicator", `a quote is not closed before this line`, ""},
	{"found unknown escape character", "unknown escape in double quotes", `write \\ for a backslash, or use single quotes`},
	{"found an indentation indicator equal to 0", "want an indentation of 1 to 9 after | or >", ""},
	{"did not find expected comment or line break", "want a line break after | or >", "start the text on the next line"},
	{"exceeded max depth", "nested deeper than 64 levels", ""},
}

var yamlMessage = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxFault places and words the one error at which yaml.v3 stops.
func (f *File) syntaxFault(err error) Fault {
	message := yamlMessage.ReplaceAllString(err.Error(), "$2")
	if name, found := strings.CutPrefix(message, "unknown anchor '"); found {
		return f.unknownAnchor(strings.TrimSuffix(name, "' referenced"))
	}
	fault := Fault{File: f, What: "not YAML: " + message, Pos: f.syntaxPos()}
	for _, c := range complaints {
		if strings.HasPrefix(message, c.theirs) {
			fault.What, fault.Hint = c.what, c.hint
		}
	}
	if strings.HasPrefix(message, "found character that cannot start") {
		culprit := f.at(fault.Pos)
		fault.What, fault.Hint = cannotStart(culprit.peek())
	}
	return fault
}

func cannotStart(r rune) (what, hint string) {
	if r == '\t' {
		return "a tab in the indentation", "indent with spaces"
	}
	return "text cannot start with " + string(r), "put it in quotes"
}

// The search for the place of a syntax error parses a prefix of the text again and again: about twenty times to find
// the line, once a column to find the column.
const (
	maxLineSearch   = 256 << 10 // bytes of text
	maxColumnSearch = 32 << 10
	maxColumns      = 120 // tried from the end of the line
)

// syntaxPos is the place at which yaml.v3 gave up. Its message names a line only: that of the surrounding mapping,
// or one too early, or none. But it reads from left to right, so the shortest prefix of the text that fails in the
// same words ends at the culprit.
func (f *File) syntaxPos() Pos {
	wanted := parseError(f.text)
	if len(f.text) > maxLineSearch {
		return f.firstColumn(claimedLine(wanted))
	}
	fails := func(end int) bool { return parseError(f.text[:end]) == wanted }
	line := 1 + sort.Search(f.Lines()-1, func(i int) bool { return fails(f.starts[i+1]) })
	if len(f.text) > maxColumnSearch {
		return f.firstColumn(line)
	}
	text, start := f.Line(line), f.starts[line-1]
	column := shortestFailure(text, func(end int) bool { return fails(start + end) })
	return Pos{line, 1 + runes(text[:column])}
}

// shortestFailure is the start of the rune at which a line begins to fail for good: within a list in brackets shorter
// prefixes fail in the same words, so it is looked for from the end.
func shortestFailure(line string, fails func(end int) bool) int {
	if len(line) > maxColumns {
		return sort.Search(len(line), func(i int) bool { return fails(runeEnd(line, i)) })
	}
	end := len(line)
	for end > 0 && fails(end) {
		_, width := utf8.DecodeLastRuneInString(line[:end])
		end -= width
	}
	return end
}

func (f *File) firstColumn(line int) Pos {
	c := f.at(Pos{min(max(line, 1), f.Lines()), 1})
	c.skipBlanks()
	return c.pos()
}

// claimedLine reads the line out of a message of parseError.
func claimedLine(message string) int {
	line, _ := strconv.Atoi(yamlMessage.ReplaceAllString(message, "$1"))
	if strings.Contains(message, "did not find expected") { // the parser's lines are one less than the scanner's
		return line
	}
	return line - 1
}

// parseError is yaml.v3's message about a text, "" when there is none. The line before the text is there because
// yaml.v3 takes a context in the first line for no context.
func parseError(text string) string {
	decoder := yaml.NewDecoder(strings.NewReader("\n" + text))
	_, err := nextDocument(decoder)
	if err == nil { // what follows "..." is read as another document
		_, err = nextDocument(decoder)
	}
	if err == nil || errors.Is(err, io.EOF) {
		return ""
	}
	return err.Error()
}

// unknownAnchor finds the alias, of which yaml.v3 gives no line.
func (f *File) unknownAnchor(name string) Fault {
	fault := Fault{File: f, Pos: Pos{1, 1}, What: "the alias *" + name + " names no anchor above it",
		Hint: "write &" + name + " before the value that it repeats, or put text that starts with * in quotes"}
	alias := regexp.MustCompile(`(^|[\s\[{,:-])(\*` + regexp.QuoteMeta(name) + `)($|[\s,\]}])`)
	if at := alias.FindStringSubmatchIndex(f.text); at != nil {
		fault.Pos, fault.Len = f.posOf(at[4]), 1+runes(name)
	}
	return fault
}
