package source

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		// characters
		{"\xff\xfea\x00", `1:1: the file is UTF-16; save it as UTF-8`},
		{"a: b\xff\n", `1:5: the byte 0xFF is not UTF-8; save the file as UTF-8`},
		{"é: \xc3\n", `1:4: the byte 0xC3 is not UTF-8; save the file as UTF-8`},
		{"a\x00:\x00", `1:2: the NUL character is not allowed; save the file as UTF-8 text, not as UTF-16 or binary data`},
		{"a: 1\nb: \x1b[1m\n", `2:4: the character U+001B is not allowed; delete it, or write "\u001B" in double quotes`},
		{"a: \u0090\n", `1:4: the character U+0090 is not allowed; delete it, or write "\u0090" in double quotes`},
		{"a: \ufffe\n", `1:4: the character U+FFFE is not allowed; delete it, or write "\uFFFE" in double quotes`},
		{"a: \ufeff\n", `1:4: a byte order mark is allowed only at the start; delete it`},
		{"a:\n\tb: 1\n", `2:1: a tab in the indentation; indent with spaces`},
		{"a:\n  b: 1\n\tc: 2\n", `3:1: a tab in the indentation; indent with spaces`},
		// documents
		{"", `1:1: the file is empty`},
		{"# nothing\n", `1:1: the file is empty`},
		{"%YAML 1.2\n---\na: 1\n", `1:1: directives such as %YAML are not supported; delete this line`},
		{"a: 1\n---\nb: 2\n", `2:1: a second document starts here; keep one document a file; delete the "---" or split the file`},
		{"---\na: |\n  ---\n--- # two\n", `4:1: a second document starts here; keep one document a file; delete the "---" or split the file`},
		{"a: 1\n...\njunk\n", `3:1: text after the end of the document; keep one document a file`},
		// syntax
		{"a: [1, 2\nb: 3\n", `1:8: want "," or "]" in this list; put text that holds one of , : [ ] { } # ? " in quotes`},
		{"l: [\n  {a: 1},\n  {b: 2}\n  {c: 3}\n]\n", `3:8: want "," or "]" in this list; put text that holds one of , : [ ] { } # ? " in quotes`},
		{"x: 1\nc: {e: a ? b : c}\n", `2:8: want "," or "}" in this mapping; put text that holds one of , : [ ] { } # ? " in quotes`},
		{"文字: [x\n文: 1\n", `1:6: want "," or "]" in this list; put text that holds one of , : [ ] { } # ? " in quotes`},
		{"[", `1:1: want a value here; put text that holds one of , : [ ] { } # ? " in quotes`},
		{"a: b: c\n", `1:5: a ": " where no value can start; put text that holds ": " in quotes, or correct the indentation`},
		{"x: 1\ny: 2\na: 1\n  b: 2\n", `4:4: a ": " where no value can start; put text that holds ": " in quotes, or correct the indentation`},
		{"a: - b\n", `1:4: a "- " where no list can start; start the list on a line of its own`},
		{"x: 1\na:\n  - b\n - c\n", `4:2: want a key here; keys of one mapping start in the same column`},
		{"x: y\n- a\n", `2:1: want a key here; keys of one mapping start in the same column`},
		{"a: 1\nkey\nb: 1\n", `2:1: want ":" after this key; keys of one mapping start in the same column; a long text starts with |`},
		{"- a\nb: c\n", `2:2: want "- " here; items of one list start in the same column`},
		{"a: \"open\nb: 3\n", `1:4: this quote is never closed`},
		{"a: {b: \"c\", d: \"e}\nf: 2\n", `1:16: this quote is never closed`},
		{"x: 1\na: 'open\n\n", `2:4: this quote is never closed`},
		{"a: \"x\n---\n", `2:3: a quote is not closed before this line`},
		{"a: \"\\q\"\n", `1:5: unknown escape in double quotes; write \\ for a backslash, or use single quotes`},
		{"a: @b\n", `1:4: text cannot start with @; put it in quotes`},
		{"x: 1\na: %b\n", `2:4: text cannot start with %; put it in quotes`},
		{"a: * b\n", `1:4: want a name after * or &; put text that starts with * or & in quotes`},
		{"a: |x\n b\n", `1:5: want a line break after | or >; start the text on the next line`},
		{"a: |0\n  x\n", `1:5: want an indentation of 1 to 9 after | or >`},
		{"a: !h!x 1\n", `1:7: unknown tag; put text that starts with ! in quotes`},
		// aliases, tags and keys
		{"x: 1\nz: [*foo]\n", `2:5: the alias *foo names no anchor above it; write &foo before the value that it repeats, or put text that starts with * in quotes`},
		{"a: &a [*a]\n", `1:8: the alias *a stands inside the value that it names`},
		{"a: &a\n  <<: *a\n", `2:7: the alias *a stands inside the value that it names`},
		{"a: &a 1\nb:\n  <<: *a\n", `1:7: want a mapping or a list of mappings after <<, got 1; write <<: *name, where &name comes before a mapping`},
		{"a: !foo x\n", `1:9: unknown tag !foo; put text that starts with ! in quotes`},
		{"a: !!binary aGk=\n", `1:13: unknown tag !!binary; delete the tag`},
		{"a: !!int abc\n", `1:10: "abc" is no !!int; delete the tag`},
		{"a: 1\nb: 2\na: 3\n", `3:1: duplicate key "a"; first at line 1`},
		{"{a: 1, \"a\": 2}", `1:8: duplicate key "a"; first at line 1`},
		{"{" + manyKeys(30) + ", k1: 1, k29: 1}", "1:232: duplicate key \"k1\"; first at line 1\n" + `1:239: duplicate key "k29"; first at line 1`},
		{strings.Repeat("long", 40) + ": b: c\n", `1:164: a ": " where no value can start; put text that holds ": " in quotes, or correct the indentation`},
		{"a: !!bool yes\nb: !!float x\nc: !!null x\nd: !!bool true\n", `1:11: "yes" is no !!bool; delete the tag` + "\n2:12: \"x\" is no !!float; delete the tag\n3:11: \"x\" is no !!null; delete the tag"},
		{"1: a\ntrue: b\n~: c\n", "1:1: want a key, got 1; put it in quotes: \"1\"\n2:1: want a key, got true; put it in quotes: \"true\"\n" +
			`3:1: want a key, got ~; put it in quotes: "~"`},
		{"?\n: c\n", `1:2: want a key, got nothing; a key is a word before a colon`},
		{"? [a]\n: d\n2026-01-01: x\n", "1:3: want a key, got a list; a key is a word before a colon\n" +
			`3:1: want a key, got the date 2026-01-01; put it in quotes: "2026-01-01"`},
		{"a: {{ task.input }}\n", `1:5: want a key, got a mapping; put text that starts with {{ in quotes`},
	} {
		_, faults := Parse(NewFile("f", []byte(c.text)))
		if inShort(faults) != c.want {
			t.Errorf("%q\n got %s\nwant %s", c.text, inShort(faults), c.want)
		}
	}
}

