package page

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The paper of a chart, in units that are pixels where the page is as wide.
const (
	paperWidth  = 640.0
	plotHeight  = 270.0
	rowHeight   = 24.0
	lineHeight  = 17.0 // of texts
	columnWidth = 7.3  // of a letter, rather more than most fonts take
	leastTile   = 56.0 // as wide as a column of tiles is where there is room
	radius      = 4.5
	tickLength  = 5.0
)

// The most columns that a name takes.
const (
	longestLabel = 38 // of a category
	longestMark  = 24
)

// The most characters of what is said of a mark, and of a chart.
const longestTip, longestAbout = 200, 600

// drawing is a chart on its paper.
type drawing struct {
	*Chart
	out                      bytes.Buffer
	x, y                     scale
	left, right, top, bottom float64 // of the plot
	height                   float64
	keys                     [][]legendKey // of the legend, by line
	taken, crossed           []box         // by marks and names; by whiskers
	links                    []link
	unnamed                  int // marks whose names have no room
}

type box struct{ left, top, right, bottom float64 }

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

// link is what leads from a mark to its runs: all of the picture is one image to a
// reader of screens, so that links stand above it.
type link struct{ fragment, tip, shape string }

// mostStops are links that the keyboard stops at. Of more, the tables have the rows.
const mostStops = 50

// anchor is the id of the figure.
func (c *Chart) anchor() string { return inFragment("chart-" + c.Name) }

// figure writes a chart with its numbers.
func (w htmlWriter) figure(c *Chart) {
	cut := c.cut()
	d := &drawing{Chart: &cut}
	d.layOut()
	d.draw()
	id := c.anchor()
	w.put("<figure id=\"%s\">\n<figcaption>%s</figcaption>\n", id, shown(c.Title))
	w.put("<div class=\"scroll\" role=\"group\" aria-label=\"Chart: %s\" tabindex=\"0\">\n", shown(c.Title))
	w.put(`<svg class="chart" viewBox="0 0 %s %s" width="%s" height="%s">`+"\n", place(paperWidth), place(d.height), place(paperWidth), place(d.height))
	w.put(`<g role="img" aria-labelledby="%s-title %s-desc"><title id="%s-title">%s</title><desc id="%s-desc">%s</desc>`+"\n",
		id, id, id, shown(c.Title), id, shownUpTo(longestAbout, c.About))
	_, _ = w.Write(d.out.Bytes())
	w.put("</g>\n")
	for _, l := range d.links {
		if len(d.links) > mostStops {
			w.put(`<a href="#%s" aria-label="%s" tabindex="-1"><title>%s</title>`, l.fragment, l.tip, l.tip)
		} else {
			w.put(`<a href="#%s" aria-label="%s"><title>%s</title>`, l.fragment, l.tip, l.tip)
		}
		_, _ = w.WriteString(l.shape + "</a>\n")
	}
	w.put("</svg>\n</div>\n<p class=\"about\">%s</p>\n", shownUpTo(longestAbout, c.About))
	if d.unnamed > 0 {
		cut.Notes = append(cut.Notes, Plural(d.unnamed, "name has no room in the picture and is", "names have no room in the picture and are")+" in the table")
	}
	for _, note := range cut.Notes {
		w.put("<p class=\"more\">%s</p>\n", shownUpTo(longestAbout, note))
	}
	w.chartNumbers(&cut)
	w.put("</figure>\n")
}

