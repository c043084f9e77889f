package propertytest

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// properties are how many tests of the package that runs now try a property, of
// those that -run selects.
func properties(t *testing.T) int {
	counting.Do(func() { counted = count(t, "*_test.go", flag.Lookup("test.run").Value.String()) })
	return counted
}

var (
	counting sync.Once
	counted  int
)

// count finds the tests of files that mention this package, be it by functions
// which they share. It is at least 1.
func count(t *testing.T, files, run string) (n int) {
	first, _, _ := strings.Cut(run, "/")
	selected, err := regexp.Compile(first)
	if err != nil {
		t.Fatal(err)
	}
	mentioned := mentions(t, files)
	for name := range mentioned {
		if strings.HasPrefix(name, "Test") && selected.MatchString(name) && reaches(mentioned, name, map[string]bool{}) {
			n++
		}
	}
	return max(n, 1)
}

// mentions are the names that stand in what files declare, by its own name.
func mentions(t *testing.T, files string) map[string][]string {
	all := map[string][]string{}
	paths, _ := filepath.Glob(files)
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			add(all, declared)
		}
	}
	return all
}

// add adds a function, or each line of a group of variables.
func add(all map[string][]string, declared ast.Node) {
	switch d := declared.(type) {
	case *ast.FuncDecl:
		all[d.Name.Name] = append(all[d.Name.Name], names(d)...)
	case *ast.GenDecl:
		for _, one := range d.Specs {
			if values, ok := one.(*ast.ValueSpec); ok {
				all[values.Names[0].Name] = names(values)
			}
		}
	}
}

func names(in ast.Node) (all []string) {
	ast.Inspect(in, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			all = append(all, name.Name)
		}
		return true
	})
	return all
}

// reaches reports whether a name leads to this package.
func reaches(mentioned map[string][]string, name string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	for _, next := range mentioned[name] {
		if next == "propertytest" || reaches(mentioned, next, seen) {
			return true
		}
	}
	return false
}
