// Package textual compares texts and final answers: SQuAD, RougeN, RougeL, BLEU and Levenshtein tell how alike two texts are, with
// the numbers that others publish; Parse reads an answer.
//
// Alike: edit distances, the token overlap of SQuAD, ROUGE, and BLEU as sacreBLEU computes it. Every similarity is a
// number from 0 to 1. What takes longer than the texts are long has a limit, and is an error beyond it.
//
// Answers: which number a text ends with, and whether two answers are the same number, the same numbers, or the same
// expression. Layout is taken away, what is left is read as a list, a number or a text, and two of these are compared,
// numbers exactly, as fractions. Numbers of more than 400 characters or 1000 decimal places, lists of more than 100 items and lists in lists in lists are texts.
//
// It is pure and knows nothing of runs and targets. It is no stable API.
package textual

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxCells is how much of a table may be filled: about a second.
const maxCells = 1 << 28

// tooLong reports whether a table of so many cells takes too long to fill.
func tooLong(rows, columns int) bool { return rows > 0 && columns > maxCells/rows }

func errTooLong(items string, a, b int) error {
	return fmt.Errorf("texts of %d and %d %s are too long to be compared", a, b, items)
}

// isSpace is the white space of the references, which are Python: that of Unicode and four separators of ASCII.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

const (
	maxList  = 2000 // bytes of a list
	maxItems = 100
	maxDepth = 3 // lists in lists, fractions in fractions
)

// Value is what an answer means. The zero value is that of an empty text.
type Value struct {
	// Text is the answer without its layout.
	Text string

	number *big.Rat // nil: no number
	unit   string   // "": without one
	list   string   // the brackets of a list, "{}" where its order does not count; "": no list
	items  []Value
}

// Parse reads an answer. Every text has a meaning, if only its own.
func Parse(s string) Value { return parse(tidy(s), maxDepth) }

func parse(s string, depth int) Value {
	s = strings.TrimSpace(s)
	if depth == 0 || len(s) > maxList {
		return Value{Text: s}
	}
	if inner, brackets, ok := bracketed(s); ok {
		return enclosed(s, inner, brackets, depth)
	}
	if q, ok := scalar(s, depth); ok {
		return Value{Text: s, number: q.number, unit: q.unit}
	}
	items := parts(s, depth)
	if len(items) > 1 && len(items) <= maxItems && !slices.ContainsFunc(items, Value.isText) {
		return Value{Text: s, list: "{}", items: items}
	}
	return Value{Text: s}
}

// enclosed is a list in brackets, or what stands alone in round ones.
func enclosed(s, inner, brackets string, depth int) Value {
	items := parts(inner, depth)
	switch {
	case len(items) > maxItems:
		return Value{Text: s}
	case len(items) == 1 && brackets == "()":
		return items[0]
	}
	return Value{Text: s, list: brackets, items: items}
}

func (v Value) isText() bool { return v.number == nil && v.list == "" }

// bracketed is what stands in the brackets around the whole of a text. They need not match, as in the interval (1, 2].
func bracketed(s string) (inner, brackets string, ok bool) {
	if len(s) < 2 || !strings.ContainsRune("([{", rune(s[0])) || !strings.ContainsRune(")]}", rune(s[len(s)-1])) {
		return "", "", false
	}
	depth := 0
	for i, c := range []byte(s) {
		if depth += turn(c); depth == 0 {
			return s[1:i], s[:1] + s[i:], i == len(s)-1
		}
	}
	return "", "", false
}

// turn is 1 at a bracket that opens, -1 at one that closes.
func turn(c byte) int {
	switch c {
	case '(', '[', '{':
		return 1
	case ')', ']', '}':
		return -1
	}
	return 0
}

// parts are the items of a list, at most one more than are read. Semicolons divide them, or else commas before white
// space, or else commas.
func parts(s string, depth int) []Value {
	var items []Value
	for _, text := range divided(s) {
		item := parse(text, depth-1)
		if item.list != "" && turn(item.Text[0]) == 0 {
			items = append(items, item.items...) // a list without brackets, as of 2,3 in 1, 2,3
		} else {
			items = append(items, item)
		}
		if len(items) > maxItems {
			return items[:maxItems+1]
		}
	}
	return items
}

func divided(s string) []string {
	for _, separator := range []string{";", ", ", ","} {
		if texts := split(s, separator); len(texts) > 1 {
			return texts
		}
	}
	return []string{s}
}

func split(s, separator string) []string {
	var texts []string
	depth, begin := 0, 0
	for i := range len(s) {
		depth += turn(s[i])
		if depth == 0 && strings.HasPrefix(s[i:], separator) {
			texts = append(texts, s[begin:i])
			begin = i + len(separator)
		}
	}
	return append(texts, s[begin:])
}

var single = regexp.MustCompile(`\{(\w)\}`)

// expression is a text without white space and without braces around single characters: x^{2} is x^2.
func expression(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
	return single.ReplaceAllString(s, "$1")
}

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

// isCurrency reports whether a character is a sign of currency, or the space between it and the number.
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

// Tolerance is the largest difference that a number may have, as it is written: 0.1 is a tenth.
func Tolerance(f float64) *big.Rat {
	n, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return n
}

// Equal reports whether both are the same number, within the tolerance (nil: 0), or lists of the same, or the same
// expression as it is written. Units must be the same where both numbers have one.
func (v Value) Equal(w Value, tolerance *big.Rat) bool {
	switch {
	case v.number != nil && w.number != nil:
		difference := new(big.Rat).Sub(v.number, w.number)
		near := difference.Sign() == 0 || tolerance != nil && difference.Abs(difference).Cmp(tolerance) <= 0
		return near && (v.unit == w.unit || v.unit == "" || w.unit == "")
	case v.list != "" && w.list != "":
		if v.list != w.list || len(v.items) != len(w.items) {
			return false
		}
		items, others := v.items, w.items
		if v.list == "{}" { // in order numbers that are near are side by side
			items, others = slices.SortedFunc(slices.Values(items), compare), slices.SortedFunc(slices.Values(others), compare)
		}
		return slices.EqualFunc(items, others, func(a, b Value) bool { return a.Equal(b, tolerance) })
	}
	return v.isText() && w.isText() && expression(v.Text) == expression(w.Text)
}

// compare is an order of values: numbers by what they are, lists by their items, all else by its text.
func compare(a, b Value) int {
	switch {
	case a.number != nil && b.number != nil:
		return cmp.Or(a.number.Cmp(b.number), strings.Compare(a.unit, b.unit))
	case a.list != "" && b.list != "":
		return cmp.Or(strings.Compare(a.list, b.list), slices.CompareFunc(a.items, b.items, compare))
	}
	return strings.Compare(expression(a.Text), expression(b.Text))
}

// tidy is an answer without what only lays it out: of a text with \boxed{} the contents of the last one, without the
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