// chartNumbers is the table of a chart, the same values once more.
func (w htmlWriter) chartNumbers(c *Chart) {
	rows, raw := c.numbers()
	w.put("<details"+printedAs(len(rows[0]))+"><summary>Numbers of this chart</summary>\n<div class=\"scroll\" role=\"group\" aria-label=\"Numbers: %s\" tabindex=\"0\">\n<table>\n", shown(c.Title))
	anchors := c.anchors()
	open := func(name string, row, column int) {
		at := numberPlace{row, column}
		w.put("<" + name)
		if id := anchors[at]; id != "" && !w.ids[id] && !w.coming[id] {
			w.ids[id] = true
			w.put(` id="%s"`, id)
		}
		if raw[at] != "" {
			w.put(` data-raw="%s"`, raw[at])
		}
		w.put(">")
	}
	for i, row := range rows {
		cell := "td"
		switch i {
		case 0:
			cell = "th"
			w.put("<thead>\n")
		case 1:
			w.put("<tbody>\n")
		}
		open("tr", i, wholeRow)
		for at, text := range row {
			open(cell, i, at)
			w.put("%s</"+cell+">", shown(text))
		}
		w.put("</tr>\n")
		if i == 0 {
			w.put("</thead>\n")
		}
	}
	w.put("</tbody>\n</table>\n</div>\n</details>\n")
}

// put adds markup, in which each %s stands for a text.
func (d *drawing) put(markup string, texts ...string) {
	for _, text := range texts {
		before, after, _ := strings.Cut(markup, "%s")
		d.out.WriteString(before)
		_, _ = htmlSafe.WriteString(&d.out, text)
		markup = after
	}
	d.out.WriteString(markup)
}

// short is a name of at most so many columns: of name@path=value,... the paths are shortened
// first, then the middle is left out.
func short(text string, most int) string {
	text = shown(strings.ReplaceAll(text, "\n", " "))
	for _, letters := range []int{math.MaxInt, 7, 5, 4, 3} {
		cut := assigned.ReplaceAllStringFunc(text, func(path string) string {
			return letterRun.ReplaceAllStringFunc(path, func(word string) string { return word[:min(letters, len(word))] })
		})
		if columnsOf(cut) <= float64(most) {
			return cut
		}
	}
	runes := []rune(text)
	for n := len(runes) - 2; n > 2; n-- {
		front := (n*3 + 4) / 5
		if cut := string(runes[:front]) + "…" + string(runes[len(runes)-n+front:]); columnsOf(cut) <= float64(most) {
			return cut
		}
	}
	return "…"
}

var (
	assigned  = regexp.MustCompile(`[A-Za-z][A-Za-z_.]*=`)
	letterRun = regexp.MustCompile(`[A-Za-z]+`)
)

func widthOf(text string) float64 { return columnWidth * columnsOf(text) }

// columnsOf is how many columns a text takes where letters are not equally wide.
func columnsOf(text string) float64 {
	wide := strings.Count(text, "W") + strings.Count(text, "M")
	return float64(Width(text)) + 0.65*float64(wide)
}

