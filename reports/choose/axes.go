package choose

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
)

// axes are the parameters of the candidates, and the values that each takes, the
// smallest first.
type axes struct {
	paths  []string // in the order declared
	values [][]any  // by path; nil is off, or not set
	at     [][]int  // by candidate and path, the place of its value; the last is that of its base
	rank   []int    // by candidate: its place among all, the one with the smaller parameters first
	found  map[string]int
}

// axesOf finds them. Numbers and durations are ordered as such, other values as
// they first come; off is the largest.
func axesOf(candidates []sweep.Candidate) *axes {
	a := &axes{at: make([][]int, len(candidates)), found: map[string]int{}}
	column := map[string]int{}
	var first []map[string]int // by path: in which order texts come
	for i := range candidates {
		for _, p := range candidates[i].Params {
			at, known := column[p.Path]
			if !known {
				at = len(a.paths)
				column[p.Path] = at
				a.paths, a.values, first = append(a.paths, p.Path), append(a.values, nil), append(first, map[string]int{})
			}
			key := keyOf(p.Value)
			if _, seen := first[at][key]; !seen {
				first[at][key] = len(a.values[at])
				a.values[at] = append(a.values[at], p.Value)
			}
		}
	}
	a.sort(candidates, column, first)
	return a
}

// sort puts the values, and the candidates by them, into order.
func (a *axes) sort(candidates []sweep.Candidate, column map[string]int, first []map[string]int) {
	var bases []string
	for i := range candidates {
		bases = append(bases, candidates[i].Base)
	}
	slices.Sort(bases)
	places := make([]map[string]int, len(a.paths))
	for at := range a.paths {
		slices.SortFunc(a.values[at], func(x, y any) int {
			return cmp.Or(compareValues(x, y), cmp.Compare(first[at][keyOf(x)], first[at][keyOf(y)]))
		})
		places[at] = map[string]int{}
		for i, v := range a.values[at] {
			places[at][keyOf(v)] = i
		}
	}
	for i := range candidates {
		a.at[i] = make([]int, len(a.paths)+1)
		a.at[i][len(a.paths)], _ = slices.BinarySearch(bases, candidates[i].Base)
		for at := range a.paths {
			a.at[i][at] = absent(places[at], len(a.values[at]))
		}
		for _, p := range candidates[i].Params {
			a.at[i][column[p.Path]] = places[column[p.Path]][keyOf(p.Value)]
		}
		if _, taken := a.found[placeKey(a.at[i])]; !taken {
			a.found[placeKey(a.at[i])] = i
		}
	}
	a.order()
}

// absent is the place of a parameter that is not set: beside off, the last.
func absent(places map[string]int, n int) int {
	if at, ok := places[keyOf(nil)]; ok {
		return at
	}
	return n
}

func (a *axes) order() {
	order := make([]int, len(a.at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return slices.Compare(a.at[x], a.at[y]) })
	a.rank = make([]int, len(order))
	for place, i := range order {
		a.rank[i] = place
	}
}

// beside is the candidate that differs only in one parameter, by steps up or down
// among its values.
func (a *axes) beside(candidate, path, steps int) (other int, ok bool) {
	places := slices.Clone(a.at[candidate])
	places[path] += steps
	if places[path] < 0 || places[path] >= len(a.values[path]) {
		return 0, false
	}
	other, ok = a.found[placeKey(places)]
	return other, ok
}

// param is the value of a parameter of a candidate, nil where it is off or not set.
func (a *axes) param(candidate, path int) any {
	if at := a.at[candidate][path]; at < len(a.values[path]) {
		return a.values[path][at]
	}
	return nil
}

// compareValues orders numbers before texts, and off behind all.
func compareValues(x, y any) int {
	a, aKind := amountOf(x)
	b, bKind := amountOf(y)
	return cmp.Or(cmp.Compare(aKind, bKind), cmp.Compare(a, b))
}

func amountOf(value any) (amount float64, kind int) {
	switch v := value.(type) {
	case float64:
		return v, 0
	case int64:
		return float64(v), 0
	case int:
		return float64(v), 0
	case time.Duration:
		return v.Seconds(), 1
	case string:
		if d, err := time.ParseDuration(v); err == nil {
			return d.Seconds(), 1
		}
		if v != off {
			return 0, 2
		}
		return 0, 4
	case nil:
		return 0, 4
	}
	return 0, 3
}

// off is how people write that a limit is none.
const off = "off"

// keyOf tells equal values from others.
func keyOf(value any) string {
	switch n, kind := amountOf(value); kind {
	case 0, 1:
		value = [2]float64{n, float64(kind)}
	case 4:
		value = nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	return string(text)
}

func placeKey(places []int) string {
	key := make([]byte, 0, 4*len(places))
	for _, p := range places {
		key = append(key, byte(p), byte(p>>8), byte(p>>16), byte(p>>24))
	}
	return string(key)
}

// changes are the parameters in which a candidate differs from a loop, which may
// be nil: then nothing is known of it.
func changes(from *spec.Loop, to *sweep.Candidate) []tune.Change {
	all, before := []tune.Change{}, []spec.Value{}
	if from != nil {
		before = from.Values()
	}
	for _, p := range to.Params {
		change := tune.Change{Path: p.Path, To: valueText(p.Value)}
		at := slices.IndexFunc(before, func(v spec.Value) bool {
			return v.Parameter && (v.Path == p.Path || strings.HasSuffix(v.Path, "."+p.Path))
		})
		switch {
		case at >= 0 && keyOf(before[at].Value) == keyOf(p.Value):
			continue
		case at >= 0:
			change.From = valueText(before[at].Value)
		case from != nil:
			change.From = valueText(nil)
		}
		if change.From != change.To {
			all = append(all, change)
		}
	}
	return all
}

// valueText is a value for people.
func valueText(value any) string {
	switch v := value.(type) {
	case nil:
		return off
	case string:
		return v
	case time.Duration:
		return v.String()
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	return string(text)
}
