package page

import (
	"slices"
	"strconv"
	"strings"
)

// footnotes number warnings in the order in which they are first met. Those
// that say the same share a number.
type footnotes []Warning

// marks are the superscript numbers of warnings: "¹" or "¹'³".
func (f *footnotes) marks(warnings []Warning) string {
	marks := make([]string, len(warnings))
	for i, w := range warnings {
		at := slices.IndexFunc(*f, func(met Warning) bool { return met.Text(shown) == w.Text(shown) })
		if at < 0 {
			at = len(*f)
			*f = append(*f, w)
		}
		marks[i] = superscript(at + 1)
	}
	return strings.Join(marks, "'")
}

// each gives the texts of the footnotes, each with its mark, and then those
// warnings that are about the page as a whole.
func (f *footnotes) each(whole []Warning, quote func(string) string, yield func(mark, text string)) {
	for i, w := range *f {
		yield(superscript(i+1), w.Text(quote))
	}
	for _, w := range whole {
		yield("", w.Text(quote))
	}
}

func superscript(n int) string {
	return strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵",
		"6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹").Replace(strconv.Itoa(n))
}
