package source

import (
	"io"
	"testing"
)

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
		faults.Print(io.Discard)
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
		faults.Print(io.Discard)
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
