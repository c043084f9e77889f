// Package expr decides what the expressions of a suite mean: it compiles CEL against the typed environment of the
// place where the expression stands, refuses what is wrong or could run away, and evaluates the rest on plain values.
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
// An expression is at most 4,096 characters and 40 levels deep. When it is compiled its cost is estimated; an
// estimate above 1,000,000 is a fault. What is left runs with bounded texts and lists and a deadline, unless its
// estimate proves it cheap. A regular expression is bounded before it searches (pattern.go). The deadline is far beyond
// what bounded values take: results must not depend on how busy the machine is.
//
// It is no stable API.
package expr

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
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
		value, _, err := p.run.Eval(activation{scope})
		if err != nil {
			return nil, p.failure(err)
		}
		return value, nil
	}
	limited, cancel := context.WithTimeout(ctx, p.env.options.Deadline)
	defer cancel()
	value, _, err := p.run.ContextEval(limited, activation{scope})
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

// activation hands the scope to cel-go.
type activation struct{ scope Scope }

// ResolveName implements [cel.Activation].
func (a activation) ResolveName(name string) (any, bool) { return a.scope.Lookup(name) }

// Parent implements [cel.Activation].
func (a activation) Parent() interpreter.Activation { return nil }

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

// sizes bound the values of nodes: what comprehensions walk over, and what functions and additions give.
type sizes struct {
	elements map[int64]int // by node
	text     int
}

// compared are the functions that compare each element with each other.
var compared = map[string]bool{"distinct": true, "sets.contains": true, "sets.equivalent": true, "sets.intersects": true}

func sizesOf(tree *ast.AST, o Options) sizes {
	s := sizes{map[int64]int{}, o.MaxText}
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			if walked := e.AsComprehension().IterRange(); walked.Kind() != ast.CallKind {
				s.elements[walked.ID()] = o.MaxValues
			}
		case ast.CallKind:
			call := e.AsCall()
			_, isOperator := operators.FindReverse(call.FunctionName())
			_, known := s.elements[e.ID()]
			if !known && call.FunctionName() != mapInsertFunction && (!isOperator || call.FunctionName() == operators.Add) {
				s.elements[e.ID()] = o.MaxValues
			}
			lists := call.Args()
			if call.IsMemberFunction() {
				lists = []ast.Expr{call.Target()}
			}
			for _, list := range lists {
				if compared[call.FunctionName()] {
					s.elements[list.ID()] = int(math.Sqrt(float64(o.MaxValues)))
				}
			}
		}
	}))
	return s
}

// decorate wraps the nodes that have a size. Where an index or a field is taken of a call's result, the planner shows
// that result once more, as an attribute that must stay one; it has been measured already.
func (s sizes) decorate(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	elements, ok := s.elements[i.ID()]
	if _, constant := i.(interpreter.InterpretableConst); !ok || constant {
		return i, nil
	}
	delete(s.elements, i.ID())
	return &measured{i, elements, s.text}, nil
}

// measured is a node whose value may have so many elements, or as a text so many bytes.
type measured struct {
	interpreter.InterpretableV2
	elements, text int
}

// Eval implements [interpreter.Interpretable].
func (m *measured) Eval(vars interpreter.Activation) ref.Val {
	return m.Exec(interpreter.AsFrame(vars))
}

// Exec implements [interpreter.InterpretableV2].
func (m *measured) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	value := m.InterpretableV2.Exec(frame)
	var err error
	switch v := value.(type) {
	case types.String:
		if len(v) > m.text {
			err = fmt.Errorf("%w beyond %d MiB", errTextGrows, m.text>>20)
		}
	case traits.Lister, traits.Mapper:
		if n, _ := v.(traits.Sizer).Size().(types.Int); int(n) > m.elements {
			err = fmt.Errorf("%w: %d elements; at most %d are allowed here", errTooLong, n, m.elements)
		}
	}
	if err != nil {
		return types.LabelErrNode(m.ID(), types.WrapErr(err))
	}
	return value
}

// Costs are cel-go's: about 50 ns each. An expression is refused when it is compiled if its cost, with data as large
// as assumed here, could exceed maxEstimate.
const (
	maxEstimate  = 1_000_000
	provedCheap  = 10_000 // below it neither sizes nor time are watched
	scanCost     = 0.01   // per character of a search or comparison, which Go does with vector instructions
	copyCost     = 0.1    // per character copied
	maxRendered  = 2048   // characters of one element in join
	maxPieces    = 4096   // pieces that split makes with a separator that is not empty
	maxDistinct  = 200    // elements that distinct compares with each other
	maxJSONChars = 65_536 // characters that json() makes
)

