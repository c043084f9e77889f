package textual

import "strings"

// entities are what is read as something else before tokens are looked for, one after the other.
var entities = [][2]string{
	{"<skipped>", ""}, {"-\n", ""}, {"\n", " "}, {"&quot;", `"`}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"},
}

// Tokens13a are the tokens of a text in sacreBLEU's default tokenisation, which is that of NIST's mteval-v13a.pl, with
// the white space of Unicode between tokens. Punctuation that is not ASCII's is a part of words.
func Tokens13a(s string) []string {
	s = strings.TrimRightFunc(s, isSpace)
	for _, e := range entities {
		s = strings.ReplaceAll(s, e[0], e[1])
	}
	b := apart(" " + s + " ")
	b = divide(b, noDigit, isPoint, "", " ")
	b = divide(b, isPoint, noDigit, " ", "")
	b = divide(b, isDigit, isDash, "", " ")
	return strings.FieldsFunc(string(b), isSpace)
}

// apart puts spaces around ASCII punctuation but the apostrophe, and but the full stop, the comma and the dash, which
// may be of a number.
func apart(s string) []byte {
	b := make([]byte, 0, len(s)+len(s)/4)
	for i := range len(s) {
		if c := s[i]; isASCIIPunctuation(rune(c)) && !strings.ContainsRune("'.,-", rune(c)) {
			b = append(b, ' ', c, ' ')
		} else {
			b = append(b, c)
		}
	}
	return b
}

// divide puts a space between the bytes of every pair that is of both kinds, and more around it. A byte is of one pair
// at most, as a match of a regular expression does not overlap with the next.
func divide(s []byte, first, second func(byte) bool, before, after string) []byte {
	b := make([]byte, 0, len(s)+len(s)/4)
	for i := 0; i < len(s); i++ {
		if i+1 == len(s) || !first(s[i]) || !second(s[i+1]) {
			b = append(b, s[i])
			continue
		}
		b = append(append(b, before...), s[i], ' ', s[i+1])
		b = append(b, after...)
		i++
	}
	return b
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func noDigit(c byte) bool { return !isDigit(c) }
func isPoint(c byte) bool { return c == '.' || c == ',' }
func isDash(c byte) bool  { return c == '-' }
