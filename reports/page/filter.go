package page

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Filter is the fragment of a link, without its #, to the runs for which all terms hold:
// q= and the terms, percent-encoded. Without a script it leads to the row that has the
// same id; a page with one shows the runs.
//
// It is "" where it would be longer than browsers and mails keep.
//
// Terms are those of [Term] and [Compared]; a blank stands between two of them.
func Filter(terms ...string) string {
	length := 0
	for _, term := range terms {
		length += len(term)
	}
	if length > longestFragment {
		return ""
	}
	if text := "q=" + inFragment(strings.Join(terms, " ")); len(text) <= longestFragment {
		return text
	}
	return ""
}

// longestFragment has room for a name of 200 characters of any language.
const longestFragment = 2000

// Term is a word of the filter language with a name from outside, in quotes where it has
// other characters than letters, digits and _./- of ASCII; " and \ stand behind a \ there.
func Term(key, name string) string { return key + ":" + quotedName(name) }

// Compared is a comparison of the filter language: of a score by its name, or of an amount such
// as confidence.
func Compared(name, operator string, than float64) string {
	return quotedName(name) + operator + strconv.FormatFloat(than, 'f', -1, 64)
}

func quotedName(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if plainName.MatchString(name) {
		return name
	}
	return `"` + inQuotes.Replace(name) + `"`
}

var inQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

var plainName = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)

// OfConfiguration is the fragment of the runs of a configuration.
func OfConfiguration(name string) string { return Filter(Term("config", name)) }

// inFragment leaves what neither a browser nor the page's script takes for anything else.
func inFragment(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~:/", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