// The sizes assumed, by how many lists or maps a value lies in: the texts of a list are together about as long as a
// text alone, and lists in lists are short.
var (
	assumedElements = []uint64{1000, 100, 10}
	assumedChars    = []uint64{65_536, 512, 128}
)

// superlinear are the functions whose time can grow faster than their input; loop-free expressions without them run
// in time proportional to what they read.
var superlinear = map[string]bool{"replace": true, "split": true, "join": true, "format": true, "regex.replace": true,
	"sort": true, "@sortByAssociatedKeys": true, "distinct": true, "flatten": true, "lists.range": true,
	"sets.contains": true, "sets.equivalent": true, "sets.intersects": true, "json": true, "strings.quote": true}

// ofLists are the member functions of lists that also a dynamic value may have.
var ofLists = map[string]bool{"sort": true, "@sortByAssociatedKeys": true, "distinct": true, "flatten": true,
	"slice": true, "reverse": true, "join": true, "first": true, "last": true}

// estimator assumes sizes for what is known only at run time.
type estimator struct {
	lists   map[int64]bool // the expressions that must be lists: a dynamic one is no text
	guessed bool           // a size was assumed that nothing of ours bounds, so that the estimate proves nothing
}

func newEstimator(tree *ast.AST) *estimator {
	e := &estimator{lists: map[int64]bool{}}
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		switch x.Kind() {
		case ast.ComprehensionKind:
			walked := x.AsComprehension().IterRange().ID()
			e.lists[walked] = true
			e.guessed = e.guessed || isDynamic(tree.GetType(walked))
		case ast.CallKind:
			if call := x.AsCall(); call.IsMemberFunction() && ofLists[call.FunctionName()] {
				e.lists[call.Target().ID()] = true
			}
		}
	}))
	return e
}

// EstimateSize implements [checker.CostEstimator].
func (e *estimator) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	x, path := node.Expr(), node.Path()
	if x != nil && x.Kind() == ast.IdentKind && len(path) == 0 {
		return nil // bound by cel.bind or an accumulator: cel-go knows its size
	}
	size := e.sizeOf(node.Type(), within(path), x != nil && e.lists[x.ID()])
	if size != nil && size.Max > 1 && (len(path) == 0 || path[0][0] == '@') {
		e.guessed = true // not a part of a variable: made by the expression
	}
	return size
}

func (e *estimator) sizeOf(t *types.Type, depth int, walked bool) *checker.SizeEstimate {
	switch t.Kind() {
	case types.ListKind, types.MapKind:
		return upTo(assumedElements[depth])
	case types.StringKind, types.BytesKind:
		return upTo(assumedChars[depth])
	case types.OpaqueKind:
		return e.sizeOf(parameter(t, 0), depth, walked)
	case types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.DurationKind, types.TimestampKind:
		return nil
	case types.NullTypeKind, types.StructKind, types.TypeKind:
		return upTo(1)
	}
	if walked {
		return upTo(assumedElements[depth])
	}
	return upTo(assumedChars[depth])
}

func within(path []string) int {
	depth := 0
	for _, step := range path {
		if strings.HasPrefix(step, "@") {
			depth++
		}
	}
	return min(depth, len(assumedElements)-1)
}

func upTo(n uint64) *checker.SizeEstimate { return &checker.SizeEstimate{Max: n} }

// EstimateCallCost implements [checker.CostEstimator] for what cel-go overestimates or does not size.
func (e *estimator) EstimateCallCost(function, overload string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	estimate := func(chars checker.SizeEstimate, factor float64, size *checker.SizeEstimate) *checker.CallEstimate {
		return &checker.CallEstimate{CostEstimate: chars.MultiplyByCostFactor(factor).Add(checker.FixedCostEstimate(1)), ResultSize: size}
	}
	shorter := func() checker.SizeEstimate {
		return checker.SizeEstimate{Max: min(e.size(args[0]).Max, e.size(args[1]).Max)}
	}
	switch overload {
	case overloads.ContainsString:
		return estimate(e.size(*target).Add(e.size(args[0])), scanCost, nil)
	case overloads.Equals, overloads.NotEquals:
		return estimate(shorter(), scanCost, nil)
	case overloads.AddList: // it costs nothing itself, but doubling a list again and again must not come for free
		return estimate(shorter(), copyCost, new(e.size(args[0]).Add(e.size(args[1]))))
	case "json_any":
		return &checker.CallEstimate{CostEstimate: checker.FixedCostEstimate(maxJSONChars / 10), ResultSize: upTo(maxJSONChars)}
	case "parse_json_string":
		text := e.size(args[0])
		return estimate(text, 1, &text)
	case "map_without_list":
		whole := e.size(*target)
		return estimate(whole, 1, &whole)
	case "mean_list", "sum_list":
		return &checker.CallEstimate{CostEstimate: e.size(args[0]).MultiplyByCostFactor(1)}
	}
	if function == overloads.TypeConvertString { // of a number, a time or a text that stays as it is
		return &checker.CallEstimate{CostEstimate: checker.FixedCostEstimate(1), ResultSize: upTo(max(64, e.size(args[0]).Max))}
	}
	return nil
}

