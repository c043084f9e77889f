package expr

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
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
	watched bool // cost and time are watched
	reads   []string
}

// Reads are the variables and paths that the expression reads, sorted: "output", "param.threshold", "usage.cost_usd".
// A path goes as deep as the expression names it; param["a.b"] is "param.a.b".
func (p *Program) Reads() []string { return p.reads }

// IsBool says that every result is true or false, which is known before there is one.
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
		value, _, err := p.run.Eval(activation{scope})
		if err != nil {
			return nil, p.failure(err)
		}
		return value, nil
	}
	limits := p.env.options
	b := &budget{ctx: ctx, left: int64(limits.CostLimit), deadline: time.Now().Add(limits.Deadline), unseen: lookEvery}
	value, _, err := p.run.Eval(&watchedActivation{activation{scope}, b})
	switch {
	case b.stopped != Evaluation:
		return nil, p.stopped(b)
	case err != nil:
		return nil, p.failure(err)
	}
	return value, nil
}

// activation hands the scope to cel-go.
type activation struct{ scope Scope }

// ResolveName implements [cel.Activation].
func (a activation) ResolveName(name string) (any, bool) { return a.scope.Lookup(name) }

// Parent implements [cel.Activation].
func (a activation) Parent() interpreter.Activation { return nil }

// watchedActivation carries the budget besides.
type watchedActivation struct {
	activation
	budget *budget
}

// ResolveName implements [cel.Activation].
func (w *watchedActivation) ResolveName(name string) (any, bool) {
	if name == budgetName {
		return w.budget, true
	}
	return w.scope.Lookup(name)
}