// layOut divides the paper, and finds the scales.
func (d *drawing) layOut() {
	xs, ys := d.extent()
	d.layLegend()
	d.top = 10 + lineHeight*float64(len(d.keys))
	if len(d.keys) > 0 {
		d.top += 6
	}
	if d.namesRows() {
		d.top += lineHeight
	}
	plot := plotHeight
	if d.Y.isCategory() {
		row := rowHeight
		if len(d.Y.Labels) > 60 {
			row = 17
		}
		plot = row * float64(len(d.Y.Labels))
	}
	d.bottom = d.top + plot
	d.y = spanned(&d.Y, ys, 6)
	d.y.start, d.y.end = d.bottom, d.top
	if d.Y.isCategory() {
		d.y.start, d.y.end = d.top, d.bottom
	}
	d.left = 14
	for _, text := range d.rowLabels() {
		d.left = max(d.left, 14+widthOf(text))
	}
	d.right = paperWidth - 26 // half of the last number stands there
	for i := range d.Series {
		for k := range d.Series[i].Dots {
			if text := d.Series[i].Dots[k].Text; d.Y.isCategory() && text != "" {
				d.right = min(d.right, paperWidth-14-widthOf(short(text, longestMark)))
			}
		}
	}
	d.x = spanned(&d.X, xs, int((d.right-d.left)/75))
	if d.X.isCategory() {
		widest := leastTile
		if len(d.Tiles) == 0 { // marks and their whiskers, not numbers beside each other
			widest *= 2
		}
		for i := range d.Tiles {
			widest = max(widest, widthOf(short(d.Tiles[i].Text, longestMark))+10)
		}
		d.right = min(d.right, d.left+widest*float64(len(d.X.Labels)))
	}
	if d.X.isCategory() && d.slanted() { // and to the left of its column
		column, more := (d.right-d.left)/float64(len(d.X.Labels)), 0.0
		for i, label := range d.X.Labels {
			more = max(more, 4+0.77*widthOf(short(label, longestMark))-d.left-column*(float64(i)+0.5))
		}
		d.left, d.right = d.left+more, min(d.right+more, paperWidth-26)
	}
	d.x.start, d.x.end = d.left, d.right
	if d.X.Unit == InCounts && !d.Y.isCategory() { // the first marks stand beside the axis
		d.x.start, d.x.end = d.left+12, d.right-12
	}
	d.height = d.bottom + tickLength + lineHeight + 4
	if d.X.isCategory() {
		d.height = d.bottom + d.columnLabels()
	}
	if d.X.Name != "" {
		d.height += lineHeight
	}
}

// namesRows reports whether the name of Y stands above it. What rows of marks are is plain.
func (d *drawing) namesRows() bool {
	return d.Y.Name != "" && (!d.Y.isCategory() || len(d.Tiles) > 0)
}

// rowLabels are the texts to the left of the plot.
func (d *drawing) rowLabels() (texts []string) {
	if d.Y.isCategory() {
		for _, label := range d.Y.Labels {
			texts = append(texts, short(label, longestLabel))
		}
		return texts
	}
	for _, t := range d.y.ticks() {
		texts = append(texts, t.text)
	}
	return texts
}

// slanted reports whether the labels of columns are too wide to stand below them.
func (d *drawing) slanted() bool {
	for _, label := range d.X.Labels {
		if widthOf(label) > (d.right-d.left)/float64(len(d.X.Labels))-4 {
			return true
		}
	}
	return false
}

// columnLabels is how high the labels below a heat map are.
func (d *drawing) columnLabels() float64 {
	if !d.slanted() {
		return lineHeight + 4
	}
	high := 0.0
	for _, label := range d.X.Labels {
		high = max(high, widthOf(short(label, longestMark))*0.64+12)
	}
	return high
}

// extent are all numbers of both axes.
func (d *drawing) extent() (xs, ys []float64) {
	add := func(to *[]float64, all ...Value) {
		for _, v := range all {
			if v.Known() {
				*to = append(*to, v.Number)
			}
		}
	}
	for i := range d.Series {
		for _, dot := range d.Series[i].Dots {
			if !dot.X.Known() || !dot.Y.Known() {
				continue
			}
			add(&xs, dot.X)
			add(&ys, dot.Y)
			if drawn(dot.XRange) {
				add(&xs, dot.XRange.Low, dot.XRange.High)
			}
			if drawn(dot.YRange) {
				add(&ys, dot.YRange.Low, dot.YRange.High)
			}
		}
	}
	for _, z := range d.Zones {
		if z.Horizontal {
			ys = append(ys, z.From, z.To)
		} else {
			xs = append(xs, z.From, z.To)
		}
	}
	return xs, ys
}

// draw draws from the back to the front.
func (d *drawing) draw() {
	d.legend()
	d.zones()
	d.axes()
	d.stairs()
	for i := range d.Series {
		d.bandAndLine(&d.Series[i])
	}
	d.tiles()
	for i := range d.Series {
		if s := &d.Series[i]; !s.Mute {
			d.dots(s)
		}
	}
	d.names()
}

