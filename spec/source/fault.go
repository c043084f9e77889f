package source

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
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
	Read    bool // each key was read: it is only that they do not go together
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

// AsWarning is the fault as something that is only doubtful.
func (f Fault) AsWarning() Fault {
	f.Warning = true
	return f
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

// Pos is a place in a file: line and column, both 1-based, the column in code points.
// The zero Pos means the file as a whole.
type Pos struct{ Line, Col int }

// File is a text with a name, kept by lines so that faults can show the line they point at.
type File struct {
	Name string

	text   string // without a byte order mark
	marked bool   // it had one
	starts []int  // byte offset of each line in text
	before int    // how many lines of the file are not kept, before the text
	ascii  bool   // a column is a byte
}

const byteOrderMark = "\ufeff"

// NewFile keeps text under the name that faults print.
func NewFile(name string, text []byte) *File {
	body, marked := strings.CutPrefix(string(text), byteOrderMark)
	f := &File{Name: name, text: body, marked: marked, ascii: true}
	f.starts = append(make([]int, 0, strings.Count(f.text, "\n")+1), 0)
	for i := 0; i < len(f.text); {
		f.ascii = f.ascii && f.text[i] < utf8.RuneSelf
		width := breakWidth(f.text[i:])
		if width > 0 {
			f.starts = append(f.starts, i+width)
		}
		i += max(width, 1)
	}
	return f
}

// NewLine keeps one line of a file, by its number from 1.
func NewLine(name string, number int, text []byte) *File {
	return &File{Name: name, text: string(text), starts: []int{0}, before: number - 1}
}

// breakWidth is the number of bytes of the line break that s starts with, 0 for none.
// NEL, LS and PS end a line too, because yaml.v3 counts them so.
func breakWidth(s string) int {
	switch {
	case s[0] == '\n':
		return 1
	case s[0] == '\r' && len(s) > 1 && s[1] == '\n':
		return 2
	case s[0] == '\r':
		return 1
	case s[0] == 0xC2 && strings.HasPrefix(s, "\u0085"):
		return 2
	case s[0] == 0xE2 && (strings.HasPrefix(s, "\u2028") || strings.HasPrefix(s, "\u2029")):
		return 3
	}
	return 0
}

// Line returns line number n (1-based) without its line break, "" outside the file.
func (f *File) Line(n int) string {
	if n -= f.before; n < 1 || n > len(f.starts) {
		return ""
	}
	end := len(f.text)
	if n < len(f.starts) {
		end = f.starts[n]
	}
	return strings.TrimRight(f.text[f.starts[n-1]:end], "\r\n\u0085\u2028\u2029")
}

// Lines is the number of lines; a text that ends in a line break has an empty last line.
func (f *File) Lines() int { return f.before + len(f.starts) }

// cursor walks over a file rune by rune and line by line.
type cursor struct {
	file      *File
	line, col int    // 1-based
	rest      string // what is left of the line
}

func (f *File) at(p Pos) cursor {
	c := cursor{file: f, line: max(p.Line, 1), col: 1}
	c.rest = f.Line(c.line)
	c.skip(p.Col - 1)
	return c
}

func (c *cursor) pos() Pos { return Pos{c.line, c.col} }

// peek returns the next rune, '\n' at the end of a line.
func (c *cursor) peek() rune {
	if c.rest == "" {
		return '\n'
	}
	r, _ := utf8.DecodeRuneInString(c.rest)
	return r
}

// skip goes n runes on, at most to the end of the line.
func (c *cursor) skip(n int) {
	if c.file.ascii {
		n = min(max(n, 0), len(c.rest))
		c.rest, c.col = c.rest[n:], c.col+n
		return
	}
	for ; n > 0 && c.rest != ""; n-- {
		_, width := utf8.DecodeRuneInString(c.rest)
		c.rest = c.rest[width:]
		c.col++
	}
}

func (c *cursor) nextLine() {
	c.line, c.col = c.line+1, 1
	c.rest = c.file.Line(c.line)
}

func (c *cursor) atEnd() bool { return c.line > c.file.Lines() }

// blank tells that only spaces and tabs are left of the line.
func (c *cursor) blank() bool { return isBlank(c.rest) }

func (c *cursor) skipBlanks() { c.skip(len(c.rest) - len(strings.TrimLeft(c.rest, " \t"))) }

func isBlank(s string) bool { return strings.TrimLeft(s, " \t") == "" }

// runeEnd is the end of the rune that byte i of s belongs to.
func runeEnd(s string, i int) int {
	for i++; i < len(s) && !utf8.RuneStart(s[i]); i++ {
	}
	return i
}

// Text is the whole text of the file, a byte order mark included.
func (f *File) Text() string {
	if f.marked {
		return byteOrderMark + f.text
	}
	return f.text
}

// Closest returns the word that the misspelt one is most likely to mean, "" when none is near: at most a third of
// its letters (but at least one) may be wrong, missing, too many or swapped (optimal string alignment distance). Else it
// is the longest word that the misspelt one continues after an underscore.
func Closest(word string, words []string) string {
	best, bestDistance := "", max(1, runes(word)/3)+1
	for _, candidate := range words {
		if normal(word) == normal(candidate) {
			return candidate
		}
		if tooFar := runes(word)-runes(candidate) >= bestDistance; tooFar {
			continue
		}
		if d := distance([]rune(normal(word)), []rune(normal(candidate))); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	if best != "" {
		return best
	}
	for _, candidate := range words { // exact_match for exact
		if strings.HasPrefix(normal(word), normal(candidate)+"_") && len(candidate) > len(best) {
			best = candidate
		}
	}
	return best
}

// normal makes Max-Iterations and max_iterations the same.
func normal(word string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(word))
}

// distance keeps three rows of the table of distances between prefixes of a and b.
func distance(a, b []rune) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			substitution := above[j-1]
			if a[i-1] != b[j-1] {
				substitution++
			}
			row[j] = min(above[j]+1, row[j-1]+1, substitution)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}

