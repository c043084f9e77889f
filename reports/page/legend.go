package page

import (
	"cmp"
	"fmt"
)

// legendKey is a sign and what it means.
type legendKey struct {
	name  string
	width float64
	draw  func(x, y float64) // around a place at its left
}

// layLegend breaks the keys into lines.
func (d *drawing) layLegend() {
	const gap = 18
	room := paperWidth - 20
	x := 0.0
	for _, key := range d.legendKeys() {
		key.name = short(key.name, 60)
		width := key.width + 6 + widthOf(key.name)
		if len(d.keys) == 0 || x+width > room {
			d.keys, x = append(d.keys, nil), 0
		}
		last := len(d.keys) - 1
		d.keys[last] = append(d.keys[last], key)
		x += width + gap
	}
}

// legend draws the keys, line by line.
func (d *drawing) legend() {
	const gap = 18
	for i, line := range d.keys {
		x, y := 10.0, 12+lineHeight*float64(i)
		for _, key := range line {
			key.draw(x, y)
			d.text(x+key.width+6, y+4, "", key.name)
			x += key.width + 6 + widthOf(key.name) + gap
		}
	}
}

// legendKeys are those of the series that have names, of zones, and what a chart adds.
func (d *drawing) legendKeys() (keys []legendKey) {
	for i := range d.Series {
		if s := &d.Series[i]; !s.Unlisted && cmp.Or(s.Legend, s.Name) != "" {
			keys = append(keys, d.seriesKey(s))
		}
	}
	for _, k := range d.Legend {
		keys = append(keys, d.keyOf(k))
	}
	for _, z := range d.Zones {
		if z.Name == "" {
			continue
		}
		class := "zone"
		keys = append(keys, legendKey{z.Name, 14, func(x, y float64) {
			if z.From == z.To {
				d.line("rule", x, y, x+14, y)
			} else {
				d.rect(class, x, y-6, 14, 12)
			}
		}})
	}
	return keys
}

func (d *drawing) seriesKey(s *Series) legendKey {
	return legendKey{cmp.Or(s.Legend, s.Name), 22, func(x, y float64) {
		if s.Line {
			d.line("line "+s.Tone.class(), x, y, x+20, y)
		}
		if !s.Mute {
			d.put(`<path class="mark %s" d="%s"/>`+"\n", s.Tone.class(), shapeOf(s.Tone, x+10, y, radius))
		}
	}}
}

func (d *drawing) keyOf(k Key) legendKey {
	if k.Ring {
		return legendKey{k.Name, 18, func(x, y float64) {
			d.put(fmt.Sprintf(`<circle class="ring" cx="%s" cy="%s" r="7"/>`+"\n", place(x+9), place(y)))
		}}
	}
	return legendKey{k.Name, 20, func(x, y float64) {
		t := k.Tile
		t.Link, t.Text = "", ""
		d.tile(&t, box{x, y - 7, x + 20, y + 7})
	}}
}
