package textual

import (
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

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
		if item.bare() {
			items = append(items, item.items...) // what has not the spaces that others have: 1, 2,3
		} else {
			items = append(items, item)
		}
		if len(items) > maxItems {
			return items[:maxItems+1]
		}
	}
	return items
}

// bare: it is a list without brackets.
func (v Value) bare() bool { return v.list != "" && turn(v.Text[0]) == 0 }

func divided(s string) []string {
	for _, separator := range []string{";", ", ", ","} {
		if texts := split(s, separator); len(texts) > 1 {
			return texts
		}
	}
	return []string{s}
}

// split divides at what stands outside of brackets.
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
