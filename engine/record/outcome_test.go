package record

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// Every class of errors that is declared is among all of them, once.
func TestErrorClassesAreAll(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "outcome.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "ErrorClass" {
				declared++
			}
		}
		return true
	})
	all := slices.Clone(ErrorClasses)
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != declared || n != len(ErrorClasses) {
		t.Errorf("%d classes are declared, %d of %d listed ones differ", declared, n, len(ErrorClasses))
	}
}
