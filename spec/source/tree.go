// Package source decides what a YAML file says and where it says it.
//
// It turns text into a tree of its own in which every value knows its place, decodes such a tree strictly into Go
// structs, describes the same structs as a JSON Schema, and reports every fault at once, each with its source line,
// a caret and a hint. It is the only importer of yaml.v3, whose own decoding silently turns 1.5 into 1, 010 into 8,
// drops null items and ignores a second document.
//
// The stages, in order: File, Parse (characters, syntax, limits, tree), Decode or Schema, Faults.
//
// It is no stable API.
package source

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Kind is what a value is, as it is written: 1 is an Int, 1.0 a Float, "1" and off are Strings.
type Kind uint8

const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	List
	Map
)

// Node is a value of the tree. Aliases and merges are expanded: every node has one parent and may be changed.
// Text is the scalar as written (10, 0x10, True) or, for a String, its content.
type Node struct {
	Kind    Kind
	Text    string
	Items   []*Node // of a List
	Entries []Entry // of a Map, in the order of the file
	File    *File   // nil for what Go code made out of nothing
	Pos     Pos

	form   form
	origin origin
	bad    bool // Parse has a fault about it, so Decode says nothing
}

// origin tells what stands in its own place from what stands in several.
type origin uint8

const (
	own      origin = iota
	anchored        // the value of an anchor: aliases may repeat it
	foreign         // of an alias: its text stands elsewhere
	merged          // of a merge: its key stands elsewhere, too
)

// Entry is a key of a mapping with its value.
type Entry struct {
	Key    string
	KeyPos Pos
	Value  *Node
}

func (e Entry) file() *File { return e.Value.File }

// form is how a value is written, which decides where the runes of its text stand.
type form uint8

const (
	made    form = iota // by Go code: it has a place, but no text there
	plain               // abc
	date                // 2026-01-31, which other YAML readers take for a date
	single              // 'abc'
	double              // "abc"
	literal             // |
	folded              // >
	block               // indented list or mapping
	flow                // [ ] or { }
)

// New makes a node out of a plain value (nil, bool, int, int64, float64, string, []any, *Object).
// It stands where at stands, so that faults point at what set it; at may be nil.
func New(at *Node, value any) *Node {
	n := &Node{}
	if at != nil {
		n.File, n.Pos = at.File, at.Pos
	}
	switch v := value.(type) {
	case nil:
	case bool:
		n.Kind, n.Text = Bool, strconv.FormatBool(v)
	case int:
		n.Kind, n.Text = Int, strconv.Itoa(v)
	case int64:
		n.Kind, n.Text = Int, strconv.FormatInt(v, 10)
	case float64:
		n.Kind, n.Text = Float, formatFloat(v)
	case string:
		n.Kind, n.Text = String, v
	case []any:
		n.Kind = List
		for _, item := range v {
			n.Items = append(n.Items, New(at, item))
		}
	case *Object:
		n.Kind = Map
		for i, key := range v.Keys {
			n.Set(key, New(at, v.Values[i]))
		}
	default:
		panic("source.New: not a plain value")
	}
	return n
}

func formatFloat(v float64) string {
	switch {
	case math.IsNaN(v):
		return ".nan"
	case math.IsInf(v, 0):
		return map[bool]string{true: ".inf", false: "-.inf"}[v > 0]
	}
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if plainDigits(text) {
		text += ".0"
	}
	return text
}

// Get returns the value of a key, nil when n is nil, no mapping, or has no such key.
func (n *Node) Get(key string) *Node {
	if i := n.index(key); i >= 0 {
		return n.Entries[i].Value
	}
	return nil
}

func (n *Node) index(key string) int {
	if n == nil {
		return -1
	}
	return slices.IndexFunc(n.Entries, func(e Entry) bool { return e.Key == key })
}

// Len is the number of items or keys.
func (n *Node) Len() int {
	if n == nil {
		return 0
	}
	return len(n.Items) + len(n.Entries)
}

