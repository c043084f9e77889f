package expr

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// reads lists the variables and paths that a tree reads. Names bound by comprehensions are not variables.
func reads(tree *ast.AST) []string {
	r := reader{bound: map[string]int{}, paths: map[string]bool{}}
	r.visit(tree.Expr())
	sorted := make([]string, 0, len(r.paths))
	for path := range r.paths {
		sorted = append(sorted, path)
	}
	slices.Sort(sorted)
	return sorted
}

type reader struct {
	bound map[string]int // how often a name is bound around here
	paths map[string]bool
}

func (r *reader) visit(e ast.Expr) {
	if path, ok := r.path(e); ok {
		if path != "" {
			r.paths[path] = true
		}
		return
	}
	switch e.Kind() {
	case ast.SelectKind:
		r.visit(e.AsSelect().Operand())
	case ast.CallKind:
		if e.AsCall().IsMemberFunction() {
			r.visit(e.AsCall().Target())
		}
		r.visitAll(e.AsCall().Args())
	case ast.ListKind:
		r.visitAll(e.AsList().Elements())
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.visit(entry.AsMapEntry().Key())
			r.visit(entry.AsMapEntry().Value())
		}
	case ast.ComprehensionKind:
		r.comprehension(e.AsComprehension())
	}
}

func (r *reader) visitAll(all []ast.Expr) {
	for _, e := range all {
		r.visit(e)
	}
}

func (r *reader) comprehension(c ast.ComprehensionExpr) {
	r.visit(c.IterRange())
	r.visit(c.AccuInit())
	names := []string{c.AccuVar(), c.IterVar(), c.IterVar2()}
	for _, name := range names {
		r.bound[name]++
	}
	r.visitAll([]ast.Expr{c.LoopCondition(), c.LoopStep(), c.Result()})
	for _, name := range names {
		r.bound[name]--
	}
}

// path is the dotted path that an expression is, "" for one that starts at a bound name.
func (r *reader) path(e ast.Expr) (string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		name, outermost := strings.CutPrefix(e.AsIdent(), ".")
		if r.bound[name] > 0 && !outermost {
			return "", true
		}
		return name, true
	case ast.SelectKind:
		return r.step(e.AsSelect().Operand(), e.AsSelect().FieldName())
	case ast.CallKind:
		return r.indexPath(e.AsCall())
	}
	return "", false
}

// indexPath follows x["key"], x.?key and x[?"key"].
func (r *reader) indexPath(call ast.CallExpr) (string, bool) {
	switch call.FunctionName() {
	case operators.Index, operators.OptIndex, operators.OptSelect:
	default:
		return "", false
	}
	args := call.Args()
	if len(args) != 2 || args[1].Kind() != ast.LiteralKind {
		return "", false
	}
	if key, ok := args[1].AsLiteral().(types.String); ok {
		return r.step(args[0], string(key))
	}
	return "", false
}

func (r *reader) step(operand ast.Expr, key string) (string, bool) {
	path, ok := r.path(operand)
	if !ok || path == "" {
		return path, ok
	}
	return path + "." + key, true
}
