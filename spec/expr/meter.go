package expr

import (
	"context"
	"math"
	"time"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// The meter charges an evaluation for what it does, where it can grow: every round of a comprehension, and every text
// or list that flows into or out of a call. cel-go has a cost tracker of its own, but it is quadratic in the rounds of a
// comprehension (its stack of values is searched to the bottom for every variable; 16,000 rounds take seconds).

// charge is the price of one evaluation of a node.
type charge struct {
	fixed      float64
	perChar    float64
	perElement float64
	squared    bool // per pair of elements
}

// of prices a node by the value that it gave.
func (c charge) of(value ref.Val) int64 {
	switch v := value.(type) {
	case types.String:
		return int64(c.fixed + c.perChar*float64(len(v)))
	case traits.Lister, traits.Mapper:
		n, _ := v.(traits.Sizer).Size().(types.Int)
		if c.squared {
			n *= n
		}
		return int64(c.fixed + c.perElement*float64(n))
	}
	return int64(c.fixed)
}

func (c charge) plus(d charge) charge {
	return charge{c.fixed + d.fixed, c.perChar + d.perChar, c.perElement + d.perElement, c.squared || d.squared}
}

// tariff holds the charges of a tree by node.
type tariff struct {
	tree    *ast.AST
	charges map[int64]charge
}

func newTariff(tree *ast.AST) *tariff {
	t := &tariff{tree: tree, charges: map[int64]charge{}}
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			c := e.AsComprehension()
			t.add(c.LoopStep(), charge{fixed: float64(1 + nodes(c.LoopCondition()) + nodes(c.LoopStep()))})
		case ast.CallKind:
			t.addCall(e)
		}
	}))
	return t
}

func nodes(e ast.Expr) int {
	n := 0
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(ast.Expr) { n++ }))
	return n
}

func (t *tariff) add(e ast.Expr, c charge) { t.charges[e.ID()] = t.charges[e.ID()].plus(c) }

// addValue charges a value that may be long.
func (t *tariff) addValue(e ast.Expr, c charge) {
	if e.Kind() != ast.LiteralKind && !isScalar(t.tree.GetType(e.ID())) {
		t.add(e, c)
	}
}

func (t *tariff) addCall(e ast.Expr) {
	call := e.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); name {
	case operators.Add:
		t.addValue(args[0], charge{perChar: copyCost})
		// Joining lists is lazy, but doubling one 25 times must cost something before somebody walks it.
		t.addValue(args[1], charge{perChar: copyCost, perElement: copyCost})
	case operators.Equals, operators.NotEquals:
		if args[0].Kind() != ast.LiteralKind && args[1].Kind() != ast.LiteralKind {
			t.addValue(args[0], charge{perChar: scanCost, perElement: 1})
		}
	case operators.In:
		t.addValue(args[1], charge{perElement: 1})
	default:
		if _, isOperator := operators.FindReverse(name); !isOperator && name != mapInsertFunction {
			t.addFunction(e, call)
		}
	}
}

// addFunction charges what goes into a function and what comes out.
func (t *tariff) addFunction(e ast.Expr, call ast.CallExpr) {
	in := charge{perChar: scanCost, perElement: 1}
	switch call.FunctionName() {
	case "distinct", "sets.contains", "sets.equivalent", "sets.intersects":
		in.squared = true
	case "sort", "@sortByAssociatedKeys":
		in.perElement = 10
	case "size":
		in.perElement = 0
	}
	if call.IsMemberFunction() {
		t.addValue(call.Target(), in)
	}
	for _, arg := range call.Args() {
		t.addValue(arg, in)
	}
	t.addValue(e, charge{perChar: copyCost, perElement: 1})
}

// decorate wraps the nodes that have a charge. Where an index or a field is taken of a call's result, the planner shows
// that result once more, as an attribute that must stay one; it has been charged already.
func (t *tariff) decorate(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	c, ok := t.charges[i.ID()]
	if _, constant := i.(interpreter.InterpretableConst); !ok || constant {
		return i, nil
	}
	delete(t.charges, i.ID())
	return &metered{i, c}, nil
}

// metered is a node that spends of the evaluation's budget what its value is charged.
type metered struct {
	interpreter.InterpretableV2
	charge charge
}

// Eval implements [interpreter.Interpretable].
func (m *metered) Eval(vars interpreter.Activation) ref.Val { return m.Exec(interpreter.AsFrame(vars)) }

// Exec implements [interpreter.InterpretableV2].
func (m *metered) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	value := m.InterpretableV2.Exec(frame)
	b := budgetOf(frame)
	if text, isText := value.(types.String); isText && len(text) > maxText {
		b.stop(TooLarge)
	}
	b.spend(m.charge.of(value))
	return value
}

// budgetOf is the budget of the evaluation. Where nothing is evaluated yet, when a program is made, there is no limit.
func budgetOf(frame *interpreter.ExecutionFrame) *budget {
	if found, ok := frame.ResolveName(budgetName); ok {
		return found.(*budget)
	}
	return &budget{ctx: context.Background(), left: math.MaxInt64, unseen: math.MinInt64}
}

// budgetName is the variable in which an evaluation carries its budget; no expression can write it.
const budgetName = "@budget"

// budget is what one evaluation may still spend. It ends the evaluation by the panic that cel-go recovers from.
type budget struct {
	ctx      context.Context
	left     int64
	deadline time.Time
	unseen   int64     // spent since the last look at the clock
	stopped  ErrorKind // why it ended the evaluation
}

// lookEvery is the cost, about 100 us, between two looks at the clock.
const lookEvery = 2000

func (b *budget) spend(cost int64) {
	b.left -= cost
	if b.left < 0 {
		b.stop(CostExceeded)
	}
	if b.unseen += cost; b.unseen < lookEvery {
		return
	}
	b.unseen = 0
	if b.ctx.Err() != nil {
		b.stop(Cancelled)
	}
	if time.Now().After(b.deadline) {
		b.stop(DeadlineExceeded)
	}
}

func (b *budget) stop(kind ErrorKind) {
	b.stopped = kind
	panic(interpreter.EvalCancelledError{Message: "the evaluation was stopped"})
}
