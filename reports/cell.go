package reports

// cell is one cell, for people and for machines.
type cell struct {
	text string
	// raw is a string, a number, or nil for a number that is missing.
	raw any
	// foreign says that the text comes from outside, for example a name.
	foreign  bool
	warnings []note
}

// of makes a cell of a value.
func of(v Value, form func(Value) string, warnings ...note) cell {
	c := cell{text: form(v), warnings: warnings}
	if v.Known() {
		c.raw = v.Number
	}
	return c
}

func ofCount(n int) cell { return cell{text: count(known(float64(n))), raw: n} }

func ofName(name string, warnings ...note) cell {
	return cell{text: name, raw: name, foreign: true, warnings: warnings}
}

func ofText(text string) cell { return cell{text: text, raw: text} }

// ofEnd is the end of an interval. Why there is none stands beside it.
func ofEnd(v Value) cell {
	if !v.Known() {
		return cell{}
	}
	return cell{raw: v.Number}
}
