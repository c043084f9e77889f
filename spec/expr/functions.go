package expr

import (
	"fmt"
	"math"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// maxJSONValues is how many values json() writes: far more than a prompt can use.
const maxJSONValues = 100_000

// ownFunctions are the functions that users of conditions expect and cel-go does not have.
func ownFunctions() []cel.EnvOption {
	numbers := []*cel.Type{cel.ListType(cel.DynType)}
	return []cel.EnvOption{
		cel.Function("mean", cel.Overload("mean_list", numbers, cel.DoubleType, cel.UnaryBinding(mean))),
		cel.Function("sum", cel.Overload("sum_list", numbers, cel.DoubleType, cel.UnaryBinding(sum))),
		cel.Function("json", cel.Overload("json_any", []*cel.Type{cel.DynType}, cel.StringType, cel.UnaryBinding(toJSON))),
		cel.Function("without", cel.MemberOverload("map_without_list",
			[]*cel.Type{cel.MapType(cel.StringType, cel.DynType), cel.ListType(cel.StringType)}, cel.MapType(cel.StringType, cel.DynType), cel.BinaryBinding(without))),
		cel.Function("parse_json", cel.Overload("parse_json_string", []*cel.Type{cel.StringType}, cel.DynType, cel.UnaryBinding(fromJSON))),
	}
}

func mean(list ref.Val) ref.Val {
	total, n, bad := addUp(list)
	switch {
	case bad != nil:
		return bad
	case n == 0:
		return types.NewErr("the mean of no numbers")
	}
	return types.Double(total / float64(n))
}

func sum(list ref.Val) ref.Val {
	total, _, bad := addUp(list)
	if bad != nil {
		return bad
	}
	return types.Double(total)
}

// addUp adds the numbers of a list and counts them; nulls are skipped.
func addUp(list ref.Val) (total float64, n int, bad ref.Val) {
	for it := list.(traits.Lister).Iterator(); it.HasNext() == types.True; {
		switch v := it.Next().(type) {
		case types.Double:
			total += float64(v)
		case types.Int:
			total += float64(v)
		case types.Uint:
			total += float64(v)
		case types.Null:
			continue
		default:
			return 0, 0, types.NewErr("%s in a list of numbers", v.Type().TypeName())
		}
		n++
	}
	return total, n, nil
}

func toJSON(value ref.Val) ref.Val {
	p := plainer{left: maxJSONValues}
	plain, err := p.plain(value, cel.DynType)
	if err != nil {
		return types.WrapErr(err)
	}
	text, err := AppendJSON(nil, plain)
	if err != nil {
		return types.WrapErr(err)
	}
	return types.String(text)
}

// without is an object without some of its keys.
func without(from, keys ref.Val) ref.Val {
	left, ok := from.(traits.Mapper)
	if !ok {
		return types.MaybeNoSuchOverloadErr(from)
	}
	rest := NewObject(0)
	for it := left.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, isText := key.(types.String)
		if isText && keys.(traits.Container).Contains(key) != types.True {
			value, _ := left.Find(key)
			plain, err := (&plainer{left: maxJSONValues}).plain(value, cel.DynType)
			if err != nil {
				return types.WrapErr(err)
			}
			rest.Set(string(name), plain)
		}
	}
	return (*objectValue)(rest)
}

// fromJSON is the value of a text that is JSON, null for any other text.
func fromJSON(text ref.Val) ref.Val {
	written, _ := text.(types.String)
	value, err := ParseJSON([]byte(written))
	if err != nil {
		return types.NullValue
	}
	return adapter{}.NativeToValue(value)
}

// searches are the functions that take a regular expression, each after its text. They stand in for those of cel-go,
// which search whatever they are given.
var searches = map[string]func(re *Pattern, text string, more []ref.Val) (ref.Val, error){
	"matches":          matches,
	"regex.extract":    extract,
	"regex.extractAll": extractAll,
	"regex.replace":    replaceMatches,
}

// patternOf is the regular expression that a call is given; nil where it is no search.
func patternOf(call ast.CallExpr) ast.Expr {
	args := call.Args()
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	if _, ok := searches[call.FunctionName()]; !ok || len(args) < 2 {
		return nil
	}
	return args[1]
}

// search is a call of one of the searches.
type search struct {
	interpreter.InterpretableV2
	args []interpreter.InterpretableV2
	make func(re *Pattern, text string, more []ref.Val) (ref.Val, error)
	re   *Pattern // where the expression holds it
}

