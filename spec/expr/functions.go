package expr

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
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