func (d *drawing) text(x, y float64, class, text string) {
	d.put(`<text class="%s" x="%s" y="%s">%s</text>`+"\n", class, place(x), place(y), text)
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	d.put(`<path class="%s" d="M%s %sL%s %s"/>`+"\n", class, place(x1), place(y1), place(x2), place(y2))
}

func (d *drawing) zones() {
	for _, z := range d.Zones {
		s := &d.x
		if z.Horizontal {
			s = &d.y
		}
		from, _ := s.inside(z.From)
		to, _ := s.inside(z.To)
		from, to = min(from, to), max(from, to)
		switch {
		case z.From == z.To && z.Horizontal:
			d.line("rule", d.left, from, d.right, from)
		case z.From == z.To:
			d.line("rule", from, d.top, from, d.bottom)
		case z.Horizontal:
			d.rect("zone", d.left, from, d.right-d.left, to-from)
		default:
			d.rect("zone", from, d.top, to-from, d.bottom-d.top)
		}
	}
}

func (d *drawing) rect(class string, x, y, width, height float64) {
	d.put(rectangle(class, x, y, width, height) + "\n")
}

func rectangle(class string, x, y, width, height float64) string {
	return fmt.Sprintf(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, place(x), place(y), place(max(0, width)), place(max(0, height)))
}

func (d *drawing) axes() {
	if d.X.isCategory() {
		d.columns()
	} else {
		for _, t := range d.x.ticks() {
			d.line("grid", t.at, d.top, t.at, d.bottom)
			d.text(t.at, d.bottom+tickLength+12, "middle", t.text)
		}
	}
	if d.Y.isCategory() {
		for i, text := range d.rowLabels() {
			d.text(d.left-7, d.y.at(float64(i))+4, "end", text)
		}
	} else {
		for _, t := range d.y.ticks() {
			d.line("grid", d.left, t.at, d.right, t.at)
			d.text(d.left-7, t.at+4, "end", t.text)
		}
	}
	if d.namesRows() {
		d.text(10, d.top-10, "axis", short(d.Y.Name, 60))
	}
	if d.X.Name != "" {
		d.text((d.left+d.right)/2, d.height-6, "axis middle", short(d.X.Name, 60))
	}
	if len(d.Tiles) == 0 {
		d.put(`<path class="frame" d="M%s %sV%sH%s"/>`+"\n", place(d.left), place(d.top), place(d.bottom), place(d.right))
	}
}

// columns are the labels below a heat map.
func (d *drawing) columns() {
	slanted := d.slanted()
	for i, label := range d.X.Labels {
		x := d.x.at(float64(i))
		if !slanted {
			d.text(x, d.bottom+tickLength+11, "middle", short(label, longestMark))
			continue
		}
		d.put(`<text class="end" transform="translate(%s %s) rotate(-40)">%s</text>`+"\n", place(x+3), place(d.bottom+12), short(label, longestMark))
	}
}

// tone is the class of a colour.
func (t Tone) class() string {
	if t < 0 {
		return "grey"
	}
	return "c" + strconv.Itoa(int(t)%tones)
}

// stairs go on to the right edge: who pays more gets as much.
func (d *drawing) stairs() {
	path := ""
	for _, dot := range d.Stairs {
		x, _ := d.x.inside(dot.X.Number)
		y, _ := d.y.inside(dot.Y.Number)
		if path == "" {
			path = "M" + place(x) + " " + place(d.bottom) + "V" + place(y)
		} else {
			path += "H" + place(x) + "V" + place(y)
		}
	}
	if path != "" {
		d.put(`<path class="stairs" d="%s"/>`+"\n", path+"H"+place(d.right))
	}
}

