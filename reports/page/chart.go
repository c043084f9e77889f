package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Charted is a page with charts. A format that draws shows each beside its table.
type Charted interface{ Charts() []Chart }

// Chart is numbers as a picture, before it is drawn. It says nothing that its own numbers
// do not: the same values make the picture, what a pointer shows, and the table below it.
// Texts may come from outside; the writer makes them fit.
type Chart struct {
	Name  string // its anchor is chart-NAME
	Title string
	About string // how to read it
	// Beside is the table that it belongs to.
	Beside string
	X, Y   Axis
	Zones  []Zone
	Series []Series
	Tiles  []Tile   // of a heat map: both axes are categories
	Stairs []Dot    // steps below the marks, as those of a front
	Legend []Key    // what series do not say
	Notes  []string // what is left out, or has to be known
}

// Key is what a ring or a tile means.
type Key struct {
	Name string
	Ring bool
	Tile
}

// Axis is one of the two directions of a chart.
type Axis struct {
	Name string
	Kind AxisKind
	Unit Unit
	// Form shows exact numbers, as the tables do.
	Form func(Value) string
	// Labels are those of categories, whose numbers are 0, 1, 2, ...; Links their fragments.
	Labels, Links []string
	// Shown are numbers that are always within the axis, Limit those that it never leaves.
	Shown []float64
	Limit *[2]float64
}

// AxisKind says how numbers become places.
type AxisKind int

// The kinds of axes.
const (
	Linear AxisKind = iota
	Logarithmic
	Category // one place for each label, the first of Y at the top
	Ordinal  // categories that have an order, the first of Y at the bottom
)

func (a *Axis) isCategory() bool { return a.Kind == Category || a.Kind == Ordinal }

// text is a number as the axis shows it, or the label of a category.
func (a *Axis) text(v Value) string {
	switch {
	case a.isCategory() && v.Known():
		return a.Labels[int(v.Number)]
	case a.Form == nil:
		return v.Exact()
	}
	return a.Form(v)
}

// raw is a number as machines get it, "" where it is a category or unknown.
func (a *Axis) raw(v Value) string {
	if a.isCategory() || !v.Known() {
		return ""
	}
	return csvField(v.Number)
}

// ScaleOf is logarithmic where all numbers are above 0 and the largest is ten times the
// smallest or more.
func ScaleOf(values []Value) AxisKind {
	least, most := math.Inf(1), 0.0
	for _, v := range values {
		if v.Known() {
			least, most = min(least, v.Number), max(most, v.Number)
		}
	}
	if least > 0 && most >= 10*least {
		return Logarithmic
	}
	return Linear
}

// Zone is a stretch of an axis, or a line where it has no length.
type Zone struct {
	Name       string
	From, To   float64
	Horizontal bool // it is one of Y
}

// Series are marks that belong together.
type Series struct {
	Name string // in the legend; "": not there
	// Legend stands there in the place of the name; Unlisted ones do not stand there.
	Legend   string
	Unlisted bool
	Tone     Tone
	Line     bool // joins the marks
	Band     bool // intervals of Y are a band, not whiskers
	Mute     bool // no mark is drawn
	// Guide is for the eye: it is no number, and not in the table.
	Guide bool
	Dots  []Dot
}

// Tone is a colour, a shape and a hatching. Series are distinguished by all three.
type Tone int

// Tones beyond Plain are numbered; they repeat.
const (
	Grey  Tone = -1
	Plain Tone = 0
	tones      = 6
)

// Dot is a mark. What is not known is in the table alone.
type Dot struct {
	Name           string // stands beside it where there is room
	X, Y           Value
	XRange, YRange Range
	Ring           bool
	// Unnamed marks have no name beside them: there are too many.
	Unnamed bool
	// Censored marks what a limit cut: the line to it is dashed.
	Censored bool
	Text     string // at the right edge of a row
	More     string // what else is to be said of it
	Link     string // fragment
}

// drawn reports whether there is an interval with two ends; the zero value is none.
func drawn(r Range) bool { return r != Range{} && r.Low.Known() && r.High.Known() }

