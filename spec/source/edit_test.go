package source

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

// edited is the text in which the value at a path of keys is another one.
func edited(t *testing.T, text string, value any, path ...string) (string, *Fault) {
	t.Helper()
	was, faults := Parse(NewFile("f", []byte(text)))
	if faults != nil {
		t.Fatal(faults)
	}
	now := was.Clone()
	at := now
	for _, key := range path[:len(path)-1] {
		at = at.Get(key)
	}
	at.Set(path[len(path)-1], New(nil, value))
	made, fault := Edit(was, now)
	return string(made), fault
}

func TestEditChangesOnlyTheValue(t *testing.T) {
	for name, c := range map[string]struct {
		text, path string
		value      any
		want       string
	}{
		"plain":                         {"a: 1 # one\nb: 2\n", "a", 10, "a: 10 # one\nb: 2\n"},
		"in braces":                     {"a: {b: 0.85, c: x} # d\n", "a.b", 0.9, "a: {b: 0.9, c: x} # d\n"},
		"single quotes":                 {"a: 'it''s'\n", "a", "x's", "a: 'x''s'\n"},
		"double quotes":                 {"a: \"x\" # c\n", "a", "60s", "a: \"60s\" # c\n"},
		"off":                           {"a: 3\n", "a", "off", "a: off\n"},
		"text that would be a number":   {"a: x\n", "a", "1.0", "a: \"1.0\"\n"},
		"a key":                         {"a:\n    b: 1   # one\n    # two\n    c: 2\n", "a.d", 3, "a:\n    b: 1   # one\n    d: 3\n    # two\n    c: 2\n"},
		"a key in braces":               {"a: {b: 1, c: 2}\n", "a.d", 3, "a: {b: 1, c: 2, d: 3}\n"},
		"a key in braces over lines":    {"a: {\n  b: 1, # one\n  c: 2,  # }\n}\n", "a.d", 3, "a: {\n  b: 1, # one\n  c: 2, d: 3,  # }\n}\n"},
		"a key beside braces in braces": {"a: {b: 1, c: {x: 2}}\n", "a.d", 3, "a: {b: 1, d: 3, c: {x: 2}}\n"},
		"a key at the top":              {"a: 1\nb:\n- 2\n", "c", "x", "a: 1\nc: x\nb:\n- 2\n"},
		"no final newline":              {"a: 1", "b", 2, "b: 2\na: 1"},
		"carriage returns":              {"a: 1\r\nb: 2\r\n", "c", 3, "a: 1\r\nc: 3\r\nb: 2\r\n"},
		"byte order mark":               {"\ufeffa: 1\n", "a", 2, "\ufeffa: 2\n"},
		"wide runes":                    {"文: {字: 1, é: 2} # ü\n", "文.é", 3, "文: {字: 1, é: 3} # ü\n"},
		"a tag":                         {"a: !!int 5\n", "a", 6, "a: !!int 6\n"},
		"a mapping":                     {"t:\n   c:\n      d: 1\n", "t.n", ObjectOf("p", 2), "t:\n   n: {p: 2}\n   c:\n      d: 1\n"},
		"a word becomes a mapping":      {"t: 60s # f\n", "t", ObjectOf("after", "60s"), "t: {after: 60s} # f\n"},
		"in an item":                    {"t:\n- a: 1\n  b: 2 # c\nd: 1\n", "t", []any{ObjectOf("a", 1, "b", 3)}, "t:\n- a: 1\n  b: 3 # c\nd: 1\n"},
		"beside a value that is shared": {"x: &x 1\nt:\n  a: 1\n  b: *x # c\n", "t.c", 3, "x: &x 1\nt:\n  c: 3\n  a: 1\n  b: *x # c\n"},
	} {
		got, fault := edited(t, c.text, c.value, strings.Split(c.path, ".")...)
		if fault != nil || got != c.want {
			t.Errorf("%s:\n%q, want\n%q\n%v", name, got, c.want, fault)
		}
	}
}

func TestEditSaysWhatItCannotPlace(t *testing.T) {
	for name, c := range map[string]struct{ text, path, want string }{
		"an anchor":       {"a: &x {b: 1}\nc: *x\n", "a.b", "f:1:7: an anchor repeats this value in several places"},
		"an alias":        {"a: &x {b: 1}\nc: *x\n", "c.b", "f:1:7: an anchor repeats this value in several places"},
		"a merge":         {"a: &x {b: 1}\nc: {<<: *x, d: 1}\n", "c.b", "f:1:11: an anchor repeats this value in several places"},
		"only a merge":    {"a: &x {b: 1}\nc:\n  <<: *x\n", "c.d", "f:3:3: this mapping has no key of its own"},
		"a mapping":       {"a:\n  b: 1 # why\n", "a", "f:2:3: only a value on one line is changed in place"},
		"a text of lines": {"a: |\n  x\n", "a", "f:1:4: only a value on one line is changed in place"},
		"empty braces":    {"a: {}\n", "a.b", "f:1:4: this mapping has no key of its own"},
	} {
		got, fault := edited(t, c.text, 5, strings.Split(c.path, ".")...)
		if fault == nil || fault.Error() != c.want || got != "" {
			t.Errorf("%s: %q, %v", name, got, fault)
		}
	}
	was, _ := Parse(NewFile("f", []byte("- a: 1\n")))
	now := was.Clone()
	now.Items[0].Set("b", New(nil, 2))
	if _, fault := Edit(was, now); fault == nil || fault.Error() != "f:1:3: the only key of this mapping follows a dash" {
		t.Errorf("behind a dash: %v", fault)
	}
}

