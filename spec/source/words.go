package source

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Closest returns the word that the misspelt one is most likely to mean, "" when none is near: at most a third of
// its letters (but at least one) may be wrong, missing, too many or swapped (optimal string alignment distance). Else it
// is the longest word that the misspelt one continues after an underscore.
func Closest(word string, words []string) string {
	best, bestDistance := "", max(1, runes(word)/3)+1
	for _, candidate := range words {
		if normal(word) == normal(candidate) {
			return candidate
		}
		if tooFar := runes(word)-runes(candidate) >= bestDistance; tooFar {
			continue
		}
		if d := distance([]rune(normal(word)), []rune(normal(candidate))); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	if best != "" {
		return best
	}
	for _, candidate := range words { // exact_match for exact
		if strings.HasPrefix(normal(word), normal(candidate)+"_") && len(candidate) > len(best) {
			best = candidate
		}
	}
	return best
}

// normal makes Max-Iterations and max_iterations the same.
func normal(word string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(word))
}

// distance keeps three rows of the table of distances between prefixes of a and b.
func distance(a, b []rune) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			substitution := above[j-1]
			if a[i-1] != b[j-1] {
				substitution++
			}
			row[j] = min(above[j]+1, row[j-1]+1, substitution)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}

// describe says what stands in the file, as it stands there.
func (n *Node) describe() string {
	switch {
	case n.Kind == List:
		return "a list"
	case n.Kind == Map:
		return "a mapping"
	case n.Kind == Null && n.Text == "":
		return "nothing"
	case n.form == date:
		return "the date " + n.Text
	case n.Kind == String && n.form != plain:
		return quote(n.Text)
	}
	return shorten(n.Text)
}

const longText = 40 // runes of the user's text that a message repeats

func shorten(s string) string { return Shorten(s, longText) }

// betweenWords are the characters between the words of a text. Keys have none of them.
const betweenWords = " \t\r\n\"'=:,;&?@()[]{}<>"

// Shorten keeps the first runes of a text that a message repeats. A word with a digit is
// left out rather than cut: it may be a key, and a part of a key is not known as one.
func Shorten(s string, most int) string {
	if runes(s) <= most {
		return s
	}
	head := string([]rune(s)[:most])
	word := strings.LastIndexAny(head, betweenWords) + 1
	end := len(head)
	if rest := strings.IndexAny(s[end:], betweenWords); rest >= 0 {
		end += rest
	} else {
		end = len(s)
	}
	if strings.ContainsAny(s[word:end], "0123456789") {
		head = head[:word]
	}
	return head + "..."
}

func quote(s string) string { return strconv.Quote(shorten(s)) }

// wanted says what a type takes: "a number from 0 to 1".
func wanted(t reflect.Type, r rules) string {
	if t.Kind() == reflect.Pointer {
		return wanted(t.Elem(), r)
	}
	if m, ok := reflect.Zero(t).Interface().(interface{ inner() reflect.Type }); ok {
		return wanted(m.inner(), r) + " or off"
	}
	if r.off {
		r.off = false
		return wanted(t, r) + " or off"
	}
	switch kind := t.Kind(); {
	case t == durationType && r.interval() != "":
		return "a duration" + r.interval() + ", such as 30s"
	case t == durationType:
		return "a duration such as 30s"
	case reflect.PointerTo(t).Implements(hookType):
		return "a value"
	case kind == reflect.String && r.enum != nil:
		return "one of " + strings.Join(r.enum, ", ")
	case kind == reflect.String && r.minLen == 1:
		return "text that is not empty"
	case kind == reflect.String && r.minLen > 1:
		return fmt.Sprintf("text of at least %d characters", r.minLen)
	case kind == reflect.String:
		return "text"
	case kind == reflect.Bool:
		return "true or false"
	case kind == reflect.Int || kind == reflect.Int64:
		return "a whole number" + r.interval()
	case kind == reflect.Float64:
		return "a number" + r.interval()
	case kind == reflect.Slice:
		return "a list"
	case kind == reflect.Struct:
		return shapeOf(t).wanted()
	case kind == reflect.Map:
		return "a mapping"
	}
	return "a value"
}

// wanted says what a struct may be written as.
func (s *shape) wanted() string {
	var forms []string
	for _, f := range s.shorts {
		form := f.rules.short
		if form == "list" {
			form = "a list"
		}
		forms = append(forms, form)
	}
	if len(s.fields) > 0 {
		forms = append(forms, "a mapping")
	}
	return joined(forms, "or")
}

// interval says which numbers are allowed, "" when all are.
func (r rules) interval() string {
	switch {
	case r.above != nil && r.max != nil:
		return " above " + r.above.text + ", at most " + r.max.text
	case r.above != nil:
		return " above " + r.above.text
	case r.min != nil && r.max != nil:
		return " from " + r.min.text + " to " + r.max.text
	case r.min != nil:
		return " of at least " + r.min.text
	case r.max != nil:
		return " of at most " + r.max.text
	}
	return ""
}