// Set replaces the value of a key or appends the key, which then stands where its value stands.
func (n *Node) Set(key string, value *Node) {
	entry := Entry{Key: key, KeyPos: value.Pos, Value: value}
	if i := n.index(key); i >= 0 {
		n.Entries[i] = entry
		return
	}
	n.Entries = append(n.Entries, entry)
}

// Delete removes a key if it is there.
func (n *Node) Delete(key string) {
	n.Entries = slices.DeleteFunc(n.Entries, func(e Entry) bool { return e.Key == key })
}

// Append adds an item to a list.
func (n *Node) Append(item *Node) { n.Items = append(n.Items, item) }

// Clone copies the whole tree below n; changes to the copy leave n alone.
func (n *Node) Clone() *Node {
	if n == nil {
		return nil
	}
	c := *n
	c.Items, c.Entries = slices.Clone(n.Items), slices.Clone(n.Entries)
	for i, item := range c.Items {
		c.Items[i] = item.Clone()
	}
	for i, entry := range c.Entries {
		c.Entries[i].Value = entry.Value.Clone()
	}
	return &c
}

func runes(s string) int { return utf8.RuneCountInString(s) }

// offset is where a place is in the text, in bytes.
func (w *rewriter) offset(p Pos) int {
	c := w.file.at(p)
	return w.file.starts[min(c.line, len(w.file.starts))-1] + len(w.file.Line(c.line)) - len(c.rest)
}

// end is the offset behind a value. What is foreign has none.
func (w *rewriter) end(n *Node) int {
	switch {
	case n.origin >= foreign:
		w.refuse(n, "an anchor repeats this value in several places")
		return 0
	case n.form == flow:
		return w.endOfFlow(n)
	case n.Kind == Map:
		return w.end(n.Entries[len(n.Entries)-1].Value)
	case n.Kind == List:
		return w.end(n.Items[len(n.Items)-1])
	case n.indented():
		return w.offset(n.PosAt(runes(strings.TrimRight(n.Text, "\n"))))
	case n.form == single || n.form == double:
		return w.offset(n.PosAt(runes(n.Text))) + 1
	}
	return w.offset(n.PosAt(runes(n.Text)))
}

// endOf is the offset behind an entry, whose value may be an alias.
func (w *rewriter) endOf(e Entry) int {
	if e.Value.origin != foreign {
		return w.end(e.Value)
	}
	from := w.offset(e.KeyPos)
	return from + len(aliasEntry.FindString(w.file.text[from:]))
}

// aliasEntry is a key with an alias for a value.
var aliasEntry = regexp.MustCompile(`^[^*]*\*[^\s,\[\]{}]+`)

// indented reports whether n is a text on lines of its own, below | or >.
func (n *Node) indented() bool { return n.form == literal || n.form == folded }

// endOfFlow is the offset behind the bracket that closes a mapping or list.
func (w *rewriter) endOfFlow(n *Node) int {
	inside := w.offset(n.Pos) + 1
	for _, e := range n.Entries {
		if e.Value.origin != merged {
			inside = max(inside, w.endOf(e))
		}
	}
	for _, item := range n.Items {
		if item.origin != foreign {
			inside = max(inside, w.end(item))
		}
	}
	for rest := w.file.text[inside:]; rest != ""; rest = w.file.text[inside:] {
		switch {
		case rest[0] == ']' || rest[0] == '}':
			return inside + 1
		case rest[0] == '#':
			inside += strings.IndexAny(rest+"\n", "\r\n")
		default:
			inside++
		}
	}
	return inside
}

// lineEnd is the offset at the end of the line that a value ends on, before its line break. Blank lines that belong to a
// text count.
func (w *rewriter) lineEnd(at int, n *Node) int {
	line := w.file.posOf(at).Line
	if last := n.last(); last.indented() && strings.HasSuffix(last.Text, "\n\n") {
		for line < w.file.Lines() && w.file.starts[line] < len(w.file.text) && isBlank(w.file.Line(line+1)) {
			line++
		}
	}
	return w.file.starts[line-1] + len(w.file.Line(line))
}

