package source

import (
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
)

func TestPrintShowsTheLineTheCaretAndTheHint(t *testing.T) {
	long := "k: [" + strings.Repeat("abc, ", 40) + "bad, " + strings.Repeat("xyz, ", 40) + "]"
	for _, c := range []struct{ name, text, word, place, line, caret string }{
		{"plain", "a:\n  max_iteration: 3", "max_iteration", "2:3",
			"  max_iteration: 3",
			"  ^^^^^^^^^^^^^"},
		{"wide runes before and in the place", "a: 文字 b字", "b字", "1:7",
			"a: 文字 b字",
			"        ^^^"},
		{"combining marks and emoji", "a: e\u0301👩‍👩‍👧 b", "b", "1:12",
			"a: e\u0301👩‍👩‍👧 b",
			"       ^"},
		{"tabs", "a:\t\"\tb\"", "b", "1:6",
			"a:    \"    b\"",
			"           ^"},
		{"what has no picture", "a: \x1b[31m\u202e b", "b", "1:11",
			`a: ␛[31m\u202e b`,
			"               ^"},
		{"a long line", long, "bad", "1:205",
			"…bc, abc, abc, abc, abc, abc, abc, abc, abc, abc, abc, abc, bad, xyz, xyz, xyz, xyz, xyz, xyz, xyz,…",
			"                                                            ^^^"},
		{"the end of the line", "a: b", "", "1:5",
			"a: b",
			"    ^"},
	} {
		file := NewFile("f.yaml", []byte(c.text))
		f := Fault{File: file, Pos: file.posOf(strings.LastIndex(file.text, c.word)), Len: runes(c.word), What: "wrong", Hint: "do better"}
		var b strings.Builder
		Faults{f}.Print(&b, nil)
		expect.Equal(t, c.name, b.String(), "f.yaml:"+c.place+": wrong\n  "+c.place[:1]+" | "+c.line+"\n    | "+c.caret+"\n  hint: do better\n")
	}
}

func TestPrintKeepsLongMarksAndLongLinesShort(t *testing.T) {
	for _, letter := range []string{"x", "字", "\x01"} {
		file := NewFile("f", []byte(strings.Repeat(letter, 100_000)))
		var b strings.Builder
		for _, column := range []int{1, 50_000, 100_000} {
			Faults{{File: file, Pos: Pos{1, column}, Len: 20_000, What: "wrong"}}.Print(&b, nil)
		}
		for line := range strings.Lines(b.String()) {
			if runes(line) > lineCells+len("  1 | \n") {
				t.Errorf("%d runes: %.50s...", runes(line), line)
			}
		}
	}
}

func TestFaultWithoutAPlaceOrAFile(t *testing.T) {
	var b strings.Builder
	fs := Faults{{What: "nothing to do"}, {File: NewFile("f", nil), What: "cannot be read", Warning: true, Hint: "try again"}}
	fs.Print(&b, nil)
	if want := "nothing to do\nf: warning: cannot be read\n  hint: try again\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestMessagesCannotSteerTheTerminal(t *testing.T) {
	_, faults := read("name: a\n\"\\e[2J\": 1\n")
	var b strings.Builder
	faults.Print(&b, nil)
	if strings.ContainsRune(b.String(), 0x1b) || !strings.Contains(b.String(), `unknown key "\x1b[2J"`) {
		t.Errorf("%q", b.String())
	}
}

func TestErrIgnoresWarnings(t *testing.T) {
	warning, fault := Fault{What: "doubtful", Warning: true}, Fault{What: "wrong"}
	if (Faults{}).Err() != nil || (Faults{warning}).Err() != nil {
		t.Error("warnings are no error")
	}
	if err := (Faults{warning, fault}).Err(); err == nil || err.Error() != "warning: doubtful\nwrong" {
		t.Error(err)
	}
}

func TestSortIsByFileThenPlace(t *testing.T) {
	a, b := NewFile("a", nil), NewFile("b", nil)
	fs := Faults{{File: b, Pos: Pos{1, 1}}, {File: a, Pos: Pos{2, 1}}, {File: a, Pos: Pos{1, 9}}, {File: a, Pos: Pos{1, 2}, What: "first"}, {File: a, Pos: Pos{1, 2}, What: "second"}}
	fs.Sort()
	if want := "a:1:2: first\na:1:2: second\na:1:9: \na:2:1: \nb:1:1: "; fs.Error() != want {
		t.Errorf("got %q", fs.Error())
	}
}

func TestFaultInsideATextPointsIntoTheFile(t *testing.T) {
	root, _ := Parse(NewFile("f", []byte("when: >-\n  score > 0.9 &&\n  iteratoin > 2\n")))
	f := root.Get("when").FaultAt(15, 9, "did you mean?", "unknown name %s", "iteratoin")
	if f.Error() != "f:3:3: unknown name iteratoin" || f.Len != 9 {
		t.Error(f, f.Len)
	}
	if across := root.Get("when").FaultAt(8, 12, "", "too long"); across.Len < 1 || across.Pos != (Pos{2, 11}) {
		t.Errorf("%v %d", across, across.Len)
	}
}

func TestKeyFaultPointsAtTheKey(t *testing.T) {
	root, _ := Parse(NewFile("f", []byte("a: 1\nsome: 2\n")))
	if f := root.KeyFault("some", "", "not now"); f.Pos != (Pos{2, 1}) || f.Len != 4 {
		t.Error(f, f.Len)
	}
	if f := root.KeyFault("other", "", "missing"); f.Pos != (Pos{1, 1}) {
		t.Error(f)
	}
}

// Wherever the place of a fault is and a key on its line, no part of the key is shown.
func TestNoExcerptShowsAPartOfAKey(t *testing.T) {
	const key = "sk-proj-9aZq4Lw7RtYx2Vb8Nc3Md6Kf1Jh5Gs0Pe"
	redact := func(text string) string { return strings.ReplaceAll(text, key, "[redacted]") }
	for _, length := range []int{0, 30, 50, 80, 200, 5000} {
		padding := strings.Repeat("ab, ", length/4)
		line := "{" + padding + "api_key: " + key + ", bad: 1, " + padding + "end: 2}"
		file := NewFile("f.yaml", []byte(line))
		for at := 0; at < len(line); at += 1 + length/100 {
			var b strings.Builder
			Faults{{File: file, Pos: file.posOf(at), Len: 1 + at%70, What: "wrong"}}.Print(&b, redact)
			for i := range len(key) - 8 {
				if part := key[i : i+8]; strings.Contains(b.String(), part) {
					t.Fatalf("padding %d, column %d: shows %q:\n%s", length, at+1, part, b.String())
				}
			}
		}
	}
	for _, text := range []string{key + key, "Bearer " + key + key, "https://user:" + key + key + "@host/path", `{"token":"` + key + key + `"}`} {
		if short := Shorten(text, 40); strings.Contains(short, key[:8]) {
			t.Errorf("%q is shortened to %q", text, short)
		}
	}
	if short := Shorten("a long text, and more", 10); short != "a long tex..." {
		t.Error(short)
	}
}