// Tile is a cell of a heat map.
type Tile struct {
	X, Y  int
	Value Value
	// Shade is from 0 to 1; below 0 the tile is empty.
	Shade float64
	Hatch Hatch
	Text  string // within it where there is room
	Frame Frame
	Dot   bool   // in its corner
	More  string // what else is to be said of it
	Link  string // fragment
}

// Hatch says that a tile is not a plain number.
type Hatch int

// The hatchings.
const (
	NoHatch Hatch = iota
	Hatched       // it is a bound
	Crossed       // it is not known
)

// Frame is the frame of a tile.
type Frame int

// The frames.
const (
	NoFrame Frame = iota
	Framed
	DashedFrame
	BothFrames
)

// AboutCut explains what is dashed.
const AboutCut = " Dashed: a limit, a guard or a budget ended some of the runs, so that what would have followed is unknown."

// Beyond is a short dashed line after the last mark of a series, where runs stopped for a limit.
func (s *Series) Beyond() Series {
	last := s.Dots[len(s.Dots)-1]
	on := last
	on.X.Number, on.Censored = on.X.Number+0.6, true
	return Series{Tone: s.Tone, Line: true, Mute: true, Guide: true, Dots: []Dot{last, on}}
}

// mostMarks are drawn of a chart: a browser is slow with more.
const mostMarks = 2000

// cut leaves the marks that may be drawn, and a note on the others.
func (c Chart) cut() Chart {
	left, out := mostMarks, 0
	c.Series = slices.Clone(c.Series)
	for i := range c.Series {
		keep := min(left, len(c.Series[i].Dots))
		left, out = left-keep, out+len(c.Series[i].Dots)-keep
		c.Series[i].Dots = c.Series[i].Dots[:keep]
	}
	keep := min(left, len(c.Tiles))
	out, c.Tiles = out+len(c.Tiles)-keep, c.Tiles[:keep]
	if out > 0 {
		c.Notes = append(slices.Clone(c.Notes), fmt.Sprintf("%s more than the %d that a chart has", Plural(out, "mark", "marks"), mostMarks))
	}
	return c
}

// tip is all that is known of a mark, in a line.
func (c *Chart) tip(s *Series, d *Dot) string {
	parts := []string{cmp.Or(d.Name, s.Name)}
	if d.Name != "" && s.Name != "" && len(c.Series) > 1 {
		parts = append(parts, s.Name)
	}
	value := func(a *Axis, v Value, r Range) {
		text := a.text(v)
		if a.isCategory() && (text == d.Name || text == s.Name) {
			return
		}
		if !a.isCategory() {
			text = strings.TrimSpace(a.Name + " " + text)
		}
		if drawn(r) {
			text += " (" + r.Text(a.text) + ")"
		}
		parts = append(parts, text)
	}
	value(&c.X, d.X, d.XRange)
	value(&c.Y, d.Y, d.YRange)
	if d.Text != "" && d.Text != d.Name {
		parts = append(parts, d.Text)
	}
	parts = append(parts, d.More)
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
}

// tileTip is all that is known of a tile, in a line.
func (c *Chart) tileTip(t *Tile) string {
	parts := []string{c.Y.Labels[t.Y], c.X.Labels[t.X], t.Text, t.More}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
}