// bandAndLine draws what lies below the marks of a series.
func (d *drawing) bandAndLine(s *Series) {
	if s.Band {
		d.band(s)
	}
	if !s.Line {
		return
	}
	var before *Dot
	path, dashed := "", false
	flush := func() {
		if path != "" {
			d.put(`<path class="line %s" d="%s"/>`+"\n", s.Tone.class()+map[bool]string{true: " dashed"}[dashed], path)
		}
		path = ""
	}
	for i := range s.Dots {
		dot := &s.Dots[i]
		if !dot.X.Known() || !dot.Y.Known() {
			flush()
			before = nil
			continue
		}
		x, _ := d.x.inside(dot.X.Number)
		y, _ := d.y.inside(dot.Y.Number)
		if before != nil {
			if dot.Censored != dashed || path == "" {
				flush()
				dashed = dot.Censored
				px, _ := d.x.inside(before.X.Number)
				py, _ := d.y.inside(before.Y.Number)
				path = "M" + place(px) + " " + place(py)
			}
			path += "L" + place(x) + " " + place(y)
		}
		before = dot
	}
	flush()
}

// band is the area between the ends of the intervals.
func (d *drawing) band(s *Series) {
	var forth, back []string
	for i := range s.Dots {
		dot := &s.Dots[i]
		if !dot.X.Known() || !drawn(dot.YRange) {
			continue
		}
		x, _ := d.x.inside(dot.X.Number)
		low, _ := d.y.inside(dot.YRange.Low.Number)
		high, _ := d.y.inside(dot.YRange.High.Number)
		forth, back = append(forth, place(x)+" "+place(high)), append([]string{place(x) + " " + place(low)}, back...)
	}
	if len(forth) > 1 {
		d.put(`<path class="band %s" d="M%sZ"/>`+"\n", s.Tone.class(), strings.Join(append(forth, back...), "L"))
	}
}

func (d *drawing) link(s *Series, dot *Dot, shape string) {
	if dot.Link != "" {
		d.links = append(d.links, link{dot.Link, shownUpTo(longestTip, d.tip(s, dot)), shape})
	}
}

// tiles are the cells of a heat map.
func (d *drawing) tiles() {
	if len(d.Tiles) == 0 {
		return
	}
	width, height := math.Abs(d.x.at(1)-d.x.at(0)), math.Abs(d.y.at(1)-d.y.at(0))
	for _, framed := range []bool{false, true} { // frames lie above the neighbours
		for i := range d.Tiles {
			if t := &d.Tiles[i]; (t.Frame != NoFrame) == framed {
				x, y := d.x.at(float64(t.X))-width/2, d.y.at(float64(t.Y))-height/2
				d.tile(t, box{x, y, x + width, y + height})
			}
		}
	}
}

// shades are how many there are.
const shades = 8

func (d *drawing) tile(t *Tile, b box) {
	const gap = 0.75
	x, y, width, height := b.left+gap, b.top+gap, b.right-b.left-2*gap, b.bottom-b.top-2*gap
	class := "empty"
	if t.Shade >= 0 {
		class = "h" + strconv.Itoa(min(shades-1, int(t.Shade*shades)))
	}
	d.rect(class, x, y, width, height)
	if t.Hatch != NoHatch {
		d.put(`<rect fill="url(#tile%s)" x="%s" y="%s" width="%s" height="%s"/>`+"\n", strconv.Itoa(int(t.Hatch)), place(x), place(y), place(width), place(height))
	}
	if text := short(t.Text, longestMark); t.Text != "" && widthOf(text)+2 < width && height > 14 {
		if t.Hatch != NoHatch {
			d.rect("plate", b.left+(b.right-b.left-widthOf(text))/2, (b.top+b.bottom)/2-7.5, widthOf(text), 15)
			class = ""
		}
		d.text((b.left+b.right)/2, (b.top+b.bottom)/2+4, "middle on-"+class, text)
	}
	if t.Dot {
		d.put(`<circle class="fold" cx="%s" cy="%s" r="4"/>`+"\n", place(b.right-7), place(b.top+7))
	}
	if t.Frame == Framed || t.Frame == BothFrames {
		d.rect("framed", x, y, width, height)
	}
	if t.Frame == DashedFrame || t.Frame == BothFrames {
		inner := map[bool]float64{true: 3}[t.Frame == BothFrames]
		d.rect("framed dashed", x+inner, y+inner, width-2*inner, height-2*inner)
	}
	if t.Link != "" && len(d.Y.Labels) > t.Y {
		d.links = append(d.links, link{t.Link, shownUpTo(longestTip, d.tileTip(t)), rectangle("hit", x, y, width, height)})
	}
}

