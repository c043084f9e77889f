package source

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/propertytest"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

func parsed(t *testing.T, text string) *Node {
	t.Helper()
	n, faults := Parse(NewFile("f", []byte(text)))
	if faults != nil {
		t.Fatal(faults)
	}
	return n
}

func TestKinds(t *testing.T) {
	for text, want := range map[string]Kind{
		"~": Null, "null": Null, "true": Bool, "False": Bool, "yes": String, "off": String, "1": Int, "010": Int, "0x1": Int, "1.0": Float, "1e3": Float,
		".nan": Float, "'1'": String, "!!str 1": String, "!!float 1": Float, "2026-01-31": String, "1:30": String, "[]": List, "{}": Map, "- a": List, "a:": Map, "|\n 1": String,
	} {
		if n := parsed(t, text); n.Kind != want {
			t.Errorf("%q has kind %d, want %d", text, n.Kind, want)
		}
	}
}

func TestEveryValueKnowsItsPlace(t *testing.T) {
	n := parsed(t, "# c\na: 1\n文: [x, {y: z}]\nc: &k\n  d: !!str 5\ne: *k\n")
	for _, c := range []struct {
		name string
		got  Pos
		want Pos
	}{
		{"root", n.Pos, Pos{2, 1}},
		{"a", n.Get("a").Pos, Pos{2, 4}},
		{"key 文", n.Entries[1].KeyPos, Pos{3, 1}},
		{"list", n.Get("文").Pos, Pos{3, 4}},
		{"item", n.Get("文").Items[1].Get("y").Pos, Pos{3, 12}},
		{"anchored", n.Get("c").Pos, Pos{5, 3}},
		{"tagged", n.Get("c").Get("d").Pos, Pos{5, 12}},
		{"aliased", n.Get("e").Get("d").Pos, Pos{5, 12}},
		{"key of the alias", n.Entries[3].KeyPos, Pos{6, 1}},
	} {
		if c.got != c.want {
			t.Errorf("%s stands at %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestMergesTakeOverMissingKeys(t *testing.T) {
	n := parsed(t, "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\none: {<<: *x, b: 3}\nmany: {<<: [*x, *y], c: 4}\nchain: {<<: {<<: *y, d: 5}}\n")
	for name, want := range map[string]*Object{
		"one":   {Keys: []string{"b", "a"}, Values: []any{int64(3), int64(1)}},
		"many":  {Keys: []string{"c", "a", "b"}, Values: []any{int64(4), int64(1), int64(1)}},
		"chain": {Keys: []string{"d", "b", "c"}, Values: []any{int64(5), int64(2), int64(2)}},
	} {
		expect.Equal[any](t, name, n.Get(name).Plain(), want)
	}
}

func TestWhatAnAliasNamesIsCopied(t *testing.T) {
	n := parsed(t, "a: &a {x: 1}\nb: *a\nc: {<<: *a}\n")
	n.Get("b").Set("x", New(nil, 2))
	n.Get("c").Get("x").Text = "3"
	expect.Equal(t, "a.x is", n.Get("a").Get("x").Text, "1")
}

func TestCloneIsIndependent(t *testing.T) {
	n := parsed(t, "a: {x: [1, 2]}\nb: 1\n")
	before := n.Plain()
	c := n.Clone()
	if !reflect.DeepEqual(c, n) {
		t.Error("a clone differs")
	}
	c.Get("a").Get("x").Append(New(nil, 3))
	c.Get("a").Get("x").Items[0].Text = "7"
	c.Get("a").Set("y", New(nil, true))
	c.Delete("b")
	if !reflect.DeepEqual(n.Plain(), before) {
		t.Errorf("the original became %v", n.Plain())
	}
	want := &Object{Keys: []string{"a"}, Values: []any{&Object{Keys: []string{"x", "y"}, Values: []any{[]any{int64(7), int64(2), int64(3)}, true}}}}
	if !reflect.DeepEqual(c.Plain(), want) {
		t.Errorf("the clone became %v", c.Plain())
	}
}

func TestSetReplacesInPlaceAndPointsAtItsOrigin(t *testing.T) {
	suite := parsed(t, "loop: x\nset: {max_iterations: 0}\n")
	loop := parsed(t, "name: a\nmax_iterations: 3\nstrict: true\n")
	loop.Set("max_iterations", suite.Get("set").Get("max_iterations"))
	if loop.Entries[1].Key != "max_iterations" {
		t.Error("the order changed")
	}
	var s sample
	expect.Equal(t, "result", inShort(Decode(loop, &s)), "2:23: want a whole number from 1 to 100, got 0")
	loop.Set("colour", New(suite.Get("set"), 1))
	expect.Equal(t, "result", Decode(loop, &s)[0].Error(), `f:2:6: unknown key "colour"`)
}

func TestNewAndPlainAreInverse(t *testing.T) {
	value := &Object{Keys: []string{"n", "b", "i", "f", "whole", "s", "l"},
		Values: []any{nil, false, int64(-3), 1.5e-7, 3.0, "1", []any{"x", &Object{Keys: []string{}, Values: []any{}}}}}
	got := New(nil, value).Plain()
	expect.Equal[any](t, "result", got, value)
	var taken any
	if faults := Decode(New(nil, []any{1, math.NaN()}), &taken); faults.Err() == nil {
		t.Error("NaN was taken")
	}
}

func TestNothingIsInNothing(t *testing.T) {
	var n *Node
	if n.Get("a").Get("b") != nil || n.Len() != 0 || n.Clone() != nil {
		t.Error("a missing node holds something")
	}
}

func TestClosest(t *testing.T) {
	words := []string{"max_iterations", "threshold", "patience", "when", "any", "all"}
	for word, want := range map[string]string{
		"max_iteration": "max_iterations", "Max-Iterations": "max_iterations", "treshhold": "threshold", "patinece": "patience", "wehn": "when",
		"al": "all", "budget": "", "x": "", "": "",
	} {
		expect.Equal(t, word, Closest(word, words), want)
	}
}

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
		expect.Equal(t, text, n.PosAt(runes(n.Text)), want)
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

// sample has a field of every kind that Decode knows.
type sample struct {
	Here      *Node              `yaml:",here"`
	Name      string             `yaml:"name" need:"required" minlen:"1" doc:"what it is called"`
	Reply     string             `yaml:"reply" enum:"text|json"`
	Max       int                `yaml:"max_iterations" min:"1" max:"100"`
	Seed      int64              `yaml:"seed"`
	Threshold float64            `yaml:"threshold" min:"0" max:"1"`
	Price     float64            `yaml:"price" above:"0"`
	Strict    bool               `yaml:"strict"`
	Timeout   time.Duration      `yaml:"timeout" above:"0s"`
	Wait      time.Duration      `yaml:"wait"`
	Phase     *phase             `yaml:"phase"`
	Tags      []string           `yaml:"tags" minlen:"1"`
	Limits    []int              `yaml:"limits" min:"0"`
	Phases    []phase            `yaml:"phases"`
	Env       map[string]string  `yaml:"env"`
	Vars      any                `yaml:"vars"`
	Raw       *Node              `yaml:"raw"`
	Patience  Maybe[int]         `yaml:"patience" min:"1"`
	After     Maybe[*phase]      `yaml:"after"`
	Command   words              `yaml:"command"`
	Weights   map[string]float64 `yaml:"weights" above:"0" minlen:"1"`
	shared    `yaml:",inline"`
	Ignored   string
}

type shared struct {
	Note string `yaml:"note"`
}

type phase struct {
	Name  string  `yaml:"name" need:"required"`
	Max   int     `yaml:"max_iterations"`
	Inner []phase `yaml:"inner"`
}

// words is a union: text or a list of texts.
type words []string

func (w *words) DecodeNode(n *Node, d *Decoder) {
	if n.Kind == String {
		*w = words{n.Text}
		return
	}
	d.Decode(n, (*[]string)(w))
}

func (*words) JSONSchema(g *Generator) map[string]any {
	return map[string]any{"anyOf": []any{g.Of(""), g.Of([]string{})}}
}

// read parses and decodes a text into a sample.
func read(text string) (sample, Faults) {
	var s sample
	n, faults := Parse(NewFile("f", []byte(text)))
	if n != nil {
		faults = append(faults, Decode(n, &s)...)
	}
	return s, faults
}

// inShort is what a table of bad inputs wants: "line:col: what; hint", one fault a line.
func inShort(faults Faults) string {
	var text string
	for i, f := range faults {
		if i > 0 {
			text += "\n"
		}
		text += f.Error()[len("f:"):]
		if f.Hint != "" {
			text += "; " + f.Hint
		}
	}
	return text
}
