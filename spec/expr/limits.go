package expr

import (
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
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// What one evaluation does is counted: the elements that its loops walk over, all together, and the size of what its
// functions make. So the same expression on the same values is stopped at the same place on every machine.

var (
	errTooManyValues = errors.New("the result holds too many values")
	errTooLong       = errors.New("a list is too long")
	errTextGrows     = errors.New("a text grows")
)

// growing are the functions whose result can be much longer than what they are given; a loop-free expression without
// them takes time and memory proportional to what it reads.
var growing = []string{"replace", "split", "join", "format", "regex.replace", "flatten", "lists.range", "json", "strings.quote"}

// compared are the functions that compare each element with each other.
var compared = []string{"distinct", "sets.contains", "sets.equivalent", "sets.intersects"}

// bound is how much a node may give: elements, and as a text bytes. Those of the range of a loop are added up.
type bound struct {
	elements, text int
	walked         bool
}

// boundsOf are the bounds of nodes; none: nothing has to be watched.
func boundsOf(tree *ast.AST, o Options) map[int64]bound {
	bounds, watched := map[int64]bound{}, false
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			watched = true
			bounds[e.AsComprehension().IterRange().ID()] = bound{o.MaxSteps, o.MaxText, true}
		case ast.CallKind:
			call := e.AsCall()
			function, lists := call.FunctionName(), call.Args()
			if call.IsMemberFunction() {
				lists = []ast.Expr{call.Target()}
			}
			watched = watched || slices.Contains(growing, function) || slices.Contains(compared, function)
			if _, ranged := bounds[e.ID()]; !ranged && (slices.Contains(growing, function) || function == operators.Add) {
				bounds[e.ID()] = bound{o.MaxValues, o.MaxText, false}
			}
			for _, list := range lists {
				if slices.Contains(compared, function) {
					bounds[list.ID()] = bound{int(math.Sqrt(float64(o.MaxValues))), o.MaxText, false}
				}
			}
		}
	}))
	if !watched {
		return nil
	}
	return bounds
}

// watch decorates the nodes that have a bound. Where an index or a field is taken of a call's result, the planner shows
// that result once more, as an attribute that must stay one; it is watched already.
func watch(bounds map[int64]bound) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		b, ok := bounds[i.ID()]
		if _, constant := i.(interpreter.InterpretableConst); !ok || constant && !b.walked {
			return i, nil
		}
		delete(bounds, i.ID())
		return &bounded{i, b}, nil
	}
}

// bounded is a node that must not give more than so much.
type bounded struct {
	interpreter.InterpretableV2
	bound
}

// walkedName is no variable: by it a node finds the count of its evaluation.
const walkedName = "@walked"

// Eval implements [interpreter.Interpretable].
func (b *bounded) Eval(vars interpreter.Activation) ref.Val { return b.Exec(interpreter.AsFrame(vars)) }

// Exec implements [interpreter.InterpretableV2].
func (b *bounded) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	value := b.InterpretableV2.Exec(frame)
	var err error
	switch v := value.(type) {
	case types.String:
		if len(v) > b.text {
			return types.LabelErrNode(b.ID(), fullText(b.text))
		}
	case traits.Lister, traits.Mapper:
		size, _ := v.(traits.Sizer).Size().(types.Int)
		n, what := int(size), "%w: %d elements; at most %d are allowed here"
		if b.walked {
			counter, _ := frame.ResolveName(walkedName)
			total := counter.(*int)
			*total += n
			n, what = *total, "%w: the loops walk over %d elements; at most %d are allowed"
		}
		if n > b.elements {
			err = fmt.Errorf(what, errTooLong, n, b.elements)
		}
	}
	if err != nil {
		return types.LabelErrNode(b.ID(), types.WrapErr(err))
	}
	return value
}

// growingFunctions stand in for those of cel-go whose result can be as long as the product of what they are given:
// replace('a', text) of 10 KB makes 100 MB, and once more a TB. Those look before they make so many bytes.
func growingFunctions(most int) []cel.EnvOption {
	text, texts := cel.StringType, cel.ListType(cel.StringType)
	replace := func(args ...ref.Val) ref.Val { return replaceText(most, args...) }
	return []cel.EnvOption{
		cel.Function("replace",
			cel.MemberOverload("string_replace_string_string", []*cel.Type{text, text, text}, text, cel.FunctionBinding(replace)),
			cel.MemberOverload("string_replace_string_string_int", []*cel.Type{text, text, text, cel.IntType}, text, cel.FunctionBinding(replace))),
		cel.Function("join",
			cel.MemberOverload("list_join", []*cel.Type{texts}, text, cel.UnaryBinding(func(list ref.Val) ref.Val { return joinTexts(list, types.String(""), most) })),
			cel.MemberOverload("list_join_string", []*cel.Type{texts, text}, text, cel.BinaryBinding(func(list, between ref.Val) ref.Val { return joinTexts(list, between, most) }))),
	}
}

func fullText(most int) ref.Val {
	return types.WrapErr(fmt.Errorf("%w beyond %d MiB", errTextGrows, most>>20))
}

// replaceText takes a text, what to replace, by what, and how often at most.
func replaceText(most int, args ...ref.Val) ref.Val {
	text, old, by := string(args[0].(types.String)), string(args[1].(types.String)), string(args[2].(types.String))
	times := strings.Count(text, old)
	if len(args) > 3 {
		if limit := int64(args[3].(types.Int)); limit >= 0 {
			times = int(min(limit, int64(times)))
		}
	}
	if grown := len(by) - len(old); grown > 0 && times > (most-min(len(text), most))/grown {
		return fullText(most)
	}
	return types.String(strings.Replace(text, old, by, times))
}

func joinTexts(list, separator ref.Val, most int) ref.Val {
	between := string(separator.(types.String))
	var texts []string
	size := 0
	for it := list.(traits.Lister).Iterator(); it.HasNext() == types.True; {
		element := it.Next()
		text, ok := element.(types.String)
		if !ok {
			return types.NewErr("join: invalid input: %v", element)
		}
		if size += len(text) + len(between); size-len(between) > most {
			return fullText(most)
		}
		texts = append(texts, string(text))
	}
	return types.String(strings.Join(texts, between))
}