// In a long file the search for the column, in a very long one also that for the line, would take too long.
func TestSyntaxErrorsInLongFiles(t *testing.T) {
	for _, c := range []struct {
		size       int
		text, what string
	}{
		{maxColumnSearch, "a: b: c\n", `a ": " where no value can start`},
		{maxColumnSearch, "- c\n", "want a key here"},
		{maxLineSearch, "a: b: c\n", `a ": " where no value can start`},
		{maxLineSearch, "a: [1, 2\nb: 1\n", `want "," or "]" in this list`},
	} {
		item := " - a: abc\n"
		items := c.size/len(item) + 1
		_, faults := Parse(NewFile("f", []byte("k:\n"+strings.Repeat(item, items)+c.text+"end: 1\n")))
		if want := fmt.Sprintf("%d:1: %s", items+2, c.what); !strings.HasPrefix(inShort(faults), want) {
			t.Errorf("%d bytes: got %s, want %s", c.size, inShort(faults), want)
		}
	}
}

// Commas and colons of prose are no values.
func TestLongProseIsWelcome(t *testing.T) {
	prose := strings.Repeat("some: prose, and [more of it, \"yes\", it's - all: fine\n", 400_000)
	indented := "  " + strings.ReplaceAll(prose, "\n", "\n  ")
	for name, text := range map[string]string{
		"literal":       "a: |\n" + indented + "\nb: 1\n",
		"folded":        "- >- # prose\n" + indented + "\n- 1\n",
		"single quotes": "a: '" + strings.ReplaceAll(prose, "'", "''") + "'",
		"double quotes": "{a: \"" + strings.ReplaceAll(prose, `"`, `\"`) + "\"}",
	} {
		if marks(text) <= 2*maxNodes {
			t.Fatalf("only %d marks", marks(text))
		}
		if faults := NewFile("f", []byte(text)).checkCrowd(); faults != nil {
			t.Errorf("%s: %v", name, faults)
		}
	}
}

