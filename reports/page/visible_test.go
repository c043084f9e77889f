package page

import (
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

func TestVisibleTexts(t *testing.T) {
	for got, want := range map[string]string{
		superscript(10):                 "¹⁰",
		Visible("a\x1b[1mb"):            `a\x1b[1mb`,
		Visible("\u202e\u200b\xff\n\t"): `\u202e\u200b\xff\n\t`,
		Visible("日本 é 🚀"):               "日本 é 🚀",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestVisibleShowsEverything(t *testing.T) {
	propertytest.Check(t, func(rt *rapid.T) {
		text := Visible(string(rapid.SliceOf(rapid.Byte()).Draw(rt, "bytes")))
		if slices.ContainsFunc([]rune(text), invisible) {
			rt.Fatalf("%q holds something invisible", text)
		}
	})
}

func FuzzVisible(f *testing.F) {
	f.Add("\x1b[31m\u202e\xff日本")
	f.Fuzz(func(t *testing.T, text string) {
		if slices.ContainsFunc([]rune(Visible(text)), invisible) {
			t.Errorf("%q becomes %q", text, Visible(text))
		}
		if again := Visible(Visible(text)); again != Visible(text) {
			t.Errorf("twice is not once: %q", again)
		}
	})
}
