package source

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

// put sets the value at a path of keys in a copy of a tree; a key "-" appends to a list.
func put(tree *Node, value *Node, path ...string) *Node {
	c := tree.Clone()
	at := c
	for i, key := range path {
		last := i == len(path)-1
		switch {
		case key == "-":
			at.Append(value)
		case last:
			at.Set(key, value)
		default:
			at = at.Get(key)
		}
	}
	return c
}

func rewrite(t *testing.T, text string, value any, path ...string) (string, *Fault) {
	t.Helper()
	was, faults := Parse(NewFile("f", []byte(text)))
	if faults != nil {
		t.Fatal(faults)
	}
	made, fault := Rewrite(was, put(was, New(nil, value), path...))
	return string(made), fault
}

func TestRewriteChangesOnlyTheValue(t *testing.T) {
	for _, c := range []struct {
		name, text string
		path       string
		value      any
		want       string
	}{
		{"plain", "a: 1 # one\nb: 2\n", "a", 10, "a: 10 # one\nb: 2\n"},
		{"in braces", "a: {b: 0.85, c: x} # d\n", "a.b", 0.9, "a: {b: 0.9, c: x} # d\n"},
		{"single quotes", "a: 'it''s'\n", "a", "x's", "a: 'x''s'\n"},
		{"double quotes", "a: \"x\" # c\n", "a", "60s", "a: \"60s\" # c\n"},
		{"off", "a: 3\n", "a", "off", "a: off\n"},
		{"text that would be a number", "a: x\n", "a", "1.0", "a: \"1.0\"\n"},
		{"a key that is missing", "a:\n    b: 1   # one\n    # two\nc: 2\n", "a.d", 3, "a:\n    b: 1   # one\n    d: 3\n    # two\nc: 2\n"},
		{"a key that is missing in braces", "a: {b: 1}\n", "a.d", 3, "a: {b: 1, d: 3}\n"},
		{"a key that is missing in empty braces", "a: {}\n", "a.d", 3, "a: {d: 3}\n"},
		{"a key that is missing after a comma", "a: {b: 1,}\n", "a.d", 3, "a: {b: 1, d: 3,}\n"},
		{"a key that is missing, braces over lines", "a: {\n  b: 1, # one\n  c: 2  # }\n}\n", "a.d", 3, "a: {\n  b: 1, # one\n  c: 2, d: 3  # }\n}\n"},
		{"a key after braces over lines", "a:\n  b: {\n    c: 1 # }\n  } # end\nd: 1\n", "a.e", 3, "a:\n  b: {\n    c: 1 # }\n  } # end\n  e: 3\nd: 1\n"},
		{"a key after a stripped literal at the end", "a: |2-\n  x", "b", 3, "a: |2-\n  x\nb: 3"},
		{"a key that is missing at the top", "a: 1\nb:\n- 2\n", "c", "x", "a: 1\nb:\n- 2\nc: x\n"},
		{"no final newline", "a: 1", "b", 2, "a: 1\nb: 2"},
		{"carriage returns", "a: 1\r\nb: 2\r\n", "c", 3, "a: 1\r\nb: 2\r\nc: 3\r\n"},
		{"byte order mark", "\ufeffa: 1\n", "a", 2, "\ufeffa: 2\n"},
		{"wide runes", "文: {字: 1, é: 2} # ü\n", "文.é", 3, "文: {字: 1, é: 3} # ü\n"},
		{"after a literal", "a:\n  p: |\n    x\n\n    y\n\nb: 1\n", "a.c", 3, "a:\n  p: |\n    x\n\n    y\n  c: 3\n\nb: 1\n"},
		{"after a literal that keeps its blank lines", "a:\n  p: |+\n    x\n\nb: 1\n", "a.c", 3, "a:\n  p: |+\n    x\n\n  c: 3\nb: 1\n"},
		{"a literal", "a: |\n  x\n  y\nb: 1\n", "a", "z", "a: z\nb: 1\n"},
		{"a tag", "a: !!int 5\n", "a", 6, "a: !!int 6\n"},
		{"a mapping, neighbours in braces", "t:\n  c: {d: 1}\n", "t.n", &Object{Keys: []string{"p"}, Values: []any{2}}, "t:\n  c: {d: 1}\n  n: {p: 2}\n"},
		{"a mapping, neighbours on lines", "t:\n   c:\n      d: 1\n", "t.n", &Object{Keys: []string{"p"}, Values: []any{2}}, "t:\n   c:\n      d: 1\n   n:\n      p: 2\n"},
		{"a mapping becomes a word", "t:\n  c:\n    d: 1\n  e: 2\n", "t.c", "off", "t:\n  c: off\n  e: 2\n"},
		{"a mapping in braces becomes a word", "t: {c: {d: 1}, e: 2} # f\n", "t.c", "off", "t: {c: off, e: 2} # f\n"},
		{"a word becomes a mapping", "t: 60s # f\n", "t", &Object{Keys: []string{"after"}, Values: []any{"60s"}}, "t: {after: 60s} # f\n"},
		{"an item", "t:\n- a: 1\n  b: 2 # c\nd: 1\n", "t.-", &Object{Keys: []string{"k"}, Values: []any{2}}, "t:\n- a: 1\n  b: 2 # c\n- k: 2\nd: 1\n"},
		{"an item, neighbours in braces", "t:\n  - {a: 1}\n", "t.-", &Object{Keys: []string{"k"}, Values: []any{2}}, "t:\n  - {a: 1}\n  - {k: 2}\n"},
		{"an item in brackets", "t: [1, 2]\n", "t.-", 3, "t: [1, 2, 3]\n"},
		{"after an alias", "x: &x 1\nt:\n  a: 1\n  b: *x # c\n", "t.c", 3, "x: &x 1\nt:\n  a: 1\n  b: *x # c\n  c: 3\n"},
		{"after an alias in braces", "x: &x 1\nt: {a: 1, b: *x}\n", "t.c", 3, "x: &x 1\nt: {a: 1, b: *x, c: 3}\n"},
	} {
		got, fault := rewrite(t, c.text, c.value, strings.Split(c.path, ".")...)
		if fault != nil || got != c.want {
			t.Errorf("%s:\n%q, want\n%q\n%v", c.name, got, c.want, fault)
		}
	}
}