// hint says how n becomes what t takes, "" when there is no telling.
func hint(n *Node, t reflect.Type) string {
	switch kind := t.Kind(); {
	case t == durationType:
		return durationHint(n)
	case kind == reflect.String:
		return quoteHint(n)
	case kind == reflect.Bool:
		return boolHint(n)
	case kind == reflect.Int, kind == reflect.Int64, kind == reflect.Float64:
		return numberHint(n, kind)
	case kind == reflect.Slice && n.form == block:
		return `start each item with "- "`
	case kind == reflect.Slice && n.Kind != Map:
		return listHint(shorten(n.Text))
	case kind == reflect.Slice:
		return "write a list: [first, second]"
	case n.Kind == String && n.form == plain && strings.Contains(n.Text, ":"):
		return "put a space after the colon"
	}
	return ""
}

// listHint says how a text is written as a list. Whether its words are one item, only its author knows.
func listHint(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
	if len(words) < 2 || strings.ContainsAny(text, "'\"") {
		return "write a list: [" + text + "]"
	}
	return "write a list: [" + strings.Join(words, ", ") + "], or [" + inList(text) + "] if it is one item"
}

// inList is a text as it stands in a flow list.
func inList(text string) string {
	if strings.Contains(text, ",") {
		return strconv.Quote(text)
	}
	return text
}

func quoteHint(n *Node) string {
	switch {
	case n.Kind == Map && n.form == flow && len(n.Entries) == 1 && n.Entries[0].Value.Kind == String:
		return "write the text alone: " + shorten(n.Entries[0].Value.Text)
	case n.Kind == Map && n.form == flow && !slices.ContainsFunc(n.Entries, func(e Entry) bool { return e.Value.Text != "" || e.Value.Len() > 0 }):
		return "put text that starts with { in quotes"
	case n.Kind == Map && n.form == flow:
		return ""
	case n.Kind == List && n.form == flow:
		return "put text that starts with [ in quotes"
	case n.Kind == Map || n.Kind == List:
		return ""
	}
	return fmt.Sprintf(`put it in quotes: "%s"`, n.Text)
}

func boolHint(n *Node) string {
	switch strings.ToLower(n.Text) {
	case "yes", "on", "y", "1":
		return "write true"
	case "no", "off", "n", "0":
		return "write false"
	case "true", "false":
		return "remove the quotes"
	}
	return ""
}

func durationHint(n *Node) string {
	if _, isNumber := n.decimal(); isNumber {
		return "write a unit: " + n.Text + "s"
	}
	return "write numbers with units: 500ms, 30s, 5m, 1h30m"
}

// splitUnit reads the numbers that people write: 95%, $5, 5 USD, 5k, 5,000. The unit is "" where it is no such number.
func splitUnit(text string) (number float64, unit string) {
	m := numberWithUnit.FindStringSubmatch(text)
	if m == nil {
		return 0, ""
	}
	number, err := strconv.ParseFloat(strings.ReplaceAll(m[2], ",", ""), 64)
	if err != nil {
		return 0, ""
	}
	switch unit = strings.ToLower(m[1] + m[3]); {
	case unit == "k":
		number *= 1e3
	case unit == "m":
		number *= 1e6
	case unit == "" && strings.Contains(m[2], ","):
		unit = ","
	}
	return number, unit
}

var numberWithUnit = regexp.MustCompile(`^([$€]?) ?([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+(?:\.[0-9]+)?) ?(%|k|K|m|M|USD|usd)?$`)

func numberHint(n *Node, kind reflect.Kind) string {
	_, isNumber := n.decimal()
	digits, unit := splitUnit(n.Text)
	switch {
	case n.Kind == String && unit == "%" && kind == reflect.Float64:
		return "write " + strconv.FormatFloat(digits/100, 'f', -1, 64)
	case n.Kind == String && unit != "":
		return "write " + strconv.FormatFloat(digits, 'f', -1, 64)
	case n.Kind == String && n.form != plain && (decimalFloat.MatchString(n.Text)):
		return "remove the quotes"
	case n.Kind == Int && !plainDigits(n.Text):
		return "write it in decimal digits, without a leading 0"
	case n.Kind == Int && !isNumber, n.Kind == Float && plainDigits(n.Text):
		return "at most 9223372036854775807 fits; put longer digits in quotes where text is wanted"
	case n.Kind == Float && !isNumber:
		return "write a finite number in decimal digits"
	case n.Kind == Float && kind != reflect.Float64:
		return "write it without a fraction or exponent"
	}
	return ""
}
