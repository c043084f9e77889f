package textual

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// SQuAD is a text in the normalisation of SQuAD's official script (evaluate-v2.0.py): in lower case, without ASCII
// punctuation and the articles a, an and the, with single spaces.
func SQuAD(s string) string { return strings.Join(squadTokens(s), " ") }

// F1 is the overlap of the tokens of SQuAD's normalisation. Where one of the texts has none it is 1 if both have none.
func F1(answer, target string) Overlap {
	got, want := squadTokens(answer), squadTokens(target)
	if len(got) == 0 || len(want) == 0 {
		if len(got) == len(want) {
			return Overlap{1, 1, 1}
		}
		return Overlap{}
	}
	return overlapOf(shared(counts(got), counts(want)), len(got), len(want))
}

func squadTokens(s string) []string {
	s = cases.Lower(language.Und).String(s) // a sigma at the end of a word is the final one, as in Python
	s = strings.Map(func(r rune) rune {
		if isASCIIPunctuation(r) {
			return -1
		}
		return r
	}, s)
	return strings.FieldsFunc(withoutArticles(s), isSpace)
}

// isASCIIPunctuation is Python's string.punctuation.
func isASCIIPunctuation(r rune) bool { return r > ' ' && r < 0x7f && !isASCIIWord(r) }

func isASCIIWord(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// withoutArticles puts a space for every article that stands between what is no part of a word.
func withoutArticles(s string) string {
	var b strings.Builder
	begin := -1 // of the word that goes on
	end := func(at int) {
		if begin < 0 {
			return
		}
		switch word := s[begin:at]; word {
		case "a", "an", "the":
			b.WriteByte(' ')
		default:
			b.WriteString(word)
		}
		begin = -1
	}
	for i, r := range s {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsNumber(r):
			end(i)
			b.WriteRune(r)
		case begin < 0:
			begin = i
		}
	}
	end(len(s))
	return b.String()
}