// last is the scalar or the bracketed value that ends n.
func (n *Node) last() *Node {
	switch {
	case n.form == block && n.Kind == Map:
		return n.Entries[len(n.Entries)-1].Value.last()
	case n.form == block && n.Kind == List:
		return n.Items[len(n.Items)-1].last()
	}
	return n
}

// PosAt is the place of the i-th rune (from 0) of a scalar's text, through quotes, escapes, folding and indentation.
// The length of the text gives the place after it; a node that is no text of the file has one place for all.
func (n *Node) PosAt(i int) Pos {
	if n.File == nil || n.form == made || n.form >= block {
		return n.Pos
	}
	l := locator{cursor: n.File.at(n.Pos), goal: min(max(i, 0), runes(n.Text))}
	l.skipProperties()
	switch n.form {
	case literal, folded:
		l.indented(n.Text)
	case single, double:
		l.skip(1)
		l.running(n.form)
	default:
		l.running(n.form)
	}
	return l.pos()
}

// width is the number of columns that n takes on its first line, at least 1.
func (n *Node) width() int {
	switch {
	case n.form == block && len(n.Entries) > 0 && n.Entries[0].KeyPos == n.Pos:
		return runes(n.Entries[0].Key)
	case n.form == made || n.form >= literal:
		return 1
	}
	end := n.PosAt(runes(n.Text))
	if end.Line != n.Pos.Line {
		return 1
	}
	if n.form == single || n.form == double {
		end.Col++
	}
	return max(end.Col-n.Pos.Col, 1)
}

// locator walks over the source of a scalar until goal runes of its text are behind it.
type locator struct {
	cursor
	seen, goal int
}

