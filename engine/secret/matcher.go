package secret

import "bytes"

// form is a text to be found.
type form struct {
	text []byte
	// least is how much of it must be there: what was cut short, in an error
	// message for instance, is found as well.
	least int
}

// matcher finds any of many forms in one pass. It looks at the last two bytes of
// a window that is as long as the shortest form; a table says how far the window
// can be moved (S. Wu, U. Manber: A fast algorithm for multi-pattern searching,
// 1994).
type matcher struct {
	forms   []form
	window  int // at most 255
	longest int
	shift   [1 << 12]uint8
}

// cutShort is how many bytes of a value give it away, if they are half of it.
const cutShort = 12

func newMatcher(values []string) *matcher {
	m := &matcher{window: 255}
	for _, value := range values {
		for _, text := range formsOf(value) {
			f := form{text: []byte(text), least: min(len(text), max(cutShort, len(text)/2))}
			m.forms = append(m.forms, f)
			m.window = min(m.window, f.least)
			m.longest = max(m.longest, len(text))
		}
	}
	for i := range m.shift {
		m.shift[i] = uint8(m.window - 1)
	}
	for _, f := range m.forms {
		for i := range m.window - 1 {
			at := &m.shift[block(f.text[i], f.text[i+1])]
			*at = min(*at, uint8(m.window-2-i))
		}
	}
	return m
}

func block(a, b byte) int { return (int(a)<<5 ^ int(b)) & (1<<12 - 1) }

// find appends where forms stand, in order; they may overlap.
func (m *matcher) find(found []region, text []byte) []region {
	if m == nil {
		return found
	}
	for at := 0; at+m.window <= len(text); {
		end := at + m.window
		if skip := m.shift[block(text[end-2], text[end-1])]; skip > 0 {
			at += int(skip)
			continue
		}
		if n := m.longestAt(text[at:]); n > 0 {
			found = append(found, region{at, at + n})
		}
		at++
	}
	return found
}

// longestAt is how much of a form the text begins with, 0 if that is too little.
func (m *matcher) longestAt(text []byte) int {
	longest := 0
	for i := range m.forms {
		if n := common(m.forms[i].text, text); n >= m.forms[i].least {
			longest = max(longest, n)
		}
	}
	return longest
}

// common is how long two texts begin alike.
func common(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// open is where the end of a text may become a form with what follows; the
// text's length where nothing may.
func (m *matcher) open(text []byte) int {
	if m == nil {
		return len(text)
	}
	for at := max(0, len(text)-m.longest+1); at < len(text); at++ {
		for i := range m.forms {
			if bytes.HasPrefix(m.forms[i].text, text[at:]) {
				return at
			}
		}
	}
	return len(text)
}