// numbers are the rows of the table below a chart, the head the first.
func (c *Chart) numbers() (rows [][]string, raw map[numberPlace]string) {
	raw = map[numberPlace]string{}
	if len(c.Tiles) > 0 {
		for t := range EachOf(c.Tiles) {
			if t.Value.Known() {
				raw[numberPlace{1 + t.Y, 1 + t.X}] = csvField(t.Value.Number)
			}
		}
		return c.matrix(), raw
	}
	var named, labelled, xs, ys, more bool
	for i := range c.Series {
		if c.Series[i].Guide {
			continue
		}
		named = named || c.Series[i].Name != ""
		for k := range c.Series[i].Dots {
			d := &c.Series[i].Dots[k]
			labelled = labelled || d.Name != ""
			xs, ys, more = xs || drawn(d.XRange), ys || drawn(d.YRange), more || d.Text != "" || d.More != ""
		}
	}
	columns := []struct {
		is   bool
		head string
		of   func(*Series, *Dot) string
		raw  func(*Dot) string
	}{
		{labelled, "mark", func(_ *Series, d *Dot) string { return d.Name }, nil},
		{named, "series", func(s *Series, _ *Dot) string { return s.Name }, nil},
		{true, c.Y.Name, func(_ *Series, d *Dot) string { return c.Y.text(d.Y) }, func(d *Dot) string { return c.Y.raw(d.Y) }},
		{ys, "95%", func(_ *Series, d *Dot) string { return intervalText(&c.Y, d.YRange) }, nil},
		{true, c.X.Name, func(_ *Series, d *Dot) string { return c.X.text(d.X) }, func(d *Dot) string { return c.X.raw(d.X) }},
		{xs, "95%", func(_ *Series, d *Dot) string { return intervalText(&c.X, d.XRange) }, nil},
		{more, "also", func(_ *Series, d *Dot) string { return strings.TrimLeft(d.Text+", "+d.More, ", ") }, nil},
	}
	rows = [][]string{nil}
	for _, column := range columns {
		if column.is {
			rows[0] = append(rows[0], column.head)
		}
	}
	for i := range c.Series {
		for k := range c.Series[i].Dots {
			if c.Series[i].Guide {
				break
			}
			var row []string
			for _, column := range columns {
				if column.is && column.raw != nil {
					raw[numberPlace{len(rows), len(row)}] = column.raw(&c.Series[i].Dots[k])
				}
				if column.is {
					row = append(row, strings.TrimRight(column.of(&c.Series[i], &c.Series[i].Dots[k]), ", "))
				}
			}
			rows = append(rows, row)
		}
	}
	return rows, raw
}

// numberPlace is a cell in the table of a chart, or a row.
type numberPlace struct{ row, column int }

const wholeRow = -1

// anchors are where the links of marks may lead to, in the table of the chart.
func (c *Chart) anchors() map[numberPlace]string {
	all, row := map[numberPlace]string{}, 0
	for i := range c.Tiles {
		all[numberPlace{1 + c.Tiles[i].Y, 1 + c.Tiles[i].X}] = c.Tiles[i].Link
	}
	if len(c.Tiles) > 0 {
		return all
	}
	for i := range c.Series {
		if c.Series[i].Guide {
			continue
		}
		for k := range c.Series[i].Dots {
			row++
			all[numberPlace{row, wholeRow}] = c.Series[i].Dots[k].Link
		}
	}
	return all
}

func intervalText(a *Axis, r Range) string {
	if r == (Range{}) {
		return ""
	}
	return r.Text(a.text)
}

// matrix has a row for each category of Y.
func (c *Chart) matrix() [][]string {
	rows := [][]string{append([]string{cmp.Or(c.Y.Name, "row")}, c.X.Labels...)}
	for _, label := range c.Y.Labels {
		rows = append(rows, append([]string{label}, make([]string, len(c.X.Labels))...))
	}
	for i := range c.Tiles {
		t := &c.Tiles[i]
		rows[1+t.Y][1+t.X] = strings.TrimLeft(t.Text+", "+t.More, ", ")
		rows[1+t.Y][1+t.X] = strings.TrimRight(rows[1+t.Y][1+t.X], ", ")
	}
	return rows
}

// StairsOf are the marks that none beats in the two numbers of the chart, the cheapest first.
func StairsOf(on []Dot) (kept []Dot) {
	on = slices.DeleteFunc(slices.Clone(on), func(d Dot) bool { return !d.X.Known() || !d.Y.Known() })
	slices.SortStableFunc(on, func(a, b Dot) int {
		return cmp.Or(cmp.Compare(a.X.Number, b.X.Number), cmp.Compare(b.Y.Number, a.Y.Number))
	})
	for _, d := range on {
		if len(kept) == 0 || d.Y.Number > kept[len(kept)-1].Y.Number {
			kept = append(kept, d)
		}
	}
	return kept
}
