package spec

import (
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// dimension is a parameter of a sweep with its values.
type dimension []setting

func sweepOf(n *source.Node) []dimension {
	if n == nil {
		return nil
	}
	dimensions := make([]dimension, len(n.Entries))
	for i, entry := range n.Entries {
		for _, item := range entry.Value.Items {
			dimensions[i] = append(dimensions[i], setting{path: entry.Key, at: entry.KeyPos, value: item})
		}
	}
	return dimensions
}

// manyCombinations is where counting ends: a count that nobody could run need not be exact.
const manyCombinations = int64(1_000_000_000_000)

func combinations(sweep []dimension) int64 {
	n := int64(1)
	for _, d := range sweep {
		n = min(n*int64(len(d)), manyCombinations)
	}
	return n
}

func thousands(n int64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// spread makes every combination, the last parameter changing fastest.
func (l *loader) spread(file *loopFile, name string, base []setting, sweep []dimension) []Resolved {
	var all []Resolved
	names := l.sweepNames(file, base, sweep)
	chosen := make([]int, len(sweep))
	for range combinations(sweep) {
		settings := append([]setting(nil), base...)
		values := make([]string, len(sweep))
		for i, d := range sweep {
			settings = append(settings, d[chosen[i]])
			values[i] = names[i] + "=" + valueText(d[chosen[i]].value)
		}
		all = append(all, l.resolved(file, fmt.Sprintf("%s[%s]", name, strings.Join(values, ",")), settings)...)
		advance(chosen, sweep)
	}
	return all
}

func advance(chosen []int, sweep []dimension) {
	for i := len(chosen) - 1; i >= 0; i-- {
		if chosen[i]++; chosen[i] < len(sweep[i]) {
			return
		}
		chosen[i] = 0
	}
}

// sweepNames are the shortest suffixes of the paths of a sweep that mean no other parameter of the loop.
func (l *loader) sweepNames(file *loopFile, base []setting, sweep []dimension) []string {
	first := append([]setting(nil), base...)
	paths := make([]string, len(sweep))
	for i, d := range sweep {
		first = append(first, d[0])
		paths[i] = d[0].path
	}
	loop := &Loop{}
	if l.decoder.Whole(l.withSettings(file.tree, first), loop).Err() == nil {
		loop.applyPresets()
		return loop.ShortNames(paths...)
	}
	return (&Loop{}).ShortNames(paths...)
}

// valueText is a value as it is written in the name of a configuration.
func valueText(n *source.Node) string {
	if n.Kind != source.List && n.Kind != source.Map {
		return n.Text
	}
	text, err := expr.AppendJSON(nil, valueOf(n.Plain()))
	if err != nil {
		return "?" // it is refused when it is decoded
	}
	return string(text)
}
