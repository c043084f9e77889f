// Package expr compiles and evaluates the expressions of a suite, which are CEL. Compile a text with the environment of
// its place (places.go), which refuses what is wrong or could run away, and evaluate the Program on a Scope of plain values.
//
// The stages: a [Type] describes a variable, [NewEnv] makes an environment of variables, [Env.Compile] and
// [Env.Template] check a text and give a [Program] or a [Template] or the [Fault] list, and those are evaluated on a
// [Scope]. places.go holds the environments of the language.
//
// # Values
//
// Plain values are nil, bool, float64, int64, string, [time.Duration], []any and [*Object], which keeps the order of its
// keys. Numbers of JSON are always float64; counters of ours are int64. A scope may also hand out [Fields] for struct
// types and [List] for lists that it does not want to copy.
//
// # Language
//
// Standard CEL with comparisons across number types, optionals (a.?b.orValue(0.0)), cel.bind, two-variable
// comprehensions, and cel-go's libraries strings, math, lists, sets and regex. Keys of maps are strings, and every
// comprehension over a map visits its keys in the order in which they were written. Functions of our own:
//
//   - mean(list) double: the mean of the numbers of the list; nulls are skipped, an empty list is an error.
//   - sum(list) double: their sum; 0.0 for an empty list.
//   - json(value) string: the value as JSON on one line.
//
// # JSON Schemas
//
// [CompileSchema] reads the schemas of arguments and answers ([JSONSchema]).
//
// # Limits
//
// An expression is at most 4,096 characters and 40 levels deep. One with loops, or with functions that could make
// much of little, is watched while it runs (limits.go): it walks over so many elements and makes so long texts, and has
// a deadline. That is far beyond what bounded values take: results must not depend on how busy the machine is. A
// regular expression is bounded before it searches (pattern.go).
//
// It is no stable API.
package expr

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// Scope gives an evaluation the values of its variables: plain values, Fields or List.
type Scope interface {
	Lookup(name string) (value any, ok bool)
}

// Program is a compiled expression. It is safe for concurrent use.
type Program struct {
	env     *Env
	run     cel.Program
	tree    *ast.AST
	watched bool // sizes and time are watched
	reads   []string
}

// Reads are the variables and paths that the expression reads, sorted: "output", "param.threshold", "usage.cost_usd".
// A path goes as deep as the expression names it; param["a.b"] is "param.a.b".
func (p *Program) Reads() []string { return p.reads }

// IsBool reports whether every result is true or false, which is known before there is one.
func (p *Program) IsBool() bool { return p.tree.GetType(p.tree.Expr().ID()).Kind() == types.BoolKind }

// Bool evaluates a condition.
func (p *Program) Bool(ctx context.Context, scope Scope) (bool, error) {
	value, err := p.eval(ctx, scope)
	if err != nil {
		return false, err
	}
	if b, ok := value.(types.Bool); ok {
		return bool(b), nil
	}
	return false, p.unlike(value, "true or false")
}

// Number evaluates to a finite number.
func (p *Program) Number(ctx context.Context, scope Scope) (float64, error) {
	value, err := p.eval(ctx, scope)
	if err != nil {
		return 0, err
	}
	switch n := value.(type) {
	case types.Double:
		if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
			return 0, &Error{What: "the result is not a finite number", Offset: p.offset(0)}
		}
		return float64(n), nil
	case types.Int:
		return float64(n), nil
	case types.Uint:
		return float64(n), nil
	}
	return 0, p.unlike(value, "a number")
}

// String evaluates to a text.
func (p *Program) String(ctx context.Context, scope Scope) (string, error) {
	value, err := p.eval(ctx, scope)
	if err != nil {
		return "", err
	}
	if s, ok := value.(types.String); ok {
		return string(s), nil
	}
	return "", p.unlike(value, "a string")
}

// List evaluates to a list of plain values.
func (p *Program) List(ctx context.Context, scope Scope) ([]any, error) {
	value, err := p.Value(ctx, scope)
	if err != nil {
		return nil, err
	}
	if list, ok := value.([]any); ok {
		return list, nil
	}
	return nil, &Error{What: "the result is not a list", Offset: p.offset(0)}
}

// Value evaluates to a plain value. Records become objects. The caller must not change it: it may be part of the input.
func (p *Program) Value(ctx context.Context, scope Scope) (any, error) {
	value, err := p.eval(ctx, scope)
	if err != nil {
		return nil, err
	}
	return p.plain(value)
}

func (p *Program) plain(value ref.Val) (any, error) {
	to := plainer{structs: p.env.provider.structs, left: p.env.options.MaxValues}
	plain, err := to.plain(value, p.tree.GetType(p.tree.Expr().ID()))
	if err != nil {
		kind := Evaluation
		if errors.Is(err, errTooManyValues) {
			kind = TooLarge
		}
		return nil, &Error{Kind: kind, What: err.Error(), Offset: p.offset(0), Err: err}
	}
	return plain, nil
}

func (p *Program) unlike(value ref.Val, want string) error {
	return &Error{What: "the result is " + typeName(value) + ", not " + want, Offset: p.offset(0)}
}

func (p *Program) eval(ctx context.Context, scope Scope) (ref.Val, error) {
	if !p.watched {
		value, _, err := p.run.Eval(&activation{scope: scope})
		if err != nil {
			return nil, p.failure(err)
		}
		return value, nil
	}
	limited, cancel := context.WithTimeout(ctx, p.env.options.Deadline)
	defer cancel()
	value, _, err := p.run.ContextEval(limited, &activation{scope: scope})
	switch {
	case err == nil:
		return value, nil
	case ctx.Err() != nil:
		return nil, &Error{Kind: Cancelled, What: "the evaluation was cancelled", Offset: p.offset(0), Err: context.Cause(ctx)}
	case limited.Err() != nil:
		what := fmt.Sprintf("the expression took longer than %v on these values", p.env.options.Deadline)
		return nil, &Error{Kind: DeadlineExceeded, What: what, Offset: p.offset(0), Err: context.DeadlineExceeded}
	}
	return nil, p.failure(err)
}

// activation hands the scope to cel-go, and counts what one evaluation does.
type activation struct {
	scope  Scope
	walked int // elements of lists and maps
}

// ResolveName implements [cel.Activation].
func (a *activation) ResolveName(name string) (any, bool) {
	if name == walkedName {
		return &a.walked, true
	}
	return a.scope.Lookup(name)
}

// Parent implements [cel.Activation].
func (a *activation) Parent() interpreter.Activation { return nil }

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
