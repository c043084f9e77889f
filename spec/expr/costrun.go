package expr

import (
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// meter counts what calls really cost where cel-go's counting differs from the estimates of cost.go.
type meter struct{}

// CallCost implements [interpreter.ActualCostEstimator].
func (meter) CallCost(_, overload string, args []ref.Val, result ref.Val) *uint64 {
	switch overload {
	case overloads.ContainsString:
		return cost(1 + scanCost*float64(length(args[0])+length(args[1])))
	case overloads.Equals, overloads.NotEquals:
		return cost(1 + scanCost*float64(min(length(args[0]), length(args[1]))))
	case overloads.AddList:
		// Joining is lazy, but doubling a list 25 times must cost something before somebody walks it.
		return cost(1 + copyCost*float64(min(length(args[0]), length(args[1]))))
	case "json_any":
		return cost(1 + copyCost*float64(length(result)))
	case "mean_list", "sum_list":
		return cost(1 + float64(length(args[0])))
	}
	return nil
}

func cost(c float64) *uint64 {
	n := uint64(c)
	return &n
}

// length is the bytes of a text or the elements of a list or map; 1 for anything else.
func length(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case traits.Sizer:
		n, _ := v.Size().(types.Int)
		return int(n)
	}
	return 1
}
