package source

import (
	"math"
	"reflect"
	"testing"
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
		if got := n.Get(name).Plain(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestWhatAnAliasNamesIsCopied(t *testing.T) {
	n := parsed(t, "a: &a {x: 1}\nb: *a\nc: {<<: *a}\n")
	n.Get("b").Set("x", New(nil, 2))
	n.Get("c").Get("x").Text = "3"
	if got := n.Get("a").Get("x").Text; got != "1" {
		t.Errorf("a.x is %s", got)
	}
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
	if got := inShort(Decode(loop, &s)); got != "2:23: want a whole number from 1 to 100, got 0" {
		t.Error(got)
	}
	loop.Set("colour", New(suite.Get("set"), 1))
	if got := Decode(loop, &s)[0].Error(); got != `f:2:6: unknown key "colour"` {
		t.Error(got)
	}
}

func TestNewAndPlainAreInverse(t *testing.T) {
	value := &Object{Keys: []string{"n", "b", "i", "f", "whole", "s", "l"},
		Values: []any{nil, false, int64(-3), 1.5e-7, 3.0, "1", []any{"x", &Object{Keys: []string{}, Values: []any{}}}}}
	got := New(nil, value).Plain()
	if !reflect.DeepEqual(got, value) {
		t.Errorf("got %#v", got)
	}
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
		if got := Closest(word, words); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
