package source

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Edit gives the text of a file in which values were changed: was is the tree that Parse gave, now is a copy of it in which
// scalars have other values and mappings more keys. A scalar is replaced where it stands, keys are inserted beside the last one of
// their mapping; all else of the text stays. What is written is read again: the fault says what cannot be changed in place.
func Edit(was, now *Node) ([]byte, *Fault) {
	e := editor{file: was.File}
	e.node(was, now)
	if e.fault != nil {
		return nil, e.fault
	}
	text := e.text()
	if again, faults := Parse(NewFile(was.File.Name, text)); faults.Err() != nil || !again.Equal(now) {
		e.refuse(was, "the text would mean something else")
		return nil, e.fault
	}
	return text, nil
}

// Equal reports whether two trees have the same values, however they are written. The order of keys does not count.
func (n *Node) Equal(other *Node) bool {
	if n == other {
		return true
	}
	if n == nil || other == nil || n.Kind != other.Kind || n.Text != other.Text || len(n.Entries) != len(other.Entries) {
		return false
	}
	different := func(e Entry) bool { return !e.Value.Equal(other.Get(e.Key)) }
	return slices.EqualFunc(n.Items, other.Items, (*Node).Equal) && !slices.ContainsFunc(n.Entries, different)
}

// editor gathers the changes of a text.
type editor struct {
	file    *File
	changes []change
	fault   *Fault // the first one
}

// change puts a text in the place of what stands between two offsets.
type change struct {
	from, to int
	text     string
}

func (e *editor) refuse(n *Node, what string) {
	if e.fault == nil {
		e.fault = new(n.Fault("change it by hand", "%s", what))
	}
}

// text is that of the file with all changes.
func (e *editor) text() []byte {
	slices.SortStableFunc(e.changes, func(a, b change) int { return cmp.Compare(a.from, b.from) })
	var text []byte
	if e.file.marked {
		text = append(text, byteOrderMark...)
	}
	done := 0
	for _, c := range e.changes {
		text = append(append(text, e.file.text[done:c.from]...), c.text...)
		done = c.to
	}
	return append(text, e.file.text[done:]...)
}

// node makes was say what now says.
func (e *editor) node(was, now *Node) {
	switch {
	case was.Equal(now):
	case was.shared:
		e.refuse(was, "an anchor repeats this value in several places")
	case was.Kind == Map && now.Kind == Map:
		e.mapping(was, now)
	case was.Kind == List && now.Kind == List && len(was.Items) == len(now.Items):
		for i, item := range was.Items {
			e.node(item, now.Items[i])
		}
	case was.onLine():
		e.scalar(was, now)
	default:
		e.refuse(was, "only a value on one line is changed in place")
	}
}

func (e *editor) mapping(was, now *Node) {
	var added []string
	for _, entry := range now.Entries {
		if old := was.Get(entry.Key); old != nil {
			e.node(old, entry.Value)
			continue
		}
		added = append(added, stringText(entry.Key)+": "+flowText(entry.Value))
	}
	if len(added) > 0 {
		e.insert(was, added)
	}
}

// insert writes keys with their values beside the last key of a mapping: in braces behind its scalar, else before it; on lines of
// their own above the comments of that key.
func (e *editor) insert(was *Node, added []string) {
	at := slices.IndexFunc(was.Entries, func(entry Entry) bool { return entry.Value == lastOwn(was) })
	if at < 0 {
		e.refuse(was, "this mapping has no key of its own")
		return
	}
	key, last := was.Entries[at].KeyPos, was.Entries[at].Value
	switch {
	case was.form == flow && last.onLine():
		e.put(e.end(last), e.end(last), ", "+strings.Join(added, ", "))
		return
	case was.form == flow:
		e.put(e.offset(key), e.offset(key), strings.Join(added, ", ")+", ")
		return
	}
	indent := e.file.Line(key.Line)[:e.offset(key)-e.offset(Pos{key.Line, 1})]
	if !isBlank(indent) {
		e.refuse(was, "the only key of this mapping follows a dash")
		return
	}
	line := key.Line
	for line > 1 && strings.HasPrefix(strings.TrimLeft(e.file.Line(line-1), " "), "#") {
		line--
	}
	newline := "\n"
	if strings.Contains(e.file.text, "\r\n") {
		newline = "\r\n"
	}
	from := e.offset(Pos{line, 1})
	e.put(from, from, indent+strings.Join(added, newline+indent)+newline)
}

// lastOwn is the last value of a mapping whose key stands in it; nil where all are repeated from elsewhere.
func lastOwn(n *Node) *Node {
	for _, entry := range slices.Backward(n.Entries) {
		if !entry.Value.shared {
			return entry.Value
		}
	}
	return nil
}

// onLine reports whether n is a scalar without a block of lines of its own.
func (n *Node) onLine() bool { return n.form == plain || n.form == single || n.form == double }

// scalar writes a value in the place of one that is no block of lines; quotes stay.
func (e *editor) scalar(was, now *Node) {
	text := flowText(now)
	if was.form != plain && now.Kind == String {
		text = quoted(now.Text, was.form)
	}
	e.put(e.offset(was.Pos), e.end(was), text)
}

// end is the offset behind such a scalar.
func (e *editor) end(n *Node) int {
	end := e.offset(n.PosAt(runes(n.Text)))
	if n.form != plain {
		end++
	}
	return end
}

func (e *editor) put(from, to int, text string) {
	e.changes = append(e.changes, change{from, to, text})
}

// offset is where a place is in the text, in bytes.
func (e *editor) offset(p Pos) int {
	c := e.file.at(p)
	return e.file.starts[min(c.line, len(e.file.starts))-1] + len(e.file.Line(c.line)) - len(c.rest)
}

// flowText is a value on one line, good for any place.
func flowText(n *Node) string {
	switch n.Kind {
	case Map:
		return "{" + flowEntries(n.Entries) + "}"
	case List:
		texts := make([]string, len(n.Items))
		for i := range n.Items {
			texts[i] = flowText(n.Items[i])
		}
		return "[" + strings.Join(texts, ", ") + "]"
	case String:
		return stringText(n.Text)
	case Null:
		return "null"
	}
	return n.Text
}

func flowEntries(entries []Entry) string {
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = stringText(e.Key) + ": " + flowText(e.Value)
	}
	return strings.Join(texts, ", ")
}

// plainText is what may stand without quotes anywhere, if it is no number and the like.
var plainText = regexp.MustCompile(`^[\pL_][\pL\pN_./%+-]*( [\pL\pN_./%+-]+)*$|^[0-9.]+(ns|us|ms|s|m|h)([0-9.]+(ns|us|ms|s|m|h))*$`)

// stringText is a text, in quotes where it needs them.
func stringText(s string) string {
	if !plainText.MatchString(s) {
		return quoted(s, double)
	}
	if n, faults := Parse(NewFile("", []byte("- "+s))); faults != nil || n.Items[0].Kind != String || n.Items[0].form != plain {
		return quoted(s, double)
	}
	return s
}

// quoted is a text in quotes: in single ones, if these were asked for and can hold it.
func quoted(s string, quotes form) string {
	if quotes == single && !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return strconv.Quote(s)
}
