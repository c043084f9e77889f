package textual

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quantity is a number and what it counts.
type quantity struct {
	number *big.Rat
	unit   string
}

// scalar reads a text that is one number: sign, currency, magnitude, and what follows it.
func scalar(s string, depth int) (quantity, bool) {
	if len(s) > longestNumber {
		return quantity{}, false
	}
	sign, s := cutSign(s)
	currency, s := cutCurrency(s)
	if sign == 0 {
		sign, s = cutSign(s)
	}
	number, rest, ok := magnitude(s, depth)
	if !ok {
		return quantity{}, false
	}
	if sign < 0 {
		number.Neg(number)
	}
	return counted(number, currency, rest)
}

// cutCurrency takes a sign of currency off the front.
func cutCurrency(s string) (currency, rest string) {
	if r, size := utf8.DecodeRuneInString(s); unicode.Is(unicode.Sc, r) {
		return s[:size], strings.TrimSpace(s[size:])
	}
	return "", s
}

var (
	plain  = regexp.MustCompile(`^(?:[0-9][0-9,]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?`)
	power  = regexp.MustCompile(`^\s*[*x]\s*10\s*\^\s*(?:([+-]?[0-9]+)|\{\s*([+-]?[0-9]+)\s*\})`)
	ten    = regexp.MustCompile(`^10\s*\^`)
	proper = regexp.MustCompile(`^\s+([0-9]+)\s*/\s*([0-9]+)`)
	over   = regexp.MustCompile(`^\s*/\s*[0-9.]`)
)

// magnitude reads the unsigned number that a text begins with: a decimal number, a fraction, both (1 1/2), or what is
// written with a power of ten.
func magnitude(s string, depth int) (*big.Rat, string, bool) {
	if n, rest, ok := fraction(s, depth); ok {
		return n, rest, true
	}
	if ten.MatchString(s) {
		s = "1*" + s
	}
	n, rest, ok := decimal(s)
	if !ok {
		return nil, s, false
	}
	if over.MatchString(rest) {
		below, rest, ok := decimal(strings.TrimLeft(rest, " /"))
		return quotient(n, below, rest, ok)
	}
	if m := power.FindStringSubmatch(rest); m != nil {
		scale, ok := exact("1e" + m[1] + m[2])
		if !ok {
			return nil, s, false
		}
		return n.Mul(n, scale), rest[len(m[0]):], true
	}
	if part, left, ok := properFraction(rest, depth); ok && n.IsInt() {
		return n.Add(n, part), left, true
	}
	return n, rest, true
}

// decimal reads the decimal number that a text begins with.
func decimal(s string) (*big.Rat, string, bool) {
	text := plain.FindString(s)
	digits, ok := ungrouped(text)
	if !ok {
		return nil, s, false
	}
	n, ok := exact(digits)
	return n, s[len(text):], ok
}

// exact is a decimal number, where its exponent is not so large that the number would fill the memory.
func exact(digits string) (*big.Rat, bool) {
	const most = 1000
	if at := strings.IndexAny(digits, "eE"); at >= 0 {
		exponent, err := strconv.Atoi(digits[at+1:])
		if err != nil || exponent > most || exponent < -most {
			return nil, false
		}
	}
	return new(big.Rat).SetString(digits)
}

// fraction reads \frac{3}{4}, \frac34, or a sign such as ¾.
func fraction(s string, depth int) (*big.Rat, string, bool) {
	if rest, ok := strings.CutPrefix(s, `\frac`); ok && depth > 0 {
		above, rest, ok := argument(rest, depth)
		if !ok {
			return nil, s, false
		}
		below, rest, ok := argument(rest, depth)
		return quotient(above, below, rest, ok)
	}
	r, size := utf8.DecodeRuneInString(s)
	if parts, ok := vulgar[r]; ok {
		return big.NewRat(parts[0], parts[1]), s[size:], true
	}
	return nil, s, false
}

var vulgar = map[rune][2]int64{
	'½': {1, 2}, '⅓': {1, 3}, '⅔': {2, 3}, '¼': {1, 4}, '¾': {3, 4}, '⅕': {1, 5}, '⅖': {2, 5}, '⅗': {3, 5}, '⅘': {4, 5},
	'⅙': {1, 6}, '⅚': {5, 6}, '⅐': {1, 7}, '⅛': {1, 8}, '⅜': {3, 8}, '⅝': {5, 8}, '⅞': {7, 8}, '⅑': {1, 9}, '⅒': {1, 10},
}

func quotient(above, below *big.Rat, rest string, ok bool) (*big.Rat, string, bool) {
	if !ok || below.Sign() == 0 {
		return nil, rest, false
	}
	return above.Quo(above, below), rest, true
}

// argument is the number that stands in braces, or the digit that stands alone.
func argument(s string, depth int) (*big.Rat, string, bool) {
	s = strings.TrimLeft(s, " ")
	inner, rest, ok := group(s)
	if !ok {
		if s == "" || !isDigit(s[0]) {
			return nil, s, false
		}
		inner, rest = s[:1], s[1:]
	}
	q, ok := scalar(strings.TrimSpace(inner), depth-1)
	return q.number, rest, ok && q.unit == ""
}

// properFraction is what makes a whole number a mixed one: 1 1/2, 1\frac{1}{2}, 1½.
func properFraction(s string, depth int) (*big.Rat, string, bool) {
	n, rest, ok := fraction(strings.TrimLeft(s, " "), depth)
	if m := proper.FindStringSubmatch(s); m != nil {
		above, _ := exact(m[1])
		below, _ := exact(m[2])
		n, rest, ok = quotient(above, below, s[len(m[0]):], true)
	}
	if !ok || n.Sign() < 0 || n.Cmp(big.NewRat(1, 1)) >= 0 {
		return nil, s, false
	}
	return n, rest, true
}
