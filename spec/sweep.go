package spec

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// dimension is a parameter of a sweep with its values.
type dimension []Assignment

// manyCombinations is where counting ends: a count that nobody could run need not be exact.
const manyCombinations = int64(1_000_000_000_000)

func combinations(sweep []dimension) int64 {
	n := int64(1)
	for _, d := range sweep {
		n = min(n*int64(len(d)), manyCombinations)
	}
	return n
}

// Thousands is a whole number, of whatever type, in groups of three digits.
func Thousands(n any) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// spread makes every combination, the last parameter changing fastest.
func (l *loader) spread(file *loopFile, name string, base []Assignment, sweep []dimension) []Resolved {
	var all []Resolved
	names, taken := l.sweepNames(file, base, sweep), map[string]bool{}
	chosen := make([]int, len(sweep))
	for range combinations(sweep) {
		settings := append([]Assignment(nil), base...)
		values := make([]string, len(sweep))
		for i, d := range sweep {
			settings = append(settings, d[chosen[i]])
			values[i] = names[i] + "=" + d[chosen[i]].Text()
		}
		variant := VariantName(name, strings.Join(values, ","), func(name string) bool { return taken[name] })
		taken[variant] = true
		all = append(all, l.resolved(file, variant, settings)...)
		for i := len(chosen) - 1; i >= 0; i-- {
			if chosen[i]++; chosen[i] < len(sweep[i]) {
				break
			}
			chosen[i] = 0
		}
	}
	return all
}

// VariantName names a configuration after another one and its parameters: plain@max_iterations=2,threshold=0.9. What shells
// interpret becomes _ or is left out, so that the name needs no quotes; a name that is taken gets a number.
func VariantName(base, params string, taken func(string) bool) string {
	plain := func(r rune) rune {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./=:,@%+", r):
			return r
		case strings.ContainsRune("\"'{}[]", r): // of lists and mappings
			return -1
		}
		return '_'
	}
	name := base + "@" + strings.Map(plain, params)
	for n := 2; taken(name); n++ {
		name = fmt.Sprintf("%s@%s+%d", base, strings.Map(plain, params), n)
	}
	return name
}

// sweepNames are the shortest suffixes of the paths of a sweep that mean no other parameter of the loop.
func (l *loader) sweepNames(file *loopFile, base []Assignment, sweep []dimension) []string {
	first := slices.Clone(base)
	paths := make([]string, len(sweep))
	for i, d := range sweep {
		first = append(first, d[0])
		paths[i] = d[0].Path
	}
	loop := &Loop{}
	if l.decoder.Whole(l.withSettings(file.tree, first), loop).Err() == nil {
		loop.applyPresets()
		return loop.ShortNames(paths...)
	}
	return (&Loop{}).ShortNames(paths...)
}

// ShortNames are the shortest suffixes of paths that mean no other parameter of the loop, nor each other: what the
// parameters of a sweep are called in the names of its configurations.
func (l *Loop) ShortNames(paths ...string) []string {
	count := suffixes{}
	known := map[string]bool{}
	add := func(path string) {
		if !known[path] {
			known[path] = true
			count.count(path)
		}
	}
	for _, path := range paths {
		add(FullPath(path))
	}
	for _, leaf := range l.Values() {
		if leaf.Parameter {
			add(leaf.Path)
		}
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = count.shortest(FullPath(path))
	}
	return names
}

// suffixes counts the ends of paths, to find the shortest that means one path only.
type suffixes map[string]int

func newSuffixes(leaves []Value) suffixes {
	s := suffixes{}
	for _, leaf := range leaves {
		if leaf.Parameter {
			s.count(leaf.Path)
		}
	}
	return s
}

func (s suffixes) count(path string) {
	for {
		s[path]++
		_, rest, more := strings.Cut(path, ".")
		if !more {
			return
		}
		path = rest
	}
}

// unambiguous are the path itself and its suffixes that were counted once.
func (s suffixes) unambiguous(path string) []string {
	names := []string{path}
	for {
		_, rest, more := strings.Cut(path, ".")
		if !more {
			return names
		}
		if path = rest; s[path] == 1 {
			names = append(names, path)
		}
	}
}

// shortest is the shortest suffix of a path that was counted once.
func (s suffixes) shortest(path string) string {
	for at := strings.LastIndexByte(path, '.'); at >= 0; at = strings.LastIndexByte(path[:at], '.') {
		if s[path[at+1:]] == 1 {
			return path[at+1:]
		}
	}
	return path
}