// Files that are small to write and large to read are refused; P13 allows two seconds for any file.
func TestBombs(t *testing.T) {
	var billion strings.Builder
	billion.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i <= 20; i++ {
		fmt.Fprintf(&billion, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	for _, c := range []struct{ name, text, want string }{
		{"billion laughs", billion.String(), "6:45: more than 500,000 values, aliases expanded; keep large task lists in a .jsonl file of their own"},
		{"10,000 aliases", "a: &a x\nb: [" + strings.Repeat("*a, ", 10_000) + "]", "2:4005: more than 1000 aliases"},
		{"100,000 keys", "{" + manyKeys(100_000) + "}", "1:1: a mapping of 100000 keys, at most 4096 are allowed; keep large task lists in a .jsonl file of their own"},
		{"depth 10,000", strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), "1:65: nested deeper than 64 levels"},
		{"depth 100,000", strings.Repeat("[", 100_000), "1:1: nested deeper than 64 levels"},
		{"deep by aliases", "a: &a " + nested(40) + "\nb: &b " + nested(20, "*a") + "\nc: " + nested(20, "*b"), "2:27: nested deeper than 64 levels"},
		{"500,001 items", "[" + strings.Repeat("1,", 500_001) + "]", "1:1000000: more than 500,000 values, aliases expanded; keep large task lists in a .jsonl file of their own"},
		{"1,000 merges in a row", merges(1000), "62:16: nested deeper than 64 levels"},
		{"8 million items", "[" + strings.Repeat("1,", 8<<20-2) + "]", "1:1: more than 500,000 values, aliases expanded; keep large task lists in a .jsonl file of their own"},
		{"5 million keys", strings.Repeat("a:\n", 5<<20), "1000001:1: more than 500,000 values, aliases expanded; keep large task lists in a .jsonl file of their own"},
		{"17 MiB", strings.Repeat("#", 17<<20), "1:1: the file has 17825792 bytes, at most 16777216 are allowed; keep large task lists in a .jsonl file of their own"},
	} {
		start := time.Now()
		_, faults := Parse(NewFile("f", []byte(c.text)))
		t.Logf("%s: %v", c.name, time.Since(start))
		if inShort(faults) != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.name, inShort(faults), c.want)
		}
	}
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%d: 1", i)
	}
	return strings.Join(keys, ", ")
}

func nested(depth int, inside ...string) string {
	return strings.Repeat("[", depth) + strings.Join(inside, ",") + strings.Repeat("]", depth)
}

// merges has mappings that each take over the one before and add a key.
func merges(n int) string {
	text := "m0: &m0 {k0: 1}\n"
	for i := 1; i < n; i++ {
		text += fmt.Sprintf("m%d: &m%d {<<: *m%d, k%d: 1}\n", i, i, i-1, i)
	}
	return text
}

var seeds = []string{
	"name: a\nphase: {name: b, inner: []}\n", "a: &a [*a]\n", "a: &a {b: c}\nd: {<<: *a}\n", "a: |\n  b\n\n  c\n", "a: >2-\n    b\n   c\n",
	"a: \"\\u00e9\\\n  b\"\n", "? [a]\n: b\n", "%YAML 1.1\n---\n", "\ufeffa: \u2028b\u0085c\r\nd: 'e''f'\n", "a: {b: [c, {d: e}]}\n", "- !!str 1\n- &x y\n- *x\n",
	"a: b: c", "a: [", "a:\n\tb", "---\na\n---\nb\n", "\xff\xfe", "a: 1\n...\nb",
}

// Whatever the text: no panic, a tree within the limits or a fault, and every place inside the file.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file := NewFile("f", text)
		n, faults := Parse(file)
		if n == nil && faults.Err() == nil {
			t.Fatal("neither a tree nor a fault")
		}
		nodes := 0
		each(n, func(n *Node) {
			if nodes++; nodes > maxNodes {
				t.Fatal("too many nodes")
			}
			checkInside(t, file, n.Pos)
			checkInside(t, file, n.PosAt(runes(n.Text)))
		})
		for _, fault := range faults {
			checkInside(t, file, fault.Pos)
		}
		faults.Print(io.Discard, nil)
	})
}

func checkInside(t *testing.T, file *File, p Pos) {
	if p.Line < 1 || p.Line > file.Lines()+1 || p.Col < 1 || p.Col > runes(file.Line(p.Line))+1 {
		t.Fatalf("%v is outside of the file", p)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	for _, c := range badValues {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, faults := read(string(text))
		faults.Print(io.Discard, nil)
		if faults == nil && (s.Name == "" || s.Here == nil) {
			t.Fatalf("no fault, but %+v", s)
		}
	})
}

// Where every rune of a text stands, for every text that the parser takes.
func FuzzPosAt(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1000 {
			checkPlaces(t, text)
		}
	})
}
