package textual

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

const longestNumber = 400 // longer than any number that is meant

// Number reads a text that is a number and nothing else: decimal, with an exponent or without, white space around
// it, commas between groups of three digits (1,234.50), a currency sign at either end ($12, -$12, 12 €), a percent sign
// (12% is 12), a full stop at the end, a sign (also the minus that is no hyphen). Words, fractions (3/4), other groups
// (1,23), hexadecimal numbers, and what does not fit into a float64 are no numbers.
func Number(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if len(s) > longestNumber {
		return 0, false
	}
	sign, s := cutSign(s)
	s = strings.TrimLeftFunc(s, isCurrency)
	s = strings.TrimRightFunc(strings.TrimRight(s, "%"), isCurrency)
	if sign == 0 {
		sign, s = cutSign(s)
	}
	digits, ok := ungrouped(s)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(n, 0) {
		return 0, false
	}
	if sign < 0 {
		n = -n
	}
	return n, true
}

// isCurrency: the sign, or the space between it and the number.
func isCurrency(r rune) bool { return unicode.Is(unicode.Sc, r) || unicode.IsSpace(r) }

// cutSign gives -1, 1, or 0 where there is no sign.
func cutSign(s string) (sign int, rest string) {
	for _, minus := range []string{"-", "\u2212"} {
		if rest, ok := strings.CutPrefix(s, minus); ok {
			return -1, rest
		}
	}
	if rest, ok := strings.CutPrefix(s, "+"); ok {
		return 1, rest
	}
	return 0, s
}

// ungrouped takes the commas out of the whole part. It refuses what is no unsigned decimal number.
func ungrouped(s string) (string, bool) {
	if s == "" || s[0] != '.' && !isDigit(s[0]) || strings.Trim(s, "0123456789.,eE+-") != "" {
		return "", false
	}
	end := strings.IndexAny(s, ".eE")
	if end < 0 {
		end = len(s)
	}
	groups := strings.Split(s[:end], ",")
	for i, group := range groups {
		if i > 0 && len(group) != 3 || len(groups) > 1 && (group == "" || len(group) > 3) {
			return "", false
		}
	}
	return strings.Join(groups, "") + s[end:], true
}