// dots are the marks of a series, with their whiskers and their texts.
func (d *drawing) dots(s *Series) {
	for i := range s.Dots {
		dot := &s.Dots[i]
		if !dot.X.Known() || !dot.Y.Known() {
			continue
		}
		x, outX := d.x.inside(dot.X.Number)
		y, outY := d.y.inside(dot.Y.Number)
		d.whisker(s, dot, x, y)
		d.crossings(dot, x, y)
		if !outX && !outY {
			d.put(`<path class="mark %s" d="%s"/>`+"\n", s.Tone.class(), shapeOf(s.Tone, x, y, radius))
		}
		if dot.Ring {
			d.put(`<circle class="ring" cx="%s" cy="%s" r="9"/>`+"\n", place(x), place(y))
		}
		d.taken = append(d.taken, box{x - 6, y - 6, x + 6, y + 6})
		if dot.Text != "" && d.Y.isCategory() {
			d.text(d.right+8, y+4, "", short(dot.Text, longestMark))
		}
		d.link(s, dot, fmt.Sprintf(`<circle class="hit" cx="%s" cy="%s" r="10"/>`, place(x), place(y)))
	}
}

// shapeOf is the outline of a mark.
func shapeOf(t Tone, x, y, r float64) string {
	points := func(corners ...float64) string {
		var b strings.Builder
		for i := 0; i < len(corners); i += 2 {
			b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + place(x+corners[i]*r) + " " + place(y+corners[i+1]*r))
		}
		return b.String() + "Z"
	}
	switch {
	case t < 0: // a cross, which is thin
		return points(-1, -0.6, -0.6, -1, 0, -0.4, 0.6, -1, 1, -0.6, 0.4, 0, 1, 0.6, 0.6, 1, 0, 0.4, -0.6, 1, -1, 0.6, -0.4, 0)
	case t%tones == 1:
		return points(-0.95, -0.95, 0.95, -0.95, 0.95, 0.95, -0.95, 0.95)
	case t%tones == 2:
		return points(0, -1.3, 1.3, 0, 0, 1.3, -1.3, 0)
	case t%tones == 3:
		return points(0, -1.2, 1.15, 0.85, -1.15, 0.85)
	case t%tones == 4:
		return points(0, 1.2, 1.15, -0.85, -1.15, -0.85)
	case t%tones == 5:
		return points(-0.4, -1.2, 0.4, -1.2, 0.4, -0.4, 1.2, -0.4, 1.2, 0.4, 0.4, 0.4, 0.4, 1.2, -0.4, 1.2, -0.4, 0.4, -1.2, 0.4, -1.2, -0.4, -0.4, -0.4)
	}
	at, wide := place(x-r)+" "+place(y), place(r)+" "+place(r)
	return "M" + at + "a" + wide + " 0 1 0 " + place(2*r) + " 0a" + wide + " 0 1 0 " + place(-2*r) + " 0Z"
}

// crossings are where names would stand upon whiskers.
func (d *drawing) crossings(dot *Dot, x, y float64) {
	if r := dot.XRange; drawn(r) {
		low, _ := d.x.inside(r.Low.Number)
		high, _ := d.x.inside(r.High.Number)
		d.crossed = append(d.crossed, box{low, y - 2, high, y + 2})
	}
	if r := dot.YRange; drawn(r) {
		low, _ := d.y.inside(r.Low.Number)
		high, _ := d.y.inside(r.High.Number)
		d.crossed = append(d.crossed, box{x - 2, high, x + 2, low})
	}
}

