package expr

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/google/cel-go/cel"
)

// suggestions are the names that somebody may have meant.
type suggestions struct {
	names  []string          // variables and functions
	fields []string          // of all structs
	paths  map[string]string // of the fields of variables, by the field: task.metadata
}

func newSuggestions(env *cel.Env, vars []Var) suggestions {
	s := suggestions{paths: map[string]string{}}
	for _, v := range vars {
		s.names = append(s.names, v.Name)
		s.fields = append(s.fields, fieldNames(v.Type)...)
		for _, f := range v.Type.fields {
			if s.paths[f.Name] == "" {
				s.paths[f.Name] = v.Name + "." + f.Name
			}
		}
	}
	for name := range env.Functions() {
		if !strings.ContainsAny(name, "_@!-") {
			s.names = append(s.names, name)
		}
	}
	for _, m := range env.Macros() {
		s.names = append(s.names, m.Function())
	}
	sort.Strings(s.names)
	sort.Strings(s.fields)
	return s
}

func fieldNames(t Type) []string {
	var names []string
	if t.elem != nil {
		return fieldNames(*t.elem)
	}
	for _, f := range t.fields {
		names = append(append(names, f.Name), fieldNames(f.Type)...)
	}
	return names
}

func (s suggestions) near(name string) string {
	if path := s.paths[name]; path != "" {
		return fmt.Sprintf("did you mean %q?", path)
	}
	return didYouMean(name, s.names)
}

// nearField says nothing of a field that another struct has by this very name.
func (s suggestions) nearField(name string) string {
	if slices.Contains(s.fields, name) {
		return ""
	}
	return didYouMean(name, s.fields)
}

func didYouMean(name string, known []string) string {
	best, distance := "", max(1, len(name)/3)+1
	for _, k := range known {
		if d := editDistance(name, k); d > 0 && d < distance && d < len(name) {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
