package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Loosest sets, in a loop that is to be recorded, the value of the axis under
// which runs go on longest, so that all others can be replayed: off, else the
// largest, of min_delta the smallest. Nothing is set where the loop is as loose by
// itself, which includes that it has no such limit; nor where the parameter
// decides something else than when a run stops.
func (a *Axis) Loosest(l *spec.Loop) []spec.Assignment {
	path := spec.FullPath(a.Path)
	own, limited := valueAt(l, path)
	if !limited || !stops(path) {
		return nil
	}
	smaller := strings.HasSuffix(path, ".min_delta")
	best := looseness(fmt.Sprint(own), smaller)
	var loosest *source.Node
	for _, value := range a.ends() {
		if is := looseness(value.Text, smaller); is > best {
			loosest, best = value, is
		}
	}
	if loosest == nil {
		return nil
	}
	return []spec.Assignment{a.assignment(loosest)}
}

// ends are the values of which one is the loosest.
func (a *Axis) ends() []*source.Node {
	all := slices.Clone(a.Values)
	for i := range a.Between {
		b := &a.Between[i]
		for _, v := range []float64{b.From, b.To} {
			if strings.HasSuffix(a.Path, "timeout") || strings.HasSuffix(a.Path, ".after") {
				all = append(all, source.New(b.Node, seconds(v)))
			} else {
				all = append(all, source.New(b.Node, plainNumber(v)))
			}
		}
	}
	return all
}

// looseness orders values: the longer runs go on, the larger; NaN where that
// cannot be told.
func looseness(text string, smaller bool) float64 {
	if text == "off" {
		return math.Inf(1)
	}
	v, ok := Number(text)
	switch {
	case !ok:
		return math.NaN()
	case smaller:
		return -v
	}
	return v
}

// valueAt is the value that a condition or limit of the loop has; it is not there
// where it is absent or off.
func valueAt(l *spec.Loop, path string) (found any, ok bool) {
	for _, v := range l.Values() {
		if v.Value != nil && (v.Path == path || v.Path == path+".after") { // the kind of a condition stands before its value
			found, ok = v.Value, true
		}
	}
	return found, ok
}

// stops says that a parameter is one of those that decide when a run stops.
func stops(path string) bool {
	section, _, _ := strings.Cut(path, ".")
	return section == "terminate" || section == "guards" || strings.HasSuffix(path, ".max_iterations")
}

// Whole makes values of ends: every whole number between them. It is not ok where
// the ends are no whole numbers, or too many lie between them.
func (a *Axis) Whole() (ok bool) {
	var values []float64
	for i := range a.Between {
		b := &a.Between[i]
		if b.From != math.Trunc(b.From) || b.To != math.Trunc(b.To) || b.To-b.From >= mostObserved {
			return false
		}
		for v := b.From; v <= b.To; v++ {
			values = append(values, v)
		}
	}
	if len(values) > 0 {
		a.join(values, plainNumber)
	}
	a.Between = nil
	return true
}
