package source

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// What a file may hold. A suite with 10,000 inline tasks of a dozen values each has about 120,000 nodes.
const (
	maxBytes   = 16 << 20
	maxNodes   = 500_000 // after expansion of aliases
	maxAliases = 1_000
	maxDepth   = 64
	maxKeys    = 4_096 // of one mapping
)

// Parse reads the one document of a file. The node is nil when the text is no YAML or exceeds a limit;
// faults such as a key that stands twice leave a tree that can be decoded, so that all faults come together.
func Parse(file *File) (*Node, Faults) {
	if faults := file.checkText(); faults != nil {
		return nil, faults
	}
	if faults := file.checkCrowd(); faults != nil {
		return nil, faults
	}
	root, faults := file.document()
	if faults != nil {
		return nil, faults
	}
	if faults := checkLimits(file, root); faults != nil {
		return nil, faults
	}
	c := converter{file: file}
	n := c.node(root)
	c.faults.Sort()
	return n, c.faults
}

// document returns the root value of the only document.
func (f *File) document() (*yaml.Node, Faults) {
	decoder := yaml.NewDecoder(strings.NewReader(f.text))
	first, err := nextDocument(decoder)
	if errors.Is(err, io.EOF) {
		return nil, Faults{{File: f, Pos: Pos{1, 1}, What: "the file is empty"}}
	}
	if err != nil {
		return nil, Faults{f.syntaxFault(err)}
	}
	_, err = nextDocument(decoder)
	if errors.Is(err, io.EOF) {
		return first.Content[0], nil
	}
	if line := f.secondDocument(); line > 0 {
		return nil, Faults{{File: f, Pos: Pos{line, 1}, What: "a second document starts here",
			Hint: `keep one document a file; delete the "---" or split the file`}}
	}
	return nil, Faults{f.syntaxFault(err)}
}

// nextDocument turns a panic of yaml.v3 into an error: its parser is archived, our users' files are not.
func nextDocument(decoder *yaml.Decoder) (n *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: cannot be parsed: %v", r)
		}
	}()
	n = &yaml.Node{}
	return n, decoder.Decode(n)
}

// secondDocument is the line of the "---" that starts it, 0 when there is none.
func (f *File) secondDocument() int {
	started := false
	for line := 1; line <= f.Lines(); line++ {
		text := f.Line(line)
		switch {
		case started && (text == "---" || strings.HasPrefix(text, "--- ") || strings.HasPrefix(text, "---\t")):
			return line
		case !isBlank(text) && text[0] != '#':
			started = true
		}
	}
	return 0
}

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
	if whole := f.quotedStart(fault.Pos); whole != "" && (fault.Hint == quoteFlow || strings.HasPrefix(message, "did not find expected key")) {
		fault.What, fault.Hint = "text continues behind its closing quote", "put the whole text in single quotes: '"+whole+"'"
	}
	if strings.HasPrefix(message, "found character that cannot start") {
		culprit := f.at(fault.Pos)
		if fault.What, fault.Hint = "text cannot start with "+string(culprit.peek()), "put it in quotes"; culprit.peek() == '\t' {
			fault.What, fault.Hint = "a tab in the indentation", "indent with spaces"
		}
	}
	return fault
}

// quotedStart is the value of a line that begins with a text in double quotes and continues behind it, such as
// "a" in output; "" for all other lines.
func (f *File) quotedStart(at Pos) string {
	found := quotedStart.FindStringSubmatch(f.Line(at.Line))
	if found == nil {
		return ""
	}
	return strings.TrimSpace(found[1])
}

var quotedStart = regexp.MustCompile(`:\s+("[^"]*"\s+[^\s#,}\]'][^,}\]']*)`)

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

// checkText refuses what yaml.v3 would report without a place, or would read as something else.
func (f *File) checkText() Faults {
	start := Fault{File: f, Pos: Pos{1, 1}}
	switch {
	case len(f.text) > maxBytes:
		start.What = fmt.Sprintf("the file has %d bytes, at most %d are allowed", len(f.text), maxBytes)
		start.Hint = largeLists
	case strings.HasPrefix(f.text, "\xff\xfe"), strings.HasPrefix(f.text, "\xfe\xff"):
		start.What, start.Hint = "the file is UTF-16", "save it as UTF-8"
	default:
		return f.checkCharacters()
	}
	return Faults{start}
}

// checkCharacters finds the first character that YAML does not allow anywhere.
func (f *File) checkCharacters() Faults {
	if fault, found := f.directive(); found {
		return Faults{fault}
	}
	for i := 0; i < len(f.text); {
		if b := f.text[i]; b >= ' ' && b < 0x7f || b == '\n' || b == '\t' {
			i++
			continue
		}
		r, width := utf8.DecodeRuneInString(f.text[i:])
		if what, hint := refused(r, width, f.text[i]); what != "" {
			return Faults{{File: f, Pos: f.posOf(i), What: what, Hint: hint}}
		}
		i += width
	}
	return nil
}

func refused(r rune, width int, b byte) (what, hint string) {
	switch {
	case r == utf8.RuneError && width == 1:
		return fmt.Sprintf("the byte 0x%02X is not UTF-8", b), "save the file as UTF-8"
	case r == 0:
		return "the NUL character is not allowed", "save the file as UTF-8 text, not as UTF-16 or binary data"
	case r == 0xFEFF:
		return "a byte order mark is allowed only at the start", "delete it"
	case r == '\r' || r == 0x85 || r > 0x9f && r < 0xfffe || r > 0xffff:
		return "", ""
	}
	return fmt.Sprintf("the character U+%04X is not allowed", r), fmt.Sprintf(`delete it, or write "\u%04X" in double quotes`, r)
}

// directive finds a line such as "%YAML 1.2" before the document.
func (f *File) directive() (Fault, bool) {
	for line := 1; line <= f.Lines(); line++ {
		text := f.Line(line)
		if isBlank(text) || text[0] == '#' {
			continue
		}
		name, _, _ := strings.Cut(text, " ")
		return Fault{File: f, Pos: Pos{line, 1}, Len: runes(name), What: "directives such as " + name + " are not supported",
			Hint: "delete this line"}, text[0] == '%'
	}
	return Fault{}, false
}

// posOf is the place of the byte at offset.
func (f *File) posOf(offset int) Pos {
	line := len(f.starts)
	for line > 1 && f.starts[line-1] > offset {
		line--
	}
	return Pos{line, 1 + runes(f.text[f.starts[line-1]:offset])}
}
