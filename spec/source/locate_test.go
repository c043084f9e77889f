package source

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

func TestPosAtPointsAtTheWord(t *testing.T) {
	for _, c := range []struct {
		name, text, word string
		want             Pos
	}{
		{"plain", "a: x > bad", "bad", Pos{1, 8}},
		{"plain, wide runes", "文: 文字 bad", "bad", Pos{1, 7}},
		{"plain, several lines", "a: x\n   y\n\n  bad z", "bad", Pos{4, 3}},
		{"after an anchor", "a: &q x bad", "bad", Pos{1, 9}},
		{"after a tag", "a: !!str x bad", "bad", Pos{1, 12}},
		{"after an anchor and a comment", "a: &q # c\n  # d\n  x bad", "bad", Pos{3, 5}},
		{"single quotes", "a: 'it''s bad'", "bad", Pos{1, 11}},
		{"double quotes", `a: "\u00e9\x41\t\"bad\""`, "bad", Pos{1, 19}},
		{"double quotes, newline escapes after a break", "a: \"x\n\n  \\n\\nbad\"", "bad", Pos{3, 7}},
		{"double quotes, joined lines", "a: \"x\\\n   bad\"", "bad", Pos{2, 4}},
		{"double quotes, joined lines and blank ones", "a: \"x\\\n\n   y bad\"", "bad", Pos{3, 6}},
		{"double quotes, joined lines in a row", "a: \"\\\n  \\\n  x bad\"", "bad", Pos{3, 5}},
		{"double quotes, long escapes", `a: "\U0001F600 bad"`, "bad", Pos{1, 16}},
		{"a tag without a name", "a: ! x bad", "bad", Pos{1, 8}},
		{"double quotes that begin with a break", "a: \"\n  bad\"", "bad", Pos{2, 3}},
		{"literal", "a: |\n  x\n\n   bad", "bad", Pos{4, 4}},
		{"literal with indicator", "a: |2-\n    x\n  bad", "bad", Pos{3, 3}},
		{"literal that starts with blank lines", "a: |\n\n\n  bad", "bad", Pos{4, 3}},
		{"folded", "a: >-\n  x\n  y\n\n  bad", "bad", Pos{5, 3}},
		{"folded with indented lines", "a: >\n  x\n    y\n   \n  bad", "bad", Pos{5, 3}},
		{"carriage returns", "a: |\r\n  x\r\n  bad\r\n", "bad", Pos{3, 3}},
		{"byte order mark", "\ufeffa: bad", "bad", Pos{1, 4}},
		{"flow mapping", "a: {b: c, d: x bad}", "bad", Pos{1, 16}},
	} {
		root, faults := Parse(NewFile("f", []byte(c.text)))
		if faults != nil {
			t.Fatal(c.name, faults)
		}
		n := root.Entries[0].Value
		for n.Kind == Map {
			n = n.Entries[n.Len()-1].Value
		}
		before, _, found := strings.Cut(n.Text, c.word)
		if got := n.PosAt(runes(before)); got != c.want || !found {
			t.Errorf("%s: %q in %q is at %v, want %v", c.name, c.word, n.Text, got, c.want)
		}
	}
}

func TestPosAtOfTheEndIsAfterTheText(t *testing.T) {
	for text, want := range map[string]Pos{"a: bc": {1, 6}, "a: 'bc'": {1, 7}, "a: |-\n  bc": {2, 5}, "a: ''": {1, 5}, "a:": {1, 3}} {
		root, _ := Parse(NewFile("f", []byte(text)))
		n := root.Entries[0].Value
		if got := n.PosAt(runes(n.Text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestPosAtWithoutATextIsThePlaceOfTheNode(t *testing.T) {
	root, _ := Parse(NewFile("f", []byte("a: [b]\nc: 1")))
	for _, n := range []*Node{root, root.Get("a"), New(root.Get("c"), "made"), New(nil, "made")} {
		if n.PosAt(3) != n.Pos {
			t.Errorf("%v: %v", n, n.PosAt(3))
		}
	}
}

// checkPlaces wants every visible rune of every text to stand where PosAt says (or its escape to start there), and
// places that never go back.
func checkPlaces(t interface{ Fatalf(string, ...any) }, text string) {
	root, _ := Parse(NewFile("f", []byte(text)))
	each(root, func(n *Node) {
		last := Pos{1, 1}
		for i, r := range []rune(n.Text) {
			p := n.PosAt(i)
			if p.Line < last.Line || p.Line == last.Line && p.Col < last.Col {
				t.Fatalf("%q: rune %d of %q goes back from %v to %v", text, i, n.Text, last, p)
			}
			last = p
			if strings.ContainsRune(" \t\n\u0085\u2028\u2029", r) {
				continue
			}
			c := n.File.at(p)
			if got := c.peek(); got != r && (got != '\\' || n.form != double) {
				t.Fatalf("%q: rune %d of %q is %q, but at %v stands %q", text, i, n.Text, r, p, got)
			}
		}
	})
}

// each visits n and everything below it.
func each(n *Node, visit func(*Node)) {
	if n == nil {
		return
	}
	visit(n)
	for _, item := range n.Items {
		each(item, visit)
	}
	for _, entry := range n.Entries {
		each(entry.Value, visit)
	}
}

func TestPosAtHoldsForAnyText(t *testing.T) {
	letters := rapid.RuneFrom([]rune("ab é文'\"\\ \t\n\n\n:#&|>-x(){}[],*!%@`=0."))
	styles := []yaml.Style{0, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle, yaml.LiteralStyle, yaml.FoldedStyle}
	propertytest.Check(t, func(t *rapid.T) {
		value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str"}
		value.Value = rapid.StringOfN(letters, 0, 60, -1).Draw(t, "text")
		value.Style = rapid.SampledFrom(styles).Draw(t, "style")
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: "key"}
		end := &yaml.Node{Kind: yaml.ScalarNode, Value: "end"}
		text, err := yaml.Marshal(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key, value, end, end}})
		if err != nil {
			t.Skip(err)
		}
		checkPlaces(t, string(text))
	})
}

// Other than what yaml.v3 writes, people break lines anywhere.
func TestPosAtHoldsForHandWrittenText(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "é", "文", " ", "  ", "\n  ", "\n\n  ", "\n \n    ", "\\\n  ", "\\n", "\\\\", "\\x41", "\\u6587", "''", "|", ">"})
	propertytest.Check(t, func(t *rapid.T) {
		body := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
		frame := rapid.SampledFrom([]string{"k: \"%\"\n", "k: '%'\n", "k: x%\n", "k: |\n  x%\n", "k: >\n  %\n", "k: >+\n  x%\nz: 1\n", "k: {l: \"%\", m: '%'}\n", "- x%\n- y%\n"}).Draw(t, "frame")
		checkPlaces(t, strings.ReplaceAll(frame, "%", body))
	})
}