func TestRewriteRefusesWhatStandsInSeveralPlaces(t *testing.T) {
	for name, c := range map[string]struct{ text, path, want string }{
		"an anchor":         {"a: &x {b: 1}\nc: *x\n", "a.b", "f:1:7: an anchor repeats this value in several places"},
		"an alias":          {"a: &x {b: 1}\nc: *x\n", "c.b", "f:1:7: an anchor repeats this value in several places"},
		"a merge":           {"a: &x {b: 1}\nc: {<<: *x, d: 1}\n", "c.b", "f:1:11: an anchor repeats this value in several places"},
		"a text at the end": {"a: |\n  x", "b", "f:1:4: a line break behind this text would become part of it"},
		"only a merge":      {"a: &x {b: 1}\nc:\n  <<: *x\n", "c.d", "f:3:3: an anchor repeats this mapping in several places"},
		"comments within":   {"a:\n  b: 1 # why\n  c: 2\n", "a", "f:2:3: there are comments in what would be replaced by 5"},
	} {
		got, fault := rewrite(t, c.text, 5, strings.Split(c.path, ".")...)
		if fault == nil || fault.Error() != c.want || got != "" {
			t.Errorf("%s: %q, %v", name, got, fault)
		}
	}
}

// A tree of any layout, changed anywhere, is written so that it reads as the changed one, and all other lines stay.
func TestRewriteReadsAsTheChangedTree(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		text := drawYAML(t)
		was, faults := Parse(NewFile("f", []byte(text)))
		if faults != nil || was.Kind != Map {
			t.Skip("no mapping")
		}
		now := was.Clone()
		changed := drawChange(t, now)
		got, fault := Rewrite(was, now)
		if fault != nil {
			if strings.Contains(fault.What, "a line break behind this text") {
				return
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
func drawChange(t *rapid.T, tree *Node) (lines int) {
	var scalars, mappings []*Node
	each(tree, func(n *Node) {
		switch n.Kind {
		case Map:
			mappings = append(mappings, n)
		case List:
		default:
			scalars = append(scalars, n)
		}
	})
	value := New(nil, rapid.SampledFrom([]any{7, 0.25, "off", "60s", "a: b", true, "two\nlines"}).Draw(t, "value"))
	if rapid.Bool().Draw(t, "add") || len(scalars) == 0 {
		n := rapid.SampledFrom(mappings).Draw(t, "where")
		n.Set("new", value)
		return 1
	}
	n := rapid.SampledFrom(scalars).Draw(t, "where")
	lines = 3 + 2*strings.Count(n.Text, "\n")
	n.Kind, n.Text = value.Kind, value.Text
	return lines
}
