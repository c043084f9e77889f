package textual

import (
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// counted reads what stands after a number: a percent sign, a word that multiplies, a unit.
func counted(n *big.Rat, currency, s string) (quantity, bool) {
	rest := strings.TrimSpace(s)
	if after, ok := strings.CutPrefix(rest, "%"); ok {
		return quantity{n.Quo(n, big.NewRat(100, 1)), currency}, after == ""
	}
	word, after, _ := strings.Cut(rest, " ")
	if times, ok := multiples[strings.ToLower(word)]; ok {
		n.Mul(n, times)
		s, rest = " "+after, strings.TrimSpace(after)
	}
	if rest == "" {
		return quantity{n, currency}, true
	}
	unit, ok := unitOf(rest, s != rest)
	if !ok || currency != "" && !strings.HasPrefix(unit, "per ") {
		return quantity{}, false
	}
	return quantity{n, strings.TrimSpace(currency + " " + unit)}, true
}

var multiples = map[string]*big.Rat{
	"percent": big.NewRat(1, 100), "hundred": big.NewRat(100, 1), "thousand": big.NewRat(1000, 1),
	"million": big.NewRat(1e6, 1), "billion": big.NewRat(1e9, 1), "trillion": big.NewRat(1e12, 1),
}

// currencies are the words for what has a sign.
var currencies = map[string]string{"dollar": "$", "usd": "$", "euro": "€", "eur": "€"}

var (
	unitWord = regexp.MustCompile(`^\p{L}+(\^\{?[0-9]\}?|[²³])?$`)
	// letters are the units that are one letter; others are variables.
	letters = []string{"m", "g", "s", "h", "l"}
	// attached are the units that are read without white space before them; other letters there are factors.
	attached = []string{"cm", "mm", "km", "kg", "mg", "ml", "lb", "lbs", "oz", "ft", "in", "mi", "mph", "min", "hr", "hrs", "sec"}
	// noUnits are words after a number that make it another one, or none.
	noUnits = strings.Fields("or and to of more less fewer least most over under above below about than not plus minus times " +
		"divided by half quarter third fourth dozen pair remainder base mod pi sqrt sin cos tan log ln exp am pm no none only per")
)

// unitOf is a unit as it is compared: in lower case, without the s of a plural, with "per" for a slash, and the signs of
// currencies for their names. Spaced: white space stood before it.
func unitOf(s string, spaced bool) (string, bool) {
	if currency, rest := cutCurrency(s); currency != "" && rest == "" {
		return currency, true
	}
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(s, "/", " per ")))
	if !isUnit(words) || !spaced && words[0] != "per" && !slices.Contains(attached, words[0]) {
		return "", false
	}
	for i, word := range words {
		if len(word) > 3 {
			word = strings.TrimSuffix(word, "s")
		}
		if sign := currencies[word]; sign != "" {
			word = sign
		}
		words[i] = word
	}
	return strings.Join(words, " "), true
}

// isUnit takes one word, also with "square" or "cubic" before it, and such a one after "per".
func isUnit(words []string) bool {
	if at := slices.Index(words, "per"); at >= 0 {
		return (at == 0 || isUnit(words[:at])) && isUnit(words[at+1:])
	}
	if len(words) == 2 && slices.Contains([]string{"square", "cubic", "sq", "cu"}, words[0]) {
		words = words[1:]
	}
	if len(words) != 1 || !unitWord.MatchString(words[0]) || slices.Contains(noUnits, words[0]) {
		return false
	}
	return len([]rune(words[0])) > 1 || slices.Contains(letters, words[0])
}
