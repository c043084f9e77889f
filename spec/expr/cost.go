package expr

import (
	"math/bits"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
)

// Costs are cel-go's: about 50 ns each. An expression is refused when it is compiled if its cost, with data as large
// as assumed here, could exceed maxEstimate. What it really costs is counted while it is evaluated (meter.go).
const (
	maxEstimate  = 1_000_000
	provedCheap  = 10_000 // below it neither cost nor time is watched
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
	switch overload {
	case overloads.ContainsString:
		return e.scan(*target, args[0])
	case overloads.Equals, overloads.NotEquals:
		return e.scanShorter(args[0], args[1])
	case overloads.AddList:
		return e.joinLists(args[0], args[1])
	case "json_any":
		return &checker.CallEstimate{CostEstimate: checker.FixedCostEstimate(maxJSONChars / 10), ResultSize: upTo(maxJSONChars)}
	case "mean_list", "sum_list":
		return &checker.CallEstimate{CostEstimate: e.size(args[0]).MultiplyByCostFactor(1)}
	}
	if function == overloads.TypeConvertString {
		return e.toText(args[0])
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

func (e *estimator) scan(text, part checker.AstNode) *checker.CallEstimate {
	chars := e.size(text).Add(e.size(part))
	return &checker.CallEstimate{CostEstimate: chars.MultiplyByCostFactor(scanCost).Add(checker.FixedCostEstimate(1))}
}

func (e *estimator) scanShorter(a, b checker.AstNode) *checker.CallEstimate {
	shorter := checker.SizeEstimate{Max: min(e.size(a).Max, e.size(b).Max)}
	return &checker.CallEstimate{CostEstimate: shorter.MultiplyByCostFactor(scanCost).Add(checker.FixedCostEstimate(1))}
}

// joinLists prices what costs nothing itself, so that doubling a list again and again does not come for free.
func (e *estimator) joinLists(a, b checker.AstNode) *checker.CallEstimate {
	shorter := checker.SizeEstimate{Max: min(e.size(a).Max, e.size(b).Max)}
	both := e.size(a).Add(e.size(b))
	return &checker.CallEstimate{CostEstimate: shorter.MultiplyByCostFactor(copyCost).Add(checker.FixedCostEstimate(1)), ResultSize: &both}
}

// toText is string(x): a number, a time or a text that stays as it is.
func (e *estimator) toText(value checker.AstNode) *checker.CallEstimate {
	size := checker.SizeEstimate{Max: max(64, e.size(value).Max)}
	return &checker.CallEstimate{CostEstimate: checker.FixedCostEstimate(1), ResultSize: &size}
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

// searching reports whether a tree searches with a regular expression, which has a price of its own.
func searching(tree *ast.AST) bool {
	found := false
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.CallKind && patternOf(e.AsCall()) != nil
	}))
	return found
}

// linear says whether a tree has no loop and no function that could take longer than proportional to its input.
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
