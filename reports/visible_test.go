package reports

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestVisibleTexts(t *testing.T) {
	for got, want := range map[string]string{
		superscript(10):                 "¹⁰",
		visible("a\x1b[1mb"):            `a\x1b[1mb`,
		visible("\u202e\u200b\xff\n\t"): `\u202e\u200b\xff\n\t`,
		visible("日本 é 🚀"):               "日本 é 🚀",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestVisibleShowsEverything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := visible(string(rapid.SliceOf(rapid.Byte()).Draw(rt, "bytes")))
		if slices.ContainsFunc([]rune(text), invisible) {
			rt.Fatalf("%q holds something invisible", text)
		}
	})
}

func FuzzVisible(f *testing.F) {
	f.Add("\x1b[31m\u202e\xff日本")
	f.Fuzz(func(t *testing.T, text string) {
		if slices.ContainsFunc([]rune(visible(text)), invisible) {
			t.Errorf("%q becomes %q", text, visible(text))
		}
		if again := visible(visible(text)); again != visible(text) {
			t.Errorf("twice is not once: %q", again)
		}
	})
}
