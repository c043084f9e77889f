package textual

import (
	"math/big"
	"strconv"
)

// Tolerance is the largest difference that a number may have, as it is written: 0.1 is a tenth.
func Tolerance(f float64) *big.Rat {
	n, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return n
}

// Equal: both are the same number, within the tolerance (nil: 0), or lists of the same, or the same expression as it is
// written. Units must be the same where both numbers have one.
func (v Value) Equal(w Value, tolerance *big.Rat) bool {
	switch {
	case v.number != nil && w.number != nil:
		return v.nearTo(w, tolerance) && (v.unit == w.unit || v.unit == "" || w.unit == "")
	case v.list != "" && w.list != "":
		return v.list == w.list && len(v.items) == len(w.items) && v.sameItems(w, tolerance)
	}
	return v.isText() && w.isText() && expression(v.Text) == expression(w.Text)
}

func (v Value) nearTo(w Value, tolerance *big.Rat) bool {
	difference := new(big.Rat).Sub(v.number, w.number)
	if tolerance == nil {
		return difference.Sign() == 0
	}
	return difference.Abs(difference).Cmp(tolerance) <= 0
}

func (v Value) sameItems(w Value, tolerance *big.Rat) bool {
	if v.list == "{}" {
		return matched(v.items, w.items, tolerance)
	}
	for i := range v.items {
		if !v.items[i].Equal(w.items[i], tolerance) {
			return false
		}
	}
	return true
}

// matched: each item can be given one of the others that it equals. As what is equal within a tolerance is not so for
// all, an item that was given may be exchanged for another (H. W. Kuhn's method).
func matched(items, others []Value, tolerance *big.Rat) bool {
	fits := make([][]int, len(items))
	for i := range items {
		for j := range others {
			if items[i].Equal(others[j], tolerance) {
				fits[i] = append(fits[i], j)
			}
		}
	}
	owner := make([]int, len(others)) // the item, from 1, that another is given to
	for i := range items {
		if !give(fits, owner, i, make([]bool, len(others))) {
			return false
		}
	}
	return true
}

func give(fits [][]int, owner []int, item int, seen []bool) bool {
	for _, j := range fits[item] {
		if seen[j] {
			continue
		}
		seen[j] = true
		if owner[j] == 0 || give(fits, owner, owner[j]-1, seen) {
			owner[j] = item + 1
			return true
		}
	}
	return false
}
