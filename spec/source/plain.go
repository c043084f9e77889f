package source

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Object is a mapping as a plain value: keys in the order of the file.
type Object struct {
	Keys   []string
	Values []any // as many as keys
}

// Get returns the value of a key.
func (o *Object) Get(key string) (value any, ok bool) {
	for i, k := range o.Keys {
		if k == key {
			return o.Values[i], true
		}
	}
	return nil, false
}

// Plain returns n as nil, bool, int64, float64, string, []any or *Object. What is no plain decimal number
// (010, 0x10, .nan) or does not fit stays the text that it is; Decode into an any field refuses it.
func (n *Node) Plain() any {
	switch n.Kind {
	case Null:
		return nil
	case Bool:
		return strings.EqualFold(n.Text, "true")
	case List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.Plain()
		}
		return list
	case Map:
		return n.object()
	}
	return n.number()
}

func (n *Node) object() *Object {
	o := &Object{Keys: make([]string, len(n.Entries)), Values: make([]any, len(n.Entries))}
	for i, entry := range n.Entries {
		o.Keys[i], o.Values[i] = entry.Key, entry.Value.Plain()
	}
	return o
}

// number falls back to the text, which is also right for a String. Digits alone are a Float only beyond 64 bits,
// where a float64 would silently lose the last of them.
func (n *Node) number() any {
	if x, ok := n.wholeNumber(); ok {
		return x
	}
	if x, ok := n.decimal(); ok && n.Kind == Float && !plainDigits(n.Text) {
		return x
	}
	return n.Text
}

// wholeNumber reads an Int in plain decimal digits that fits.
func (n *Node) wholeNumber() (int64, bool) {
	if n.Kind != Int || !plainDigits(n.Text) {
		return 0, false
	}
	x, err := strconv.ParseInt(n.Text, 10, 64)
	return x, err == nil
}

// plainDigits refuses 010, which is 8 to some readers and 10 to others, as well as 0x10 and 1_000.
func plainDigits(s string) bool {
	s = strings.TrimLeft(s[:min(1, len(s))], "+-") + s[min(1, len(s)):]
	if s == "" || len(s) > 1 && s[0] == '0' {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}

var decimalFloat = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// decimal reads an Int or Float in decimal notation that is finite.
func (n *Node) decimal() (float64, bool) {
	if x, ok := n.wholeNumber(); ok {
		return float64(x), true
	}
	if n.Kind != Float || !decimalFloat.MatchString(n.Text) {
		return 0, false
	}
	x, err := strconv.ParseFloat(n.Text, 64)
	return x, err == nil && !math.IsInf(x, 0)
}