// running walks over plain and quoted text, where a line break becomes a space, or the blank lines after it newlines.
func (l *locator) running(form form) {
	for !l.atEnd() {
		for form == double && l.rest == `\` {
			l.seen += l.breaks() // an escaped line break leaves nothing but the blank lines after it
		}
		if l.seen >= l.goal {
			return
		}
		if l.blank() {
			l.foldLines()
			continue
		}
		l.skip(l.sourceWidth(form))
		l.seen++
	}
}

// foldLines goes over a line break, but stays when the goal is one of the runes that it leaves.
func (l *locator) foldLines() {
	here := *l
	l.seen += max(l.breaks(), 1)
	if l.seen > l.goal {
		*l = here
		l.seen = l.goal
	}
}

// breaks goes to the first character of the next line that is not blank and counts the blank lines before it.
func (l *locator) breaks() (blankLines int) {
	for l.nextLine(); !l.atEnd() && l.blank(); l.nextLine() {
		blankLines++
	}
	l.skipBlanks()
	return blankLines
}

// sourceWidth is the number of runes in the file that make the next rune of the text.
func (l *locator) sourceWidth(form form) int {
	switch {
	case form == single && l.peek() == '\'':
		return 2
	case form == double && len(l.rest) > 1 && l.peek() == '\\':
		return escapeWidth(l.rest[1])
	}
	return 1
}

func escapeWidth(letter byte) int {
	switch letter {
	case 'x':
		return 4
	case 'u':
		return 6
	case 'U':
		return 10
	}
	return 2
}

// indented walks over the lines below a | or >. What a line break became stands in the text: a folded one is a
// space, or newlines as many as there are breaks.
func (l *locator) indented(text string) {
	l.nextLine()
	left := []rune(text)
	indent := l.indentation(text)
	for l.skip(min(indent, len(l.rest))); l.seen < l.goal && !l.atEnd(); {
		if l.rest != "" {
			l.skip(1)
			l.seen++
			continue
		}
		l.breakIndented(left, indent)
	}
}

// breakIndented goes over the line break here and the empty lines after it.
func (l *locator) breakIndented(text []rune, indent int) {
	here := *l
	for l.seen++; l.seen < len(text) && text[l.seen] == '\n'; l.seen++ {
	}
	for l.nextLine(); l.seen < len(text) && !l.atEnd() && len(l.rest) <= indent && l.blank(); l.nextLine() {
	}
	l.skip(min(indent, len(l.rest)))
	if l.seen > l.goal {
		*l = here
		l.seen = l.goal
	}
}

// indentation is how far the lines of an indented text stand to the right of the text's own.
func (l *locator) indentation(text string) int {
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimLeft(line, " ") != "" {
			return max(leadingSpaces(l.file.Line(l.line+i))-leadingSpaces(line), 0)
		}
	}
	return 0
}

func leadingSpaces(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

// property is an anchor or a tag.
var property = regexp.MustCompile(`^(&[0-9A-Za-z_-]*|![^ \t]*)`)

// skipSpace goes to the next character that is no blank, line break or comment.
func (c *cursor) skipSpace() {
	for c.skipBlanks(); !c.atEnd() && (c.rest == "" || c.rest[0] == '#'); c.skipBlanks() {
		c.nextLine()
	}
}

// skipProperties goes to the value after its anchor and tag.
func (c *cursor) skipProperties() {
	for strings.HasPrefix(c.rest, "&") || strings.HasPrefix(c.rest, "!") {
		c.skip(runes(property.FindString(c.rest)))
		c.skipSpace()
	}
}

// keys finds what stands twice; the few keys of a usual mapping need no map.
type keys struct {
	entries *[]Entry
	byName  map[string]int
}

const fewKeys = 16

func (k *keys) index(name string) int {
	if len(*k.entries) > fewKeys && k.byName == nil {
		k.byName = make(map[string]int, 2*len(*k.entries))
		for i, e := range *k.entries {
			k.byName[e.Key] = i
		}
	}
	if k.byName != nil {
		if i, found := k.byName[name]; found {
			return i
		}
		return -1
	}
	for i, e := range *k.entries {
		if e.Key == name {
			return i
		}
	}
	return -1
}

func (k *keys) add(e Entry) {
	if k.byName != nil {
		k.byName[e.Key] = len(*k.entries)
	}
	*k.entries = append(*k.entries, e)
}

// mapping fills n with the keys of y. Keys that n has itself win over merged ones, earlier merges over later ones.
func (c *converter) mapping(n *Node, y *yaml.Node) {
	n.Entries = make([]Entry, 0, len(y.Content)/2)
	known := keys{entries: &n.Entries}
	var merged []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		if y.Content[i].Tag == "!!merge" {
			merged = append(merged, y.Content[i+1])
			continue
		}
		if !c.entry(&known, y.Content[i], y.Content[i+1]) {
			n.bad = true
		}
	}
	for _, value := range merged {
		c.merge(&known, value)
	}
}

// entry adds a key and its value; it is false for a key that makes the whole mapping meaningless.
func (c *converter) entry(known *keys, key, value *yaml.Node) bool {
	k := c.node(key)
	if k.Kind != String || k.form == date {
		c.faults.add(c.keyFault(k))
		return k.Kind != Map && k.Kind != List
	}
	if i := known.index(k.Text); i >= 0 {
		c.faults.add(k.Fault("", "duplicate key %s; first at line %d", quote(k.Text), (*known.entries)[i].KeyPos.Line))
		return true
	}
	known.add(Entry{Key: k.Text, KeyPos: k.Pos, Value: c.node(value)})
	return true
}

// keyFault refuses a key that is not text.
func (c *converter) keyFault(key *Node) Fault {
	hint := fmt.Sprintf(`put it in quotes: "%s"`, key.Text)
	switch {
	case key.Kind == Map && key.form == flow:
		hint = "put text that starts with {{ in quotes"
	case key.Kind == Map || key.Kind == List || key.Text == "":
		hint = "a key is a word before a colon"
	}
	return key.Fault(hint, "want a key, got %s", key.describe())
}

// merge takes over what "<<" names: a mapping or a list of mappings.
func (c *converter) merge(known *keys, y *yaml.Node) {
	n := c.node(y)
	sources := []*Node{n}
	if n.Kind == List {
		sources = n.Items
	}
	for _, source := range sources {
		if source.Kind != Map {
			c.faults.add(source.Fault("write <<: *name, where &name comes before a mapping", "want a mapping or a list of mappings after <<, got %s", source.describe()))
			continue
		}
		for _, e := range source.Entries {
			if known.index(e.Key) < 0 {
				e.Value.origin = merged
				known.add(e)
			}
		}
	}
}

// Object is a mapping as a plain value: keys in the order of the file.
type Object struct {
	Keys   []string
	Values []any // as many as keys
}

// ObjectOf is an object of keys and values in turn.
func ObjectOf(pairs ...any) *Object {
	o := &Object{}
	for i := 0; i < len(pairs); i += 2 {
		o.Set(pairs[i].(string), pairs[i+1])
	}
	return o
}

// Set adds a key, which the object has not, with its value.
func (o *Object) Set(key string, value any) {
	o.Keys, o.Values = append(o.Keys, key), append(o.Values, value)
}

// Get returns the value of a key.
func (o *Object) Get(key string) (value any, ok bool) {
	if at := slices.Index(o.Keys, key); at >= 0 {
		return o.Values[at], true
	}
	return nil, false
}

// MarshalJSON keeps the order of the keys.
func (o *Object) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, key := range o.Keys {
		name, err := json.Marshal(key)
		value, wrong := json.Marshal(o.Values[i])
		if err = cmp.Or(err, wrong); err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, name...), ':'), value...)
	}
	return append(text, '}'), nil
}

// Plain returns n as nil, bool, int64, float64, string, []any or *Object. What is no plain decimal number
// (010, 0x10, .nan) or does not fit stays the text that it is; Decode into an any field refuses it.
func (n *Node) Plain() any {
	switch n.Kind {
	case Null:
		return nil
	case Bool:
		return strings.EqualFold(n.Text, "true")
	case List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.Plain()
		}
		return list
	case Map:
		o := &Object{Keys: make([]string, len(n.Entries)), Values: make([]any, len(n.Entries))}
		for i, entry := range n.Entries {
			o.Keys[i], o.Values[i] = entry.Key, entry.Value.Plain()
		}
		return o
	}
	return n.number()
}

// number falls back to the text, which is also right for a String. Digits alone are a Float only beyond 64 bits,
// where a float64 would silently lose the last of them.
func (n *Node) number() any {
	if x, ok := n.wholeNumber(); ok {
		return x
	}
	if x, ok := n.decimal(); ok && n.Kind == Float && !plainDigits(n.Text) {
		return x
	}
	return n.Text
}

// wholeNumber reads an Int in plain decimal digits that fits.
func (n *Node) wholeNumber() (int64, bool) {
	if n.Kind != Int || !plainDigits(n.Text) {
		return 0, false
	}
	x, err := strconv.ParseInt(n.Text, 10, 64)
	return x, err == nil
}

// plainDigits refuses 010, which is 8 to some readers and 10 to others, as well as 0x10 and 1_000.
func plainDigits(s string) bool {
	s = strings.TrimLeft(s[:min(1, len(s))], "+-") + s[min(1, len(s)):]
	if s == "" || len(s) > 1 && s[0] == '0' {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}

var decimalFloat = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// decimal reads an Int or Float in decimal notation that is finite.
func (n *Node) decimal() (float64, bool) {
	if x, ok := n.wholeNumber(); ok {
		return float64(x), true
	}
	if n.Kind != Float || !decimalFloat.MatchString(n.Text) {
		return 0, false
	}
	x, err := strconv.ParseFloat(n.Text, 64)
	return x, err == nil && !math.IsInf(x, 0)
}

// Relocate makes a node and all below it part of another file, at the same positions.
func (n *Node) Relocate(file *File) {
	n.File = file
	for _, item := range n.Items {
		item.Relocate(file)
	}
	for _, entry := range n.Entries {
		entry.Value.Relocate(file)
	}
}
