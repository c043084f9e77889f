package secret

import (
	"bytes"
	"cmp"
	"slices"
)

// region is a part of a text, from begin to before end.
type region struct{ begin, end int }

// longestEscape is that of \u003c.
const longestEscape = 6

// settle makes regions that can be replaced of what was found, of which the
// first so many are known values and the others shapes: they do not overlap, cut
// no escape of JSON in two, and are no part of its own numbers and names.
func settle(text []byte, found []region, known int) []region {
	kept := found[:0]
	for i, r := range found {
		if i < known && structural(text, r) {
			continue
		}
		kept = append(kept, region{escapeBefore(text, r.begin), escapeAfter(text, r)})
	}
	slices.SortFunc(kept, func(a, b region) int { return cmp.Compare(a.begin, b.begin) })
	return merge(kept)
}

// merge joins regions that overlap.
func merge(sorted []region) []region {
	var merged []region
	for _, r := range sorted {
		if last := len(merged) - 1; last >= 0 && r.begin < merged[last].end {
			merged[last].end = max(merged[last].end, r.end)
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// replace appends the text from a place on, with its regions replaced.
func replace(dst, text []byte, from int, regions []region) []byte {
	for _, r := range regions {
		dst = append(append(dst, text[from:r.begin]...), Replacement...)
		from = r.end
	}
	return append(dst, text[from:]...)
}

// structural says whether a known value is there by chance: a number that is
// the value of a JSON member, or the name of a member that is one plain word.
func structural(text []byte, r region) bool {
	value := text[r.begin:r.end]
	switch {
	case all(value, inNumber):
		before := r.begin
		for before > 0 && inNumber(text[before-1]) {
			before--
		}
		return bytes.HasSuffix(bytes.TrimRight(text[:before], " "), []byte(`":`))
	case all(value, inName):
		return r.begin > 0 && text[r.begin-1] == '"' && bytes.HasPrefix(text[r.end:], []byte(`":`))
	}
	return false
}

func all(text []byte, is func(byte) bool) bool {
	return !slices.ContainsFunc(text, func(c byte) bool { return !is(c) })
}

func inNumber(c byte) bool {
	return digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}
func inName(c byte) bool { return c >= 'a' && c <= 'z' || c == '_' }

// escapeBefore is where the escape begins that a place is within, else the place.
func escapeBefore(text []byte, at int) int {
	for begin := max(0, at-longestEscape+1); begin < at; begin++ {
		if escaping(text, begin) && begin+escapeLength(text, begin) > at {
			return begin
		}
	}
	return at
}

// escapeAfter is where the escape ends that the end of a region is within, else
// that end.
func escapeAfter(text []byte, r region) int {
	begin := escapeBefore(text, r.end)
	if begin == r.end {
		return r.end
	}
	return min(len(text), begin+escapeLength(text, begin))
}

// escaping says whether a backslash begins an escape there, and is none itself.
func escaping(text []byte, at int) bool {
	n := 0
	for n <= at && text[at-n] == '\\' {
		n++
	}
	return n%2 == 1
}

func escapeLength(text []byte, at int) int {
	if at+1 < len(text) && text[at+1] == 'u' {
		return longestEscape
	}
	return 2
}
