package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// wordFaults refuses a comparison of a field that holds one of a few words with any other word: it would be false, or
// true, for ever.
func wordFaults(tree *ast.AST, words map[string][]string) []Fault {
	if len(words) == 0 {
		return nil
	}
	var faults []Fault
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
			return
		}
		switch args := e.AsCall().Args(); e.AsCall().FunctionName() {
		case operators.Equals, operators.NotEquals:
			faults = append(faults, wordFault(tree, words, args[0], args[1])...)
			faults = append(faults, wordFault(tree, words, args[1], args[0])...)
		case operators.In:
			if args[1].Kind() == ast.ListKind {
				for _, element := range args[1].AsList().Elements() {
					faults = append(faults, wordFault(tree, words, args[0], element)...)
				}
			}
		}
	}))
	return faults
}

func wordFault(tree *ast.AST, words map[string][]string, field, with ast.Expr) []Fault {
	text, literal := literalText(with)
	if field.Kind() != ast.SelectKind || !literal {
		return nil
	}
	name := field.AsSelect().FieldName()
	known := words[name]
	if known == nil || slices.Contains(known, text) {
		return nil
	}
	return []Fault{faultAt(tree, with.ID(), fmt.Sprintf("%s is never %q", name, text), "it is one of: "+strings.Join(known, ", "))}
}