// searching replaces the calls that take a regular expression by searches. These must not look like calls any more, or
// cel-go puts its own in their place.
func searching(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || searches[call.Function()] == nil {
		return i, nil
	}
	s := &search{InterpretableV2: i, args: call.Args(), make: searches[call.Function()]}
	if literal, ok := call.Args()[1].(interpreter.InterpretableConst); ok {
		if source, ok := literal.Value().(types.String); ok {
			s.re, _ = CompilePattern(string(source)) // a wrong one was a fault
		}
	}
	return s, nil
}

// Eval implements [interpreter.Interpretable].
func (s *search) Eval(vars interpreter.Activation) ref.Val { return s.Exec(interpreter.AsFrame(vars)) }

// Exec implements [interpreter.InterpretableV2].
func (s *search) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := make([]ref.Val, len(s.args))
	for i, arg := range s.args {
		if args[i] = arg.Exec(frame); types.IsUnknownOrError(args[i]) {
			return args[i]
		}
	}
	value, err := s.search(args)
	if err != nil {
		value = types.WrapErr(err)
	}
	return types.LabelErrNode(s.ID(), value)
}

func (s *search) search(args []ref.Val) (ref.Val, error) {
	text, ok := args[0].(types.String)
	source, also := args[1].(types.String)
	if !ok || !also {
		return types.NoSuchOverloadErr(), nil
	}
	re := s.re
	if re == nil {
		var err error
		if re, err = CompilePattern(string(source)); err != nil {
			return nil, err
		}
	}
	return s.make(re, string(text), args[2:])
}

func matches(re *Pattern, text string, _ []ref.Val) (ref.Val, error) {
	found, err := re.Match(text)
	return types.Bool(found), err
}

// extract gives the first match, or of an expression with a group what that took, as an optional.
func extract(re *Pattern, text string, _ []ref.Val) (ref.Val, error) {
	if err := oneGroup(re); err != nil {
		return nil, err
	}
	match, err := re.Find(text)
	if match == nil || re.Groups() == 1 && match[2] == match[3] {
		return types.OptionalNone, err
	}
	return types.OptionalOf(types.String(taken(text, match))), err
}

// extractAll gives all matches, or of an expression with a group what that took where it took something.
func extractAll(re *Pattern, text string, _ []ref.Val) (ref.Val, error) {
	if err := oneGroup(re); err != nil {
		return nil, err
	}
	found := []string{}
	all, err := re.All(text, -1)
	for _, match := range all {
		if part := taken(text, match); re.Groups() == 0 || part != "" {
			found = append(found, part)
		}
	}
	return types.NewStringList(types.DefaultTypeAdapter, found), err
}

func oneGroup(re *Pattern) error {
	if re.Groups() > 1 {
		return fmt.Errorf("regular expression has more than one capturing group: %q", re)
	}
	return nil
}

// taken is what the last group of a match took, or else the match.
func taken(text string, match []int) string {
	from, to := match[len(match)-2], match[len(match)-1]
	if from < 0 {
		return ""
	}
	return text[from:to]
}

// replaceMatches takes by what to replace matches, where \1 is a group and \\ a backslash, and how many at most.
func replaceMatches(re *Pattern, text string, more []ref.Val) (ref.Val, error) {
	most := -1
	if len(more) > 1 {
		most = int(max(-1, min(more[1].(types.Int), math.MaxInt32)))
	}
	all, err := re.All(text, most)
	if err != nil {
		return nil, err
	}
	by := groupReferences.Replace(string(more[0].(types.String)))
	var out []byte
	done := 0
	for _, match := range all {
		out = re.re.ExpandString(append(out, text[done:match[0]]...), by, text, match)
		if done = match[1]; len(out) > maxReplaced {
			return fullText(maxReplaced), nil
		}
	}
	return types.String(append(out, text[done:]...)), nil
}

const maxReplaced = 64 << 20 // bytes

// groupReferences turns those of CEL into those of Go.
var groupReferences = strings.NewReplacer(`\\`, `\`, `$`, `$$`, `\0`, `${0}`, `\1`, `${1}`, `\2`, `${2}`, `\3`, `${3}`, `\4`, `${4}`,
	`\5`, `${5}`, `\6`, `${6}`, `\7`, `${7}`, `\8`, `${8}`, `\9`, `${9}`)
