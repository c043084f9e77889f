package replay

import (
	"reflect"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"pgregory.net/rapid"
)

// Whatever signals hold is there again when a run was packed, whatever else was packed
// with the same words and unpacked in the same room. A field that is new is in it.
func TestPackedRunsAreWhole(t *testing.T) {
	words, room := &Words{}, &Room{}
	before := words.Pack(&record.Signals{})
	propertytest.CheckCases(t, 2000, func(t *rapid.T) {
		var s record.Signals
		fill(t, reflect.ValueOf(&s).Elem())
		want := make([]record.Iteration, len(s.Iterations))
		for i := range want {
			want[i] = iterationOf(&Room{}, &s, &s.Iterations[i])
		}
		packed := words.Pack(&s)
		before.Whole(room)
		for _, room := range []*Room{nil, room, room} {
			whole := packed.Whole(room)
			if packed.Iterations() != len(want) || len(whole.Iterations) != len(want) {
				t.Fatalf("%d iterations, want %d", len(whole.Iterations), len(want))
			}
			for i := range want {
				if !reflect.DeepEqual(whole.Iterations[i], want[i]) {
					t.Fatalf("iteration %d:\n%+v, want\n%+v", i, whole.Iterations[i], want[i])
				}
			}
			head := *whole
			if head.Iterations = nil; !reflect.DeepEqual(head, *packed.Run) || head.ID != s.ID || head.Task != s.Task || head.Outcome.Fired != s.Outcome.Fired || head.Next != s.Next {
				t.Fatalf("%+v of %+v", head, s)
			}
		}
		before = packed
	})
}

// fill draws all fields of a value, and those within.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.SampledFrom([]string{"", "", "worker", "b", "0123456789abcdef"}).Draw(t, "text"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.SampledFrom([]int64{0, 0, 1, 7, -3, 1 << 40}).Draw(t, "number"))
		if v.Type() == reflect.TypeFor[int]() && v.Int() > 100 || v.Int() < 0 && v.Type() == reflect.TypeFor[int]() {
			v.SetInt(3) // as many tools, or steps
		}
	case reflect.Float64:
		v.SetFloat(rapid.SampledFrom([]float64{0, 1, 0.37, -1, 1e300}).Draw(t, "float"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "given") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.Slice:
		if n := rapid.IntRange(0, 3).Draw(t, "length"); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	default:
		t.Fatalf("%s is not drawn", v.Type())
	}
}
