package page

import "strings"

// Words are a text of our own with texts from outside in it, such as names, which [Foreign] marks. Each format makes these fit for
// its readers.
type Words string

// The marks around a text from outside. A NUL in it has a mark of its own.
const (
	begins = "\x00<"
	ends   = "\x00>"
	aNUL   = "\x00="
)

// Foreign is a text from outside as a part of [Words]; "" stays "".
func Foreign(text string) string {
	if text == "" {
		return ""
	}
	return begins + strings.ReplaceAll(text, "\x00", aNUL) + ends
}

// Saying are words without a text from outside.
func Saying(text string) Words { return Words(text) }

// Visible are the words in one line of a terminal, with [Visible] texts from outside.
func (w Words) Visible() string { return w.with(Visible, verbatim) }

// Raw are the words without marks, for JSON and for tests.
func (w Words) Raw() string { return w.with(verbatim, verbatim) }

func (w Words) shown() string { return w.with(shown, verbatim) }

// with makes the texts from outside, and our own between them, fit for a format.
func (w Words) with(foreign, own func(string) string) string {
	var b strings.Builder
	for rest := string(w); rest != ""; {
		before, marked, found := strings.Cut(rest, begins)
		b.WriteString(own(before))
		if !found {
			break
		}
		text, after, _ := strings.Cut(marked, ends)
		b.WriteString(foreign(strings.ReplaceAll(text, aNUL, "\x00")))
		rest = after
	}
	return b.String()
}

func verbatim(text string) string { return text }
