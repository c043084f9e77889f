package page

type Cell struct {
	Text string
	// Raw is a string, a number, or nil for a number that is missing.
	Raw any
	// Foreign says that the text comes from outside, for example a name.
	Foreign  bool
	Warnings []Warning
}

// Number makes a cell of a value.
func Number(v Value, form func(Value) string, warnings ...Warning) Cell {
	c := Cell{Text: form(v), Warnings: warnings}
	if v.Known() {
		c.Raw = v.Number
	}
	return c
}

// Count makes a cell of a number of things.
func Count(n int) Cell { return Cell{Text: Whole(Known(float64(n))), Raw: n} }

// Name makes a cell of a text from outside.
func Name(name string, warnings ...Warning) Cell {
	return Cell{Text: name, Raw: name, Foreign: true, Warnings: warnings}
}

// Text makes a cell of a text of our own.
func Text(text string) Cell { return Cell{Text: text, Raw: text} }

// ofEnd is the end of an interval. Why there is none stands beside it.
func ofEnd(v Value) Cell {
	if !v.Known() {
		return Cell{}
	}
	return Cell{Raw: v.Number}
}