// describe says what stands in the file, as it stands there.
func (n *Node) describe() string {
	switch {
	case n.Kind == List:
		return "a list"
	case n.Kind == Map:
		return "a mapping"
	case n.Kind == Null && n.Text == "":
		return "nothing"
	case n.form == date:
		return "the date " + n.Text
	case n.Kind == String && n.form != plain:
		return quote(n.Text)
	}
	return shorten(n.Text)
}

const longText = 40 // runes of the user's text that a message repeats

func shorten(s string) string { return Shorten(s, longText) }

// betweenWords are the characters between the words of a text. Keys have none of them.
const betweenWords = " \t\r\n\"'=:,;&?@()[]{}<>"

// Shorten keeps the first runes of a text that a message repeats. A word with a digit is
// left out rather than cut: it may be a key, and a part of a key is not known as one.
func Shorten(s string, most int) string {
	if runes(s) <= most {
		return s
	}
	head := string([]rune(s)[:most])
	word := strings.LastIndexAny(head, betweenWords) + 1
	end := len(head)
	if rest := strings.IndexAny(s[end:], betweenWords); rest >= 0 {
		end += rest
	} else {
		end = len(s)
	}
	if strings.ContainsAny(s[word:end], "0123456789") {
		head = head[:word]
	}
	return head + "..."
}

func quote(s string) string { return strconv.Quote(shorten(s)) }

// wanted says what a type takes: "a number from 0 to 1".
func wanted(t reflect.Type, r rules) string {
	if t.Kind() == reflect.Pointer {
		return wanted(t.Elem(), r)
	}
	if m, ok := reflect.Zero(t).Interface().(interface{ inner() reflect.Type }); ok {
		return wanted(m.inner(), r) + " or off"
	}
	if r.off {
		r.off = false
		return wanted(t, r) + " or off"
	}
	switch kind := t.Kind(); {
	case t == durationType && r.interval() != "":
		return "a duration" + r.interval() + ", such as 30s"
	case t == durationType:
		return "a duration such as 30s"
	case reflect.PointerTo(t).Implements(hookType) || reflect.PointerTo(t).Implements(reflect.TypeFor[Switch]()):
		return "a value"
	case kind == reflect.String && r.enum != nil:
		return "one of " + strings.Join(r.enum, ", ")
	case kind == reflect.String && r.minLen == 1:
		return "text that is not empty"
	case kind == reflect.String && r.minLen > 1:
		return fmt.Sprintf("text of at least %d characters", r.minLen)
	case kind == reflect.String:
		return "text"
	case kind == reflect.Bool:
		return "true or false"
	case kind == reflect.Int || kind == reflect.Int64:
		return "a whole number" + r.interval()
	case kind == reflect.Float64:
		return "a number" + r.interval()
	case kind == reflect.Slice:
		return "a list"
	case kind == reflect.Struct || kind == reflect.Map:
		return "a mapping"
	}
	return "a value"
}

// interval says which numbers are allowed, "" when all are.
func (r rules) interval() string {
	switch {
	case r.above != nil && r.max != nil:
		return " above " + r.above.text + ", at most " + r.max.text
	case r.above != nil:
		return " above " + r.above.text
	case r.min != nil && r.max != nil:
		return " from " + r.min.text + " to " + r.max.text
	case r.min != nil:
		return " of at least " + r.min.text
	case r.max != nil:
		return " of at most " + r.max.text
	}
	return ""
}