func (e *estimator) size(node checker.AstNode) checker.SizeEstimate {
	if size := node.ComputedSize(); size != nil {
		return *size
	}
	if size := e.EstimateSize(node); size != nil {
		return *size
	}
	return checker.SizeEstimate{Max: 1}
}

// ownEstimates replace those of cel-go's libraries that do not know how long the elements of a list are, or take n log n
// for n squared.
func ownEstimates() cel.EnvOption {
	options := []checker.CostOption{
		checker.OverloadCostEstimate("list_join", joinEstimate),
		checker.OverloadCostEstimate("list_join_string", joinEstimate),
		checker.OverloadCostEstimate("string_split_string", splitEstimate),
		checker.OverloadCostEstimate("string_split_string_int", splitEstimate),
		checker.OverloadCostEstimate("list_distinct", distinctEstimate),
	}
	for _, t := range sortable {
		options = append(options,
			checker.OverloadCostEstimate("list_"+t.TypeName()+"_sort", sortEstimate),
			checker.OverloadCostEstimate("list_"+t.TypeName()+"_sortByAssociatedKeys", sortEstimate))
	}
	return cel.CostEstimatorOptions(options...)
}

var sortable = []*types.Type{types.IntType, types.UintType, types.DoubleType, types.BoolType, types.DurationType,
	types.TimestampType, types.StringType, types.BytesType}

func sortEstimate(c checker.CostEstimator, target *checker.AstNode, _ []checker.AstNode) *checker.CallEstimate {
	elements := c.(*estimator).size(*target)
	compared := elements.Multiply(checker.FixedSizeEstimate(uint64(bits.Len64(elements.Max))))
	return &checker.CallEstimate{CostEstimate: compared.MultiplyByCostFactor(1 + scanCost*float64(assumedChars[1])), ResultSize: &elements}
}

// distinctEstimate assumes at most maxDistinct elements: the function is quadratic and history is not that long.
func distinctEstimate(c checker.CostEstimator, target *checker.AstNode, _ []checker.AstNode) *checker.CallEstimate {
	e := c.(*estimator)
	e.guessed = true
	elements := e.size(*target)
	elements.Max = min(elements.Max, maxDistinct)
	compared := elements.Multiply(elements)
	return &checker.CallEstimate{CostEstimate: compared.MultiplyByCostFactor(1 + scanCost*float64(assumedChars[1])), ResultSize: &elements}
}

func joinEstimate(c checker.CostEstimator, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	e := c.(*estimator)
	each := checker.FixedSizeEstimate(maxRendered)
	if len(args) > 0 {
		each = each.Add(e.size(args[0]))
	}
	chars := e.size(*target).Multiply(each)
	return &checker.CallEstimate{CostEstimate: chars.MultiplyByCostFactor(copyCost), ResultSize: &chars}
}

func splitEstimate(c checker.CostEstimator, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	e := c.(*estimator)
	chars := e.size(*target)
	pieces := checker.SizeEstimate{Max: min(chars.Max, maxPieces)}
	if sep, ok := literalText(args[0].Expr()); !ok || sep == "" {
		pieces.Max = chars.Max
	}
	cost := chars.MultiplyByCostFactor(copyCost).Add(pieces.MultiplyByCostFactor(1))
	return &checker.CallEstimate{CostEstimate: cost, ResultSize: &pieces}
}

func literalText(e ast.Expr) (string, bool) {
	if e == nil || e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}

// linear reports whether a tree has no loop and no function that could take longer than proportional to its input.
func linear(tree *ast.AST) bool {
	ok := true
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			ok = false
		case ast.CallKind:
			ok = ok && !superlinear[e.AsCall().FunctionName()]
		}
	}))
	return ok
}