// whisker are the intervals of a mark, which has its place. An end beyond the axis has no
// bar across it.
func (d *drawing) whisker(s *Series, dot *Dot, x, y float64) {
	const half = 3.5
	if r := dot.XRange; drawn(r) {
		low, lowOut := d.x.inside(r.Low.Number)
		high, highOut := d.x.inside(r.High.Number)
		path := "M" + place(low) + " " + place(y) + "H" + place(high)
		for _, end := range []struct {
			at  float64
			out bool
		}{{low, lowOut}, {high, highOut}} {
			if !end.out {
				path += "M" + place(end.at) + " " + place(y-half) + "v" + place(2*half)
			}
		}
		d.put(`<path class="whisker %s" d="%s"/>`+"\n", s.Tone.class(), path)
	}
	if r := dot.YRange; drawn(r) && !s.Band {
		low, lowOut := d.y.inside(r.Low.Number)
		high, highOut := d.y.inside(r.High.Number)
		path := "M" + place(x) + " " + place(low) + "V" + place(high)
		for _, end := range []struct {
			at  float64
			out bool
		}{{low, lowOut}, {high, highOut}} {
			if !end.out {
				path += "M" + place(x-half) + " " + place(end.at) + "h" + place(2*half)
			}
		}
		d.put(`<path class="whisker %s" d="%s"/>`+"\n", s.Tone.class(), path)
	}
}

// names stand beside their marks where there is room.
func (d *drawing) names() {
	if d.Y.isCategory() {
		return
	}
	for i := range d.Series {
		s := &d.Series[i]
		for k := range s.Dots {
			if dot := &s.Dots[k]; !s.Mute && dot.Name != "" && !dot.Unnamed && dot.X.Known() && dot.Y.Known() && !d.name(s, dot, d.crossed) && !d.name(s, dot, nil) {
				d.unnamed++
			}
		}
	}
}

// name tries the places around a mark that nothing takes.
func (d *drawing) name(s *Series, dot *Dot, crossed []box) bool {
	x, _ := d.x.inside(dot.X.Number)
	y, _ := d.y.inside(dot.Y.Number)
	text := short(dot.Name, longestMark)
	width := widthOf(text)
	for _, at := range []struct {
		dx, dy float64
		class  string
	}{{11, -6, ""}, {-11, -6, "end"}, {11, 14, ""}, {-11, 14, "end"}, {12, 4, ""}, {-12, 4, "end"}, {0, -13, "middle"}, {0, 21, "middle"}} {
		left := x + at.dx
		switch at.class {
		case "end":
			left -= width
		case "middle":
			left -= width / 2
		}
		b := box{left, y + at.dy - 11, left + width, y + at.dy + 3}
		if b.left < d.left+1 || b.right > d.right || b.top < d.top-4 || b.bottom > d.bottom || b.meetsAny(d.taken) || b.meetsAny(crossed) {
			continue
		}
		d.taken = append(d.taken, b)
		class := strings.TrimSpace(at.class + " name")
		if s.Tone < 0 {
			class += " faint"
		}
		d.text(x+at.dx, y+at.dy, class, text)
		return true
	}
	return false
}

func (b box) meetsAny(others []box) bool { return slices.ContainsFunc(others, b.meets) }

// hatchings are what tiles are hatched with, once in a page.
const hatchings = `<svg class="hatchings" width="0" height="0" aria-hidden="true"><defs>
<pattern id="tile1" width="8" height="8" patternUnits="userSpaceOnUse"><path class="over" d="M0 8L8 0"/></pattern>
<pattern id="tile2" width="8" height="8" patternUnits="userSpaceOnUse"><path class="over" d="M0 8L8 0M0 0L8 8"/></pattern>
</defs></svg>
`
