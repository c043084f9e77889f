package page

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// binned draws points that are too many as their means in the cells of a grid, which is the finest
// with so many marks. Rings, and what is alone in its cell, stay as they are.
func (c Chart) binned(most int) Chart {
	if !c.isScatter() || c.marks() <= most {
		return c
	}
	xs, ys := spannedBy(&c, func(d *Dot) Value { return d.X }, &c.X), spannedBy(&c, func(d *Dot) Value { return d.Y }, &c.Y)
	all := c.Series
	for cells := 96.0; cells >= 1; cells /= 2 {
		c.Series = make([]Series, len(all))
		for i := range all {
			c.Series[i] = all[i]
			c.Series[i].Dots = inCells(all[i].Dots, cells, xs, ys)
		}
		if c.marks() <= most {
			break
		}
	}
	c.Notes = append(slices.Clone(c.Notes), "too many points to be drawn one by one: some marks stand for several, at their mean")
	return c
}

// isScatter reports whether the chart has points that nothing joins.
func (c *Chart) isScatter() bool {
	return !c.X.isCategory() && !c.Y.isCategory() && len(c.Tiles) == 0 && !slices.ContainsFunc(c.Series, func(s Series) bool { return s.Line || s.Bars || s.Guide })
}

func (c *Chart) marks() (n int) {
	for i := range c.Series {
		n += len(c.Series[i].Dots)
	}
	return n
}

// spannedBy is an axis from 0 to 1 over the marks.
func spannedBy(c *Chart, of func(*Dot) Value, axis *Axis) scale {
	var numbers []float64
	for i := range c.Series {
		for k := range c.Series[i].Dots {
			if v := of(&c.Series[i].Dots[k]); v.Known() {
				numbers = append(numbers, v.Number)
			}
		}
	}
	s := spanned(axis, numbers, 6)
	s.start, s.end = 0, 1
	return s
}

// cell is a place in a grid of a chart.
type cell struct{ x, y float64 }

// inCells are the marks of a series with those of one cell joined.
func inCells(dots []Dot, cells float64, xs, ys scale) (left []Dot) {
	in := map[cell][]Dot{}
	for _, d := range dots {
		if d.Ring || !d.X.Known() || !d.Y.Known() {
			left = append(left, d)
			continue
		}
		x, _ := xs.inside(d.X.Number)
		y, _ := ys.inside(d.Y.Number)
		at := cell{math.Floor(x * cells), math.Floor(y * cells)}
		in[at] = append(in[at], d)
	}
	for _, at := range slices.SortedFunc(maps.Keys(in), func(a, b cell) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) }) {
		left = append(left, joined(in[at]))
	}
	return left
}

// joined is a mark for several.
func joined(dots []Dot) Dot {
	if len(dots) == 1 {
		return dots[0]
	}
	x, y := 0.0, 0.0
	for _, d := range dots {
		x, y = x+d.X.Number, y+d.Y.Number
	}
	n := float64(len(dots))
	return Dot{Name: Plural(len(dots), "point", "points"), Unnamed: true, X: Known(x / n), Y: Known(y / n), More: "their mean"}
}