// hint says how n becomes what t takes, "" when there is no telling.
func hint(n *Node, t reflect.Type) string {
	switch kind := t.Kind(); {
	case t == durationType:
		return durationHint(n)
	case kind == reflect.String:
		return quoteHint(n)
	case kind == reflect.Bool:
		return boolHint(n)
	case kind == reflect.Int, kind == reflect.Int64, kind == reflect.Float64:
		return numberHint(n, kind)
	case kind == reflect.Slice && n.form == block:
		return `start each item with "- "`
	case kind == reflect.Slice && n.Kind != Map:
		return listHint(shorten(n.Text))
	case kind == reflect.Slice:
		return "write a list: [first, second]"
	case n.Kind == String && n.form == plain && strings.Contains(n.Text, ":"):
		return "put a space after the colon"
	}
	return ""
}

// listHint says how a text is written as a list. Whether its words are one item, only its author knows.
func listHint(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
	if len(words) < 2 || strings.ContainsAny(text, "'\"") {
		return "write a list: [" + text + "]"
	}
	return "write a list: [" + strings.Join(words, ", ") + "], or [" + inList(text) + "] if it is one item"
}

// inList is a text as it stands in a flow list.
func inList(text string) string {
	if strings.Contains(text, ",") {
		return strconv.Quote(text)
	}
	return text
}

func quoteHint(n *Node) string {
	switch {
	case n.Kind == Map && n.form == flow && len(n.Entries) == 1 && n.Entries[0].Value.Kind == String:
		return "write the text alone: " + shorten(n.Entries[0].Value.Text)
	case n.Kind == Map && n.form == flow && !slices.ContainsFunc(n.Entries, func(e Entry) bool { return e.Value.Text != "" || e.Value.Len() > 0 }):
		return "put text that starts with { in quotes"
	case n.Kind == Map && n.form == flow:
		return ""
	case n.Kind == List && n.form == flow:
		return "put text that starts with [ in quotes"
	case n.Kind == Map || n.Kind == List:
		return ""
	}
	return fmt.Sprintf(`put it in quotes: "%s"`, n.Text)
}

func boolHint(n *Node) string {
	switch strings.ToLower(n.Text) {
	case "yes", "on", "y", "1":
		return "write true"
	case "no", "off", "n", "0":
		return "write false"
	case "true", "false":
		return "remove the quotes"
	}
	return ""
}

func durationHint(n *Node) string {
	if _, isNumber := n.decimal(); isNumber {
		return "write a unit: " + n.Text + "s"
	}
	return "write numbers with units: 500ms, 30s, 5m, 1h30m"
}

// splitUnit reads the numbers that people write: 95%, $5, 5 USD, 5k, 5,000. The unit is "" where it is no such number.
func splitUnit(text string) (number float64, unit string) {
	m := numberWithUnit.FindStringSubmatch(text)
	if m == nil {
		return 0, ""
	}
	number, err := strconv.ParseFloat(strings.ReplaceAll(m[2], ",", ""), 64)
	if err != nil {
		return 0, ""
	}
	switch unit = strings.ToLower(m[1] + m[3]); {
	case unit == "k":
		number *= 1e3
	case unit == "m":
		number *= 1e6
	case unit == "" && strings.Contains(m[2], ","):
		unit = ","
	}
	return number, unit
}

var numberWithUnit = regexp.MustCompile(`^([$€]?) ?([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+(?:\.[0-9]+)?) ?(%|k|K|m|M|USD|usd)?$`)

func numberHint(n *Node, kind reflect.Kind) string {
	_, isNumber := n.decimal()
	digits, unit := splitUnit(n.Text)
	switch {
	case n.Kind == String && unit == "%" && kind == reflect.Float64:
		return "write " + strconv.FormatFloat(digits/100, 'f', -1, 64)
	case n.Kind == String && unit != "":
		return "write " + strconv.FormatFloat(digits, 'f', -1, 64)
	case n.Kind == String && n.form != plain && (decimalFloat.MatchString(n.Text)):
		return "remove the quotes"
	case n.Kind == Int && !plainDigits(n.Text):
		return "write it in decimal digits, without a leading 0"
	case n.Kind == Int && !isNumber, n.Kind == Float && plainDigits(n.Text):
		return "at most 9223372036854775807 fits; put longer digits in quotes where text is wanted"
	case n.Kind == Float && !isNumber:
		return "write a finite number in decimal digits"
	case n.Kind == Float && kind != reflect.Float64:
		return "write it without a fraction or exponent"
	}
	return ""
}
