package expr

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// Want says what an expression must evaluate to.
type Want int

// WantAny takes every result; WantList takes a list, and a dynamic value that is found to be one.
const (
	WantAny Want = iota
	WantBool
	WantNumber
	WantString
	WantList
)

type programKey struct {
	src  string
	want Want
}

type compiled struct {
	program *Program
	faults  []Fault
}

// Compile checks an expression and makes it ready to run. The program is nil exactly if one of the faults is not a
// warning.
func (e *Env) Compile(src string, want Want) (*Program, []Fault) {
	key := programKey{src, want}
	if known, ok := e.programs.Load(key); ok {
		c := known.(*compiled)
		return c.program, c.faults
	}
	program, faults := e.compile(src, func(program *Program) []Fault { return mismatch(program, want) })
	e.programs.Store(key, &compiled{program, faults})
	return program, faults
}

// compile runs the checks in the order in which they make sense; accept judges the type of the result.
func (e *Env) compile(src string, accept func(*Program) []Fault) (program *Program, faults []Fault) {
	defer func() {
		if r := recover(); r != nil {
			program, faults = nil, []Fault{{What: fmt.Sprintf("the expression cannot be compiled: %v", r)}}
		}
	}()
	if !utf8.ValidString(src) {
		return nil, []Fault{{What: "the expression is not valid UTF-8"}}
	}
	checked, issues := e.cel.Compile(src)
	if issues.Err() != nil {
		return nil, e.explain(src, issues)
	}
	program = &Program{env: e, tree: checked.NativeRep()}
	faults = append(accept(program), dialectFaults(program.tree)...)
	faults = append(faults, wordFaults(program.tree, e.options.Words)...)
	faults = append(faults, program.plan(checked)...)
	faults = append(faults, arithmeticWarnings(program.tree)...)
	if anyError(faults) {
		return nil, faults
	}
	program.reads = reads(program.tree)
	return program, faults
}

// plan estimates the cost and makes the program that the estimate allows.
func (p *Program) plan(checked *cel.Ast) []Fault {
	sizes := newEstimator(p.tree)
	estimate, err := p.env.cel.EstimateCost(checked, sizes)
	if err != nil {
		return []Fault{{What: "estimating the cost: " + err.Error()}}
	}
	if estimate.Max > maxEstimate && !p.env.options.NoEstimate {
		return []Fault{tooDear(estimate.Max)}
	}
	cheap := estimate.Max <= provedCheap && !sizes.guessed
	p.watched = searching(p.tree) || !cheap && !(estimate.Max <= maxEstimate && linear(p.tree))
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize), cel.CustomDecoratorV2(ordered(p.tree)), cel.CustomDecoratorV2(bounded)}
	if p.watched {
		options = append(options, cel.CustomDecoratorV2(newTariff(p.tree).decorate))
	}
	if p.run, err = p.env.cel.Program(checked, options...); err != nil {
		return []Fault{{What: err.Error()}}
	}
	return nil
}

func tooDear(estimate uint64) Fault {
	f := Fault{Hint: "walk shorter lists, and do not nest map, filter, all or exists"}
	if estimate > math.MaxInt64 {
		f.What = "nothing bounds the cost of this expression"
		return f
	}
	f.What = fmt.Sprintf("this expression could cost %d steps; %d are allowed", estimate, maxEstimate)
	return f
}

// mismatch refuses a result that is not what the place needs; a dynamic one has to be converted in the expression, so
// that a wrong value is an error and never quietly something else.
func mismatch(p *Program, want Want) []Fault {
	t := p.tree.GetType(p.tree.Expr().ID())
	dynamic := isDynamic(t)
	var needs, wrap string
	switch want {
	case WantAny:
		return nil
	case WantList:
		if dynamic || t.Kind() == types.ListKind {
			return nil
		}
		needs = "a list"
	case WantBool:
		if t.Kind() == types.BoolKind {
			return nil
		}
		needs, wrap = "true or false", "bool"
	case WantNumber:
		if k := t.Kind(); k == types.DoubleKind || k == types.IntKind || k == types.UintKind {
			return nil
		}
		needs, wrap = "a number", "double"
	case WantString:
		if t.Kind() == types.StringKind {
			return nil
		}
		needs, wrap = "a string", "string"
	}
	f := Fault{What: fmt.Sprintf("this must be %s, but it is %s", needs, showType(t))}
	if dynamic {
		f.What = fmt.Sprintf("this must be %s, but its type is known only at run time", needs)
	}
	if dynamic || want == WantString && isScalar(t) {
		f.Hint = "wrap it: " + wrap + "(...)"
	}
	return []Fault{f}
}

func isDynamic(t *types.Type) bool {
	k := t.Kind()
	return k == types.DynKind || k == types.AnyKind || k == types.TypeParamKind
}

func isScalar(t *types.Type) bool {
	switch t.Kind() {
	case types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.DurationKind, types.TimestampKind:
		return true
	}
	return false
}

// dialectFaults refuses what CEL can write and the language does not have: typed message literals, maps whose keys are
// not strings, records as JSON.
func dialectFaults(tree *ast.AST) []Fault {
	var faults []Fault
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.CallKind:
			call := e.AsCall()
			faults = append(faults, patternFaults(tree, patternOf(call))...)
			if call.FunctionName() == "json" && holdsRecords(tree.GetType(call.Args()[0].ID())) {
				faults = append(faults, faultAt(tree, call.Args()[0].ID(), "a record cannot be written as JSON", "choose its fields: {\"output\": ...}"))
			}
		case ast.StructKind:
			faults = append(faults, faultAt(tree, e.ID(), "a type name before {", `write an object as {"key": value}`))
		case ast.MapKind:
			faults = append(faults, keyFaults(tree, e.AsMap().Entries())...)
		}
	}))
	return faults
}

// patternFaults finds what is wrong with a regular expression that stands in the expression.
func patternFaults(tree *ast.AST, e ast.Expr) []Fault {
	source, ok := literalText(e)
	if !ok {
		return nil
	}
	if _, err := CompilePattern(source); err != nil {
		return []Fault{faultAt(tree, e.ID(), err.Error(), PatternHint(err))}
	}
	return nil
}

func keyFaults(tree *ast.AST, entries []ast.EntryExpr) []Fault {
	var faults []Fault
	seen := map[string]bool{}
	for _, entry := range entries {
		key := entry.AsMapEntry().Key()
		if t := tree.GetType(key.ID()); t.Kind() != types.StringKind && !isDynamic(t) {
			faults = append(faults, faultAt(tree, key.ID(), "the keys of an object are strings", `write "key": value`))
		}
		name, ok := literalText(key)
		if ok && seen[name] {
			faults = append(faults, faultAt(tree, key.ID(), fmt.Sprintf("the key %q appears twice", name), ""))
		}
		seen[name] = ok
	}
	return faults
}

func faultAt(tree *ast.AST, node int64, what, hint string) Fault {
	f := Fault{What: what, Hint: hint}
	if r, ok := tree.SourceInfo().GetOffsetRange(node); ok {
		f.Offset = max(0, int(r.Start))
	}
	return f
}
