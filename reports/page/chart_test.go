package page

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

// figure writes a chart and reads it again.
func figure(t *testing.T, c Chart) (*html.Node, string) {
	t.Helper()
	var out bytes.Buffer
	w := htmlWriter{Writer: bufio.NewWriter(&out), ids: map[string]bool{}, coming: map[string]bool{}}
	w.figure(&c)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(strings.NewReader(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	return root, out.String()
}

func attribute(node *html.Node, name string) string {
	for _, a := range node.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// elements are those of a name, or of a class where one is given.
func elements(root *html.Node, name, class string) (found []*html.Node) {
	for node := range root.Descendants() {
		if node.Type == html.ElementNode && node.Data == name && (class == "" || slices.Contains(strings.Fields(attribute(node, "class")), class)) {
			found = append(found, node)
		}
	}
	return found
}

func textOfNode(node *html.Node) string {
	var b strings.Builder
	for child := range node.Descendants() {
		if child.Type == html.TextNode {
			b.WriteString(child.Data)
		}
	}
	return b.String()
}

func fourPoints() Chart {
	s := Series{Name: "runs", Line: true}
	for i, y := range []float64{0.1, 0.4, 0.8, 1} {
		s.Dots = append(s.Dots, Dot{
			Name: fmt.Sprint("p", i), X: Known(float64(i) * 10), Y: Known(y), YRange: Range{Known(y - 0.05), Known(y + 0.05)}, Link: OfConfiguration(fmt.Sprint("p", i)),
		})
	}
	form := func(v Value) string { return Score(v, 2) }
	return Chart{Name: "four", Title: "Four", About: "About four.", X: Axis{Name: "width", Form: Whole}, Y: Axis{Name: "height", Form: form}, Series: []Series{s}}
}

// The picture is one image with a title and a description; the links to the runs lie above
// it, each with all that is known of its mark; and the same numbers stand in a table.
func TestAChartIsAnImageWithLinksAndATable(t *testing.T) {
	root, text := figure(t, fourPoints())
	images := elements(root, "g", "")
	if len(images) != 1 || attribute(images[0], "role") != "img" || attribute(images[0], "aria-labelledby") != "chart-four-title chart-four-desc" {
		t.Fatalf("the images are %v", images)
	}
	if title := elements(images[0], "title", ""); len(title) != 1 || textOfNode(title[0]) != "Four" || attribute(title[0], "id") != "chart-four-title" {
		t.Errorf("the title is %v", title)
	}
	if about := elements(images[0], "desc", ""); len(about) != 1 || textOfNode(about[0]) != "About four." {
		t.Errorf("the description is %v", about)
	}
	if len(elements(images[0], "a", "")) > 0 {
		t.Error("a link lies within the image, where a reader of screens does not find it")
	}
	links := elements(root, "a", "")
	if len(links) != 4 || attribute(links[1], "href") != "#q=config:p1" || attribute(links[1], "aria-label") != "p1, width 10, height 0.40 (0.35–0.45)" {
		t.Errorf("the links:\n%s", text)
	}
	var rows []string
	for _, row := range elements(root, "tr", "") {
		var cells []string
		for cell := range row.ChildNodes() {
			cells = append(cells, textOfNode(cell))
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	want := []string{"mark|series|height|95%|width", "p0|runs|0.10|0.05–0.15|0", "p1|runs|0.40|0.35–0.45|10", "p2|runs|0.80|0.75–0.85|20", "p3|runs|1.00|0.95–1.05|30"}
	if !slices.Equal(rows, want) {
		t.Errorf("the table is %q", rows)
	}
}

// numberAt reads the first two numbers of a path such as M12.5 30L…
func numberAt(t *testing.T, path string) (x, y float64) {
	t.Helper()
	if _, err := fmt.Sscanf(path, "M%g %g", &x, &y); err != nil {
		t.Fatalf("%q: %v", path, err)
	}
	return x, y
}

// A mark stands where the ticks say that its numbers are, on all kinds of axes.
func TestMarksStandWhereTheirNumbersAre(t *testing.T) {
	for _, kind := range []AxisKind{Linear, Logarithmic} {
		c := fourPoints()
		c.X.Kind = kind
		for i, x := range []float64{0.002, 0.03, 0.5, 7} {
			c.Series[0].Dots[i].X = Known(x)
		}
		d := &drawing{Chart: &c}
		d.layOut()
		d.draw()
		root, _ := figure(t, c)
		marks := elements(root, "path", "mark")[1:] // behind that of the legend
		if len(marks) != 4 {
			t.Fatalf("%d marks", len(marks))
		}
		at := func(ticks []tick, value func(string) float64, x float64, log bool) float64 {
			first, last := ticks[0], ticks[len(ticks)-1]
			a, b := value(first.text), value(last.text)
			if log {
				a, b, x = math.Log(a), math.Log(b), math.Log(x)
			}
			return first.at + (x-a)/(b-a)*(last.at-first.at)
		}
		number := func(text string) float64 {
			x, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		for i, mark := range marks {
			left, y := numberAt(t, attribute(mark, "d"))
			x := left + radius // a circle begins at its left
			dot := c.Series[0].Dots[i]
			wantX, wantY := at(d.x.ticks(), number, dot.X.Number, kind == Logarithmic), at(d.y.ticks(), number, dot.Y.Number, false)
			if math.Abs(x-wantX) > 0.2 || math.Abs(y-wantY) > 0.2 {
				t.Errorf("kind %d, mark %d stands at %v %v, its numbers at %v %v", kind, i, x, y, wantX, wantY)
			}
		}
	}
}

// Ticks are round numbers with as many digits as they need, in the unit of the axis.
func TestTicksAreRound(t *testing.T) {
	for _, c := range []struct {
		unit     Unit
		kind     AxisKind
		from, to float64
		want     string
	}{
		{InNumbers, Linear, 0.52, 0.858, "0.5 0.6 0.7 0.8 0.9"},
		{InPercent, Linear, 0, 1, "0% 20% 40% 60% 80% 100%"},
		{InDollars, Linear, 0.0003, 0.0014, "$0.0000 $0.0005 $0.0010 $0.0015"},
		{InDollars, Logarithmic, 0.003, 4, "$0.01 $0.1 $1"},
		{InSeconds, Linear, 0.1, 0.9, "0 ms 200 ms 400 ms 600 ms 800 ms 1000 ms"},
		{InSeconds, Linear, 30, 240, "0 s 50 s 100 s 150 s 200 s 250 s"},
		{InSeconds, Linear, 60, 1500, "0 min 5 min 10 min 15 min 20 min 25 min"},
		{InChanges, Linear, -0.05, 0.1, "−0.05 0.00 +0.05 +0.10"},
		{InRatios, Linear, -0.5, 1, "−50% 0% +50% +100%"},
		{InCounts, Linear, 1, 4, "1 2 3 4"},
		{InNumbers, Linear, 0, 52_000, "0 20k 40k 60k"},
		{InNumbers, Linear, 3, 3, "2.6 2.8 3.0 3.2 3.4"},
	} {
		s := spanned(&Axis{Unit: c.unit, Kind: c.kind}, []float64{c.from, c.to}, 5)
		s.start, s.end = 0, 100
		var got []string
		for _, tick := range s.ticks() {
			got = append(got, tick.text)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("from %v to %v: %q, want %q", c.from, c.to, text, c.want)
		}
	}
}

// Any numbers have a scale on which they lie, with ticks that rise.
func TestEveryNumberLiesOnItsScale(t *testing.T) {
	propertytest.Check(t, func(rt *rapid.T) {
		axis := Axis{Unit: Unit(rapid.IntRange(0, int(InRatios)).Draw(rt, "unit")), Kind: AxisKind(rapid.IntRange(0, 1).Draw(rt, "kind"))}
		numbers := rapid.SliceOfN(rapid.Float64Range(-1e9, 1e12), 1, 20).Draw(rt, "numbers")
		if axis.Kind == Logarithmic {
			numbers = rapid.SliceOfN(rapid.Float64Range(1e-9, 1e12), 1, 20).Draw(rt, "numbers above 0")
		}
		s := spanned(&axis, numbers, 6)
		s.start, s.end = 40, 600
		for _, x := range numbers {
			if at := s.at(x); !(at >= 39.9 && at <= 600.1) {
				rt.Errorf("%v stands at %v, outside of the axis", x, at)
			}
		}
		ticks := s.ticks()
		if len(ticks) < 1 || len(ticks) > 30 {
			rt.Errorf("%d ticks for %v", len(ticks), numbers)
		}
		if !slices.IsSortedFunc(ticks, func(a, b tick) int { return int(math.Copysign(1, a.at-b.at)) }) {
			rt.Errorf("the ticks %v do not rise", ticks)
		}
	})
}

// A chart has at most 2,000 marks and says how many are left out.
func TestAChartIsCut(t *testing.T) {
	c := fourPoints()
	for i := range 2500 {
		c.Series[0].Dots = append(c.Series[0].Dots, Dot{X: Known(float64(i)), Y: Known(0.5)})
	}
	root, text := figure(t, c)
	if n := len(elements(root, "path", "mark")) - 1; n != mostMarks {
		t.Errorf("%d marks", n)
	}
	if !strings.Contains(text, "504 marks more than the 2000 that a chart has") {
		t.Error("nothing says what is left out")
	}
	if len(c.Series[0].Dots) != 2504 {
		t.Error("the chart itself was cut")
	}
}

// Links of many marks are none where the keyboard stops.
func TestTheKeyboardPassesManyMarks(t *testing.T) {
	c := fourPoints()
	if _, text := figure(t, c); strings.Contains(text, `tabindex="-1"`) {
		t.Error("the keyboard passes four marks")
	}
	for i := range mostStops {
		c.Series[0].Dots = append(c.Series[0].Dots, Dot{X: Known(float64(i)), Y: Known(0.5), Link: "x"})
	}
	if root, text := figure(t, c); strings.Count(text, `tabindex="-1"`) != len(elements(root, "a", "")) {
		t.Error("the keyboard stops at each of 54 marks")
	}
}

// What is not known is in the table with its reason, and not in the picture.
func TestUnknownNumbersAreInTheTableAlone(t *testing.T) {
	c := fourPoints()
	c.Series[0].Dots[1].Y = Missing(Unpriced)
	root, text := figure(t, c)
	if n := len(elements(root, "path", "mark")); n != 1+3 {
		t.Errorf("%d marks", n)
	}
	if !strings.Contains(text, "<td>unpriced</td>") {
		t.Errorf("no reason:\n%s", text)
	}
}

// Bounds and what is not known are hatched, and what is chosen has a frame.
func TestTilesAreHatchedAndFramed(t *testing.T) {
	c := Chart{Name: "map", X: Axis{Kind: Category, Labels: []string{"1", "2"}}, Y: Axis{Kind: Ordinal, Labels: []string{"low", "high"}}, Tiles: []Tile{
		{X: 0, Y: 0, Value: Known(0.1), Shade: 0, Text: "0.10", Frame: Framed}, {X: 1, Y: 0, Value: Missing("bounded"), Shade: 1, Text: "≥0.20", Hatch: Hatched, Frame: DashedFrame},
		{X: 0, Y: 1, Value: Missing("needs calls"), Shade: -1, Hatch: Crossed, More: "needs calls"},
	}}
	root, text := figure(t, c)
	for _, want := range []string{"url(#tile1)", "url(#tile2)", `class="framed dashed"`, `<td data-raw="0.1">0.10</td><td>≥0.20</td>`, "<td>needs calls</td>"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	heights := map[string]float64{}
	for _, label := range elements(root, "text", "end") {
		heights[textOfNode(label)], _ = strconv.ParseFloat(attribute(label, "y"), 64)
	}
	if !(heights["high"] < heights["low"]) {
		t.Errorf("the larger value is not above the smaller one: %v", heights)
	}
}

// The paths of parameters are shortened before a name loses its middle.
func TestShortNames(t *testing.T) {
	for _, c := range []struct {
		name string
		most int
		want string
	}{
		{"default", 24, "default"},
		{"sweep@threshold=0.95,max_iterations=10", 40, "sweep@threshold=0.95,max_iterations=10"},
		{"sweep@threshold=0.95,max_iterations=10", 32, "sweep@thres=0.95,max_itera=10"},
		{"sweep@threshold=0.95,max_iterations=10", 26, "sweep@thr=0.95,max_ite=10"},
		{strings.Repeat("x", 50), 11, "xxxxxx…xxxx"},
		{"日本語日本語日本語", 10, "日本語…語"},
		{"a\nb", 9, "a b"},
		{"\u202eabc", 20, `\u202eabc`},
	} {
		if got := short(c.name, c.most); Width(got) > c.most || got != c.want {
			t.Errorf("%q becomes %q, want %q", c.name, got, c.want)
		}
	}
}

func TestFilter(t *testing.T) {
	for want, terms := range map[string][]string{
		"q=config:default":                        {Term("config", "default")},
		"q=config:a/b-c_d.1":                      {Term("config", "a/b-c_d.1")},
		"q=config:%22sweep%40a%3D1%22":            {Term("config", "sweep@a=1")},
		"q=config:x%20task:%22two%20words%22":     {Term("config", "x"), Term("task", "two words")},
		"q=stop:max_iterations%20score%3C0.5":     {Term("stop", "max_iterations"), "score<0.5"},
		"q=task:%22say%20%5C%22hi%5C%22%5C%5C%22": {Term("task", `say "hi"\`)},
		"q=task:%22%22":                           {Term("task", "")},
		"q=task:%22%E6%97%A5%22":                  {Term("task", "日")},
		"q=task:%22%EF%BF%BD%22":                  {Term("task", "\xff")},
		"":                                        {Term("task", strings.Repeat("x", 1<<20))},
	} {
		if got := Filter(terms...); got != want {
			t.Errorf("%.80q becomes %q, want %q", terms, got, want)
		}
	}
	propertytest.Check(t, func(rt *rapid.T) {
		name := rapid.String().Draw(rt, "name")
		fragment := Filter(Term("config", name))
		text, err := url.PathUnescape(fragment)
		if err != nil || text != "q="+Term("config", name) || strings.ContainsAny(fragment, "\"'<>&+# ") {
			rt.Errorf("%q becomes %q, which is read as %q", name, fragment, text)
		}
	})
}
