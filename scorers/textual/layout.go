package textual

import (
	"regexp"
	"strings"
)

// tidy is an answer without what only lays it out: of a text with \boxed{} what stands in the last one, without the
// marks of mathematics, without the commands for spaces, sizes and fonts, without "x =" before it and a full stop
// after it.
func tidy(s string) string {
	s = boxed(s)
	s = unmarked(s)
	s = layout.Replace(s)
	s = unwrapped(s)
	s = sizes.ReplaceAllString(s, "$1")
	s = strings.TrimSpace(s)
	s = named.ReplaceAllString(s, "")
	if short, ok := strings.CutSuffix(s, "."); ok && !strings.HasSuffix(short, ".") {
		s = short
	}
	return strings.TrimSpace(s)
}

// layout are commands that mean nothing, or what has a sign of its own.
var layout = strings.NewReplacer(
	`\$`, "$", `\%`, "%", `\{`, "{", `\}`, "}", "{,}", ",", `\!`, "", `\,`, " ", `\;`, " ", `\:`, " ", `\ `, " ",
	`\dfrac`, `\frac`, `\tfrac`, `\frac`, `\cfrac`, `\frac`, `\times`, "*", `\cdot`, "*", "×", "*", "·", "*", "\u2212", "-",
	`^{\circ}`, " degrees", `^\circ`, " degrees", "°", " degrees", `\(`, "", `\)`, "", `\[`, "", `\]`, "",
)

var (
	sizes = regexp.MustCompile(`\\(?:left|right|displaystyle)([^A-Za-z]|$)`)
	named = regexp.MustCompile(`^[A-Za-z]\s*=\s*`)
	fonts = regexp.MustCompile(`\\(?:text|textbf|textit|mathrm|mathbf|mbox)\s*\{`)
)

// boxed is what the last \boxed{} or \fbox{} of a text holds, else the text. Of a box that does not end the text counts.
func boxed(s string) string {
	at := max(strings.LastIndex(s, `\boxed`), strings.LastIndex(s, `\fbox`))
	if at < 0 {
		return s
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(s[at:], `\boxed`), `\fbox`)
	rest = strings.TrimLeft(rest, " ")
	if inner, _, ok := group(rest); ok {
		return inner
	}
	if word, _, _ := strings.Cut(rest, " "); !strings.HasPrefix(rest, "{") {
		return strings.TrimRight(word, "$")
	}
	return s
}

// group is what stands in the braces that a text begins with, and what follows them.
func group(s string) (inner, rest string, ok bool) {
	if !strings.HasPrefix(s, "{") {
		return "", s, false
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++ // \{ and \} are no braces of a group
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return s[1:i], s[i+1:], true
			}
		}
	}
	return "", s, false
}

// unmarked is a text without the dollars around its mathematics. One alone is of a price, and so is \$.
func unmarked(s string) string {
	marks := strings.Count(s, "$") - strings.Count(s, `\$`)
	if marks == 0 || marks%2 == 1 {
		return s
	}
	const price = "\x00"
	s = strings.ReplaceAll(s, `\$`, price)
	return strings.ReplaceAll(strings.ReplaceAll(s, "$", ""), price, `\$`)
}

// unwrapped is a text without the commands for fonts around its words.
func unwrapped(s string) string {
	var b strings.Builder
	for {
		at := fonts.FindStringIndex(s)
		if at == nil {
			break
		}
		inner, rest, ok := group(s[at[1]-1:])
		if !ok {
			break
		}
		b.WriteString(s[:at[0]] + " " + inner + " ")
		s = rest
	}
	return b.String() + s
}
