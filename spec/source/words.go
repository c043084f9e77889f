package source

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

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

func shorten(s string) string {
	if runes(s) > longText {
		return string([]rune(s)[:longText]) + "..."
	}
	return s
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
	switch {
	case t == durationType:
		return wantedDuration(r)
	case reflect.PointerTo(t).Implements(hookType):
		return "a value"
	}
	return wantedKind(t, r)
}

func wantedDuration(r rules) string {
	if interval := r.interval(); interval != "" {
		return "a duration" + interval + ", such as 30s"
	}
	return "a duration such as 30s"
}

func wantedKind(t reflect.Type, r rules) string {
	switch t.Kind() {
	case reflect.String:
		return wantedText(r)
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number" + r.interval()
	case reflect.Float64:
		return "a number" + r.interval()
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "a mapping"
	}
	return "a value"
}

func wantedText(r rules) string {
	switch {
	case r.enum != nil:
		return "one of " + strings.Join(r.enum, ", ")
	case r.minLen == 1:
		return "text that is not empty"
	case r.minLen > 1:
		return fmt.Sprintf("text of at least %d characters", r.minLen)
	}
	return "text"
}

func wantedLength(t reflect.Type, least int) string {
	noun := "item"
	if t.Kind() == reflect.Map {
		noun = "key"
	}
	if least > 1 {
		noun += "s"
	}
	return fmt.Sprintf("at least %d %s", least, noun)
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
	case n.Kind == Map && n.form == flow:
		return "put text that starts with { in quotes"
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

func numberHint(n *Node, kind reflect.Kind) string {
	_, isNumber := n.decimal()
	switch {
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
