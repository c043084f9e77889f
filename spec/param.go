package spec

import (
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
)

// paramOf is what expressions see as param: the parameters by full path, by every unambiguous suffix, and nested,
// so that param.terminate.max_iterations, param["terminate.max_iterations"] and param.max_iterations are the same.
func paramOf(leaves []leaf) *expr.Object {
	param := expr.NewObject(3 * len(leaves))
	suffixes := newSuffixes(leaves)
	for _, leaf := range leaves {
		if leaf.parameter {
			nest(param, leaf.path, leaf.value)
		}
	}
	for _, leaf := range leaves {
		if leaf.parameter {
			for _, name := range suffixes.unambiguous(leaf.path) {
				setNew(param, name, leaf.value)
			}
		}
	}
	return param
}

func setNew(object *expr.Object, key string, value any) {
	if _, taken := object.Get(key); !taken {
		object.Set(key, value)
	}
}

func nest(object *expr.Object, path string, value any) {
	first, rest, nested := strings.Cut(path, ".")
	if !nested {
		object.Set(first, value)
		return
	}
	below, _ := object.Get(first)
	inner, ok := below.(*expr.Object)
	if !ok {
		inner = expr.NewObject(4)
		object.Set(first, inner)
	}
	nest(inner, rest, value)
}

// suffixes counts the ends of paths, to find the shortest that means one path only.
type suffixes map[string]int

func newSuffixes(leaves []leaf) suffixes {
	s := suffixes{}
	for _, leaf := range leaves {
		if leaf.parameter {
			s.count(leaf.path)
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
