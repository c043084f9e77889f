package source

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"
)

func (d *Decoder) mismatch(n *Node, t reflect.Type, r rules) {
	d.Fault(n, hint(n, t), "want %s, got %s", wanted(t, r), n.describe())
}

func (d *Decoder) text(n *Node, v reflect.Value, r rules) {
	switch {
	case n.Kind != String || n.form == date:
		d.mismatch(n, v.Type(), r)
	case r.enum != nil && !slices.Contains(r.enum, n.Text):
		d.Fault(n, cmp.Or(didYouMean(n.Text, r.enum), r.hint), "want %s, got %s", wanted(v.Type(), r), n.describe())
	case runes(n.Text) < r.minLen:
		d.Fault(n, "", "want %s, got %s", wanted(v.Type(), r), n.describe())
	default:
		v.SetString(n.Text)
	}
}

func (d *Decoder) boolean(n *Node, v reflect.Value, r rules) {
	if n.Kind != Bool {
		d.mismatch(n, v.Type(), r)
		return
	}
	v.SetBool(strings.EqualFold(n.Text, "true"))
}

func (d *Decoder) whole(n *Node, v reflect.Value, r rules) {
	x, ok := n.wholeNumber()
	if !ok || v.OverflowInt(x) || !r.allow(float64(x)) {
		d.mismatch(n, v.Type(), r)
		return
	}
	v.SetInt(x)
}

func (d *Decoder) float(n *Node, v reflect.Value, r rules) {
	x, ok := n.decimal()
	if !ok || !r.allow(x) {
		d.mismatch(n, v.Type(), r)
		return
	}
	v.SetFloat(x)
}

// durationPattern is what time.ParseDuration reads, without a sign and never without a unit.
const durationPattern = `^([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$`

func (d *Decoder) duration(n *Node, v reflect.Value, r rules) {
	x, err := time.ParseDuration(n.Text)
	if n.Kind != String || err != nil || strings.ContainsAny(n.Text[:1], "+-") || n.Text == "0" || !r.allow(float64(x)) {
		d.mismatch(n, v.Type(), r)
		return
	}
	v.SetInt(int64(x))
}

// plain fills an any field, where everything is welcome that reads the same to everybody.
func (d *Decoder) plain(n *Node, v reflect.Value) {
	d.checkNumbers(n)
	if value := n.Plain(); value != nil {
		v.Set(reflect.ValueOf(value))
	}
}

// checkNumbers refuses the numbers below n that Plain leaves as text.
func (d *Decoder) checkNumbers(n *Node) {
	if n.Kind == Int || n.Kind == Float {
		if _, isText := n.number().(string); isText {
			d.Fault(n, hint(n, reflect.TypeFor[float64]()), "want a plain decimal number or text in quotes, got %s", n.describe())
		}
	}
	for _, item := range n.Items {
		d.checkNumbers(item)
	}
	for _, entry := range n.Entries {
		d.checkNumbers(entry.Value)
	}
}