// A tree of any layout of which one value on a line is changed, or that has one more key, is written so that it reads as the
// changed one, and all other lines stay. Only what cannot be placed is refused, never a scalar.
func TestEditReadsAsTheChangedTree(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		text := drawYAML(t)
		was, faults := Parse(NewFile("f", []byte(text)))
		if faults != nil || was.Kind != Map {
			t.Skip("no mapping")
		}
		now := was.Clone()
		changed, added := drawChange(t, now)
		got, fault := Edit(was, now)
		if fault != nil {
			if added && strings.Contains(fault.What, "the text would mean something else") {
				return // a comment that is none stands in the text before it
			}
			t.Fatalf("%v in\n%s", fault, text)
		}
		again, faults := Parse(NewFile("f", got))
		if faults != nil || !again.Equal(now) {
			t.Fatalf("%s\nbecame\n%s", text, got)
		}
		if touched := touchedLines(text, string(got)); touched > changed {
			t.Fatalf("%d lines were touched, want at most %d:\n%s\nbecame\n%s", touched, changed, text, got)
		}
	})
}

// touchedLines are those of a text that are not in another one, by a common head and tail.
func touchedLines(was, now string) int {
	a, b := strings.Split(was, "\n"), strings.Split(now, "\n")
	head, tail := 0, 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return len(a) - head - tail
}

// drawYAML writes a tree in one of the ways in which people write them.
func drawYAML(t *rapid.T) string {
	text, err := yaml.Marshal(drawMap(t, 0))
	if err != nil {
		t.Skip(err)
	}
	s := string(text)
	if rapid.Bool().Draw(t, "comments") {
		s = "# head\n" + strings.Replace(s, "\n", " # line\n", 1)
	}
	if rapid.Bool().Draw(t, "crlf") {
		s = strings.ReplaceAll(s, "\n", "\r\n")
	}
	if rapid.Bool().Draw(t, "no final newline") {
		s = strings.TrimRight(s, "\r\n")
	}
	if rapid.Bool().Draw(t, "bom") {
		s = byteOrderMark + s
	}
	return s
}

func drawMap(t *rapid.T, depth int) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	if depth > 0 && rapid.Bool().Draw(t, "flow") {
		n.Style = yaml.FlowStyle
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "keys") {
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: "k" + string(rune('a'+i)) + rapid.SampledFrom([]string{"", "é", "文"}).Draw(t, "key")}
		n.Content = append(n.Content, key, drawNode(t, depth+1))
	}
	return n
}

func drawNode(t *rapid.T, depth int) *yaml.Node {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	switch {
	case kind == 0 && depth < 4:
		return drawMap(t, depth)
	case kind == 1 && depth < 4:
		n := &yaml.Node{Kind: yaml.SequenceNode, Style: rapid.SampledFrom([]yaml.Style{0, yaml.FlowStyle}).Draw(t, "style")}
		for range rapid.IntRange(1, 3).Draw(t, "items") {
			n.Content = append(n.Content, drawNode(t, depth+1))
		}
		return n
	case kind == 2:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "3"}
	}
	styles := []yaml.Style{0, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle, yaml.LiteralStyle, yaml.FoldedStyle}
	words := []string{"off", "a b", "it's", "x: y", "# no", "line\nline", "line\n\nline\n", "é文", "", "{{ a }}", "keep\n\n"}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: rapid.SampledFrom(words).Draw(t, "text"), Style: rapid.SampledFrom(styles).Draw(t, "style")}
}

// drawChange changes a tree at one place and gives how many lines that may touch: those of the value that goes.
func drawChange(t *rapid.T, tree *Node) (lines int, added bool) {
	var scalars, mappings []*Node
	each(tree, func(n *Node) {
		switch {
		case n.Kind == Map && len(n.Entries) > 0:
			mappings = append(mappings, n)
		case n.form == plain || n.form == single || n.form == double:
			scalars = append(scalars, n)
		}
	})
	value := New(nil, rapid.SampledFrom([]any{7, 0.25, "off", "60s", "a: b", true, "two\nlines"}).Draw(t, "value"))
	if rapid.Bool().Draw(t, "add") || len(scalars) == 0 {
		rapid.SampledFrom(mappings).Draw(t, "where").Set("new", value)
		return 1, true
	}
	n := rapid.SampledFrom(scalars).Draw(t, "where")
	lines = 3 + 2*strings.Count(n.Text, "\n")
	n.Kind, n.Text = value.Kind, value.Text
	return lines, false
}
