package page

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// front has marks of the values of two parameters; only the first of each two is on the front.
func front(values []string) Chart {
	on, beaten := Series{Name: "on the front"}, Series{Name: "beaten", Tone: Grey}
	for i, value := range values {
		for k, note := range []string{"a", "b"} {
			d := Dot{Name: value + note, X: Known(float64(i)), Y: Known(float64(i) + float64(k)/10), Params: map[string]string{"terminate.max_iterations": value, "agent.note": note}}
			if k == 0 {
				on.Dots = append(on.Dots, d)
			} else {
				beaten.Dots = append(beaten.Dots, d)
			}
		}
	}
	beaten.Dots = append(beaten.Dots, Dot{Name: "base", X: Known(1), Y: Known(0)})
	return Chart{Name: "front", Title: "Front", Series: []Series{on, beaten}}
}

func seriesOf(c *Chart) (all []string) {
	for _, s := range c.Series {
		var names []string
		for _, d := range s.Dots {
			names = append(names, d.Name)
		}
		all = append(all, fmt.Sprintf("%s %d %v: %s", s.Name, s.Tone, s.Hollow, strings.Join(names, " ")))
	}
	return all
}

// A sweep has a colour and a shape for each value of the parameter that changes the score most, in
// the order of numbers; beaten ones are hollow, and what has no value stays as it was.
func TestASweepHasTheColoursOfItsValues(t *testing.T) {
	c := front([]string{"10", "2", "off"})
	if path := c.Sweep(); path != "terminate.max_iterations" {
		t.Fatalf("coloured by %q", path)
	}
	want := []string{
		"max_iterations off 0 true: offb", "max_iterations off 0 false: offa", "max_iterations 2 1 true: 2b", "max_iterations 2 1 false: 2a",
		"max_iterations 10 2 true: 10b", "max_iterations 10 2 false: 10a", "beaten -1 false: base",
	}
	if is := seriesOf(&c); !slices.Equal(is, want) {
		t.Errorf("the series are\n%s", strings.Join(is, "\n"))
	}
	root, text := figure(t, c)
	if n := len(elements(root, "path", "hollow")); n != 4 { // and the legend's
		t.Errorf("%d hollow marks in %s", n, text)
	}
	for _, key := range []string{">max_iterations 2<", ">max_iterations 10<", ">max_iterations off<", ">beaten<"} {
		if !strings.Contains(text, key) {
			t.Errorf("the legend lacks %s", key)
		}
	}
}

func TestNeighboursShareAColour(t *testing.T) {
	var values []string
	for n := range 14 {
		values = append(values, fmt.Sprint(n*100, "ms"))
	}
	c := front(values)
	c.Sweep()
	var names []string
	for _, s := range c.Series {
		if !s.Hollow && s.Tone >= 0 {
			names = append(names, s.Name)
		}
	}
	if want := []string{"max_iterations 0ms to 200ms", "max_iterations 300ms to 400ms", "max_iterations 500ms to 600ms", "max_iterations 700ms to 900ms", "max_iterations 1000ms to 1100ms", "max_iterations 1200ms to 1300ms"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

func TestWhatIsNoSweepStays(t *testing.T) {
	few := front([]string{"1"})
	few.Series[0].Dots[0].Params, few.Series[1].Dots[0].Params = map[string]string{"a": "1"}, map[string]string{"a": "2"}
	texts := front([]string{"a", "b", "c", "d", "e", "f", "g"})
	for i := range texts.Series {
		for k := range texts.Series[i].Dots {
			delete(texts.Series[i].Dots[k].Params, "agent.note")
		}
	}
	for _, c := range []Chart{few, texts} {
		before := seriesOf(&c)
		if path := c.Sweep(); path != "" || !slices.Equal(before, seriesOf(&c)) || len(c.Legend) > 0 {
			t.Errorf("coloured by %q: %q", path, seriesOf(&c))
		}
	}
}

// Points that are too many are binned: none is lost, their mean stays, and rings stay.
func TestTooManyPointsAreBinned(t *testing.T) {
	s := Series{Name: "beaten", Tone: Grey}
	sum, sumX := 0.0, 0.0
	for i := range 30_000 {
		x, y := float64(i*7919%10_007)/10_007, float64(i*104_729%30_011)/30_011
		sum, sumX = sum+y, sumX+x
		s.Dots = append(s.Dots, Dot{Name: "p", X: Known(x), Y: Known(y), Ring: i == 5})
	}
	c := Chart{Name: "dense", Title: "Dense", Series: []Series{s}}
	cut := c.cut()
	marks, points, total, totalX, rings := 0, 0, 0.0, 0.0, 0
	for _, d := range cut.Series[0].Dots {
		n := 1
		if d.More != "" {
			_, _ = fmt.Sscanf(strings.ReplaceAll(d.Name, ",", ""), "%d", &n)
		}
		if d.Ring {
			rings++
		}
		marks, points, total, totalX = marks+1, points+n, total+float64(n)*d.Y.Number, totalX+float64(n)*d.X.Number
	}
	if marks > mostMarks || marks < mostMarks/8 || points != 30_000 || rings != 1 || math.Abs(total-sum) > 1e-6 || math.Abs(totalX-sumX) > 1e-6 {
		t.Errorf("%d marks for %d points, a mean of %v, %v instead of %v, %v, %d rings", marks, points, totalX/30_000, total/30_000, sumX/30_000, sum/30_000, rings)
	}
	if len(cut.Notes) != 1 || !strings.Contains(cut.Notes[0], "some marks stand for several") {
		t.Errorf("notes: %q", cut.Notes)
	}
	c.Series[0].Dots = s.Dots[:mostMarks]
	if few := c.cut(); len(few.Series[0].Dots) != mostMarks || len(few.Notes) > 0 {
		t.Errorf("%d marks, %q", len(few.Series[0].Dots), few.Notes)
	}
}
