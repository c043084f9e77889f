package page

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
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

// obeyed are texts that a runner of CI takes for commands: GitHub trims white space
// and then wants two colons; the others look for their mark in the whole line.
var obeyed = regexp.MustCompile(`(?m)(?:^|\r)(?:\pZ|\s|\x1b\[[0-9;]*[A-Za-z])*::|##[A-Za-z]*\[`)

func TestFencedTextsAreNoCommands(t *testing.T) {
	for text, want := range map[string]string{
		"::error::x\n":               ":\\x3a" + "error::x\n",
		"  \t ::error::x":            "  \t :\\x3aerror::x",
		"a\r::error::x":              "a\r:\\x3aerror::x",
		"\x1b[2m ::error::x\x1b[0m":  "\x1b[2m :\\x3aerror::x\x1b[0m",
		"\u00a0\u3000::error::x":     "\u00a0\u3000:\\x3aerror::x",
		"a ::error::x, std::string":  "a ::error::x, std::string",
		": :x\n:a:\n:\n":             ": :x\n:a:\n:\n",
		"x ##[error]y":               `x ##\u005berror]y`,
		"###[a] #[b] ## [c] #x[d]":   `###\u005ba] #[b] ## [c] #x[d]`,
		"##vso[task.setvariable]":    `##vso\u005btask.setvariable]`,
		"##teamcity[message text]":   `##teamcity\u005bmessage text]`,
		"## a heading\n[a](b)\n##\n": "## a heading\n[a](b)\n##\n",
	} {
		var b strings.Builder
		if n, err := NewFence(&b).Write([]byte(text)); n != len(text) || err != nil || b.String() != want {
			t.Errorf("%q became %q, %d, %v; want %q", text, b.String(), n, err, want)
		}
	}
}

// However a text is cut into writes, it holds no command, and JSON stays the same.
func TestNoCommandPassesTheFence(t *testing.T) {
	parts := rapid.SampledFrom([]string{":", "::", "#", "##", "[", "]", " ", "\t", "\r", "\n", "vso", "error", "\x1b[1m", "\x1b", "é", "\u00a0", "\"", "\\"})
	propertytest.Check(t, func(t *rapid.T) {
		chunks := rapid.SliceOf(rapid.Map(rapid.SliceOf(parts), func(all []string) string { return strings.Join(all, "") })).Draw(t, "chunks")
		var b strings.Builder
		fence := NewFence(&b)
		for _, chunk := range chunks {
			if _, err := fence.Write([]byte(chunk)); err != nil {
				t.Fatal(err)
			}
		}
		if at := obeyed.FindString(b.String()); at != "" {
			t.Fatalf("%q became %q, which holds %q", chunks, b.String(), at)
		}
		text := strings.Join(chunks, "")
		document, err := json.Marshal(map[string]any{"text": text, "list": []string{text}})
		if err != nil {
			t.Fatal(err)
		}
		b.Reset()
		_, _ = NewFence(&b).Write(document)
		var before, after any
		if err := errors.Join(json.Unmarshal(document, &before), json.Unmarshal([]byte(b.String()), &after)); err != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("%s became %s: %v", document, b.String(), err)
		}
	})
}

// What a signal says is written while others ask what is behind the fence.
func TestAFenceIsUnwrappedWhileItIsWrittenTo(t *testing.T) {
	fence := NewFence(io.Discard)
	var writing sync.WaitGroup
	writing.Go(func() { _, _ = fence.Write([]byte("one\ntwo\n")) })
	if fence.Unwrap() != io.Discard {
		t.Error("another writer is behind it")
	}
	writing.Wait()
}
