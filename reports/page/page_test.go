package page_test

import (
	"bytes"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/reports/page"
)

// menu is a page that has nothing to do with reports.
type menu struct {
	dishes []dish
	// rules are the checks of the group page.Thresholds; nil: there is no table of
	// them, either.
	rules []page.Check
	// shown are the dishes that a terminal shows.
	shown []int
}

type dish struct {
	name  string
	price page.Value
	notes []page.Warning
}

// remark is a warning; a serious one ends with an exclamation mark.
type remark string

func (r remark) Text() page.Words { return page.Words("beware of " + page.Foreign(string(r))) }
func (r remark) Serious() bool    { return strings.HasSuffix(string(r), "!") }

func (m *menu) About() (kind, suite string) { return "menu", "noon" }

func (m *menu) Heading() page.Words { return page.Words("menu of " + page.Foreign("noon")) }

func (m *menu) Answer() page.Answer { return page.Answer{State: page.Skipped} }

func (m *menu) Remark() page.Words { return "" }

func (m *menu) Tables(page.Audience) []page.Table {
	fields := []page.Field[dish]{
		{Column: page.Column{Head: "dish", Key: "dish"}, Cell: func(d dish) page.Cell { return page.Name(d.name, d.notes...) }},
		{Column: page.Column{Head: "price", Key: "price_usd", Right: true}, Cell: func(d dish) page.Cell {
			return page.Number(d.price, func(v page.Value) string { return page.Dollars(v, 2) })
		}},
		{Column: page.Column{Head: "for people", Only: page.People}, Cell: func(dish) page.Cell { return page.Text("yes") }},
		{Column: page.Column{Key: "for_machines", Only: page.Machines}, Cell: func(dish) page.Cell { return page.Count(1) }},
		{Column: page.Column{Head: "empty", Key: "empty", Optional: true}, Cell: func(dish) page.Cell { return page.Cell{} }},
	}
	dishes := page.Table{Name: "dishes", Title: "Dishes", Columns: page.ColumnsOf(fields), Keys: 1}
	dishes.Fill(page.RowsOf(fields, slices.Values(m.dishes)))
	dishes.Shown = m.shown
	if m.rules == nil {
		return []page.Table{dishes}
	}
	names := []page.Field[page.Check]{{Column: page.Column{Head: "rule", Key: "rule"}, Cell: func(c page.Check) page.Cell { return page.Name(c.Name) }}}
	rules := page.Table{Name: page.Thresholds, Title: "Rules", Columns: page.ColumnsOf(names)}
	rules.Fill(page.RowsOf(names, slices.Values(m.rules)))
	return []page.Table{dishes, rules}
}

func (m *menu) WholeWarnings() []page.Warning { return []page.Warning{remark("hunger")} }

func (m *menu) Warned() iter.Seq2[string, page.Warning] {
	return func(yield func(string, page.Warning) bool) {
		for _, d := range m.dishes {
			for _, w := range d.notes {
				if !yield(d.name, w) {
					return
				}
			}
		}
	}
}

func (m *menu) Checks() iter.Seq[page.Check] {
	return func(yield func(page.Check) bool) {
		for _, c := range m.rules {
			if !yield(c) {
				return
			}
		}
		for _, d := range m.dishes {
			if !yield(page.Check{Group: "dishes", Name: d.name, State: page.Failed, Loud: true}) {
				return
			}
		}
	}
}

func (m *menu) Facts(string) []page.Fact { return []page.Fact{{Name: "cook", Value: "one"}} }

func (m *menu) WriteJSON(w io.Writer) error {
	text, err := page.EncodeJSON(map[string]int{"dishes": len(m.dishes)}, "")
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func noon() *menu {
	return &menu{dishes: []dish{
		{"soup", page.Known(4.5), []page.Warning{remark("heat!")}},
		{"=stew|", page.Missing(page.Unpriced), []page.Warning{remark("bones"), remark("heat!")}},
	}}
}

func written(t *testing.T, of page.Page, options page.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.Write(&out, of, options); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The formats know nothing of reports.
func TestAnyPageHasAllFormats(t *testing.T) {
	for format, want := range map[string][]string{
		"terminal": {"menu of noon\n", "\nDishes\n", "dish          price  for people\n", "soup¹         $4.50  yes\n", "=stew|²'¹", "unpriced",
			"¹ beware of heat!\n² beware of bones\n· beware of hunger\n"},
		"markdown": {"### menu of `noon`\n", "#### Dishes\n", "`soup`¹", "`=stew\\|`²'¹", "- ² beware of `bones`\n"},
		"csv":      {"\"dish\",\"price_usd\",\"for_machines\",\"empty\"\r\n\"soup\",4.5,1,\r\n\"'=stew|\",,1,\r\n"},
		"json":     {"{\n  \"dishes\": 2\n}"},
		"html":     {"<h1>menu of noon</h1>", "<h2>Dishes</h2>", "soup¹"},
		"junit":    {`<testsuite name="dishes" tests="2" failures="2"`, `<property name="cook" value="one"></property>`},
		"github":   {"::error title=soup of dishes::", "::warning title=soup::beware of heat!\n"},
		"comment":  {"<!-- agentbench menu noon -->\n### menu of `noon`\n"},
	} {
		text := written(t, noon(), page.Options{Format: format})
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %q:\n%s", format, part, text)
			}
		}
		if strings.Contains(text, "title==stew|::beware of bones") {
			t.Errorf("%s annotates what is not serious:\n%s", format, text)
		}
	}
	if len(page.Formats) != 8 {
		t.Errorf("the formats are %q", page.Formats)
	}
}

// Thresholds come first, except on a terminal, where others tell of them.
func TestThresholdsComeFirst(t *testing.T) {
	m := noon()
	m.rules = []page.Check{{Group: page.Thresholds, Name: "cheap", State: page.Failed, Message: "it is not"}}
	if text := written(t, m, page.Options{}); strings.Contains(text, "Rules") {
		t.Errorf("on a terminal:\n%s", text)
	}
	text := written(t, m, page.Options{Format: "markdown"})
	if rules, dishes := strings.Index(text, "#### Rules"), strings.Index(text, "#### Dishes"); rules < 0 || rules > dishes {
		t.Errorf("in Markdown:\n%s", text)
	}
	if text := written(t, m, page.Options{Tables: []string{page.Thresholds}}); !strings.Contains(text, "Rules") || strings.Contains(text, "Dishes") {
		t.Errorf("as asked for on a terminal:\n%s", text)
	}
	text = written(t, m, page.Options{Format: "comment"})
	if !strings.Contains(text, "- ❌ `cheap`: `it is not`\n") || strings.Contains(text, "- ❌ `soup`") {
		t.Errorf("a comment lists the thresholds that do not hold and nothing else:\n%s", text)
	}
}

func TestWriteRefuses(t *testing.T) {
	for want, options := range map[string]page.Options{
		`unknown format "xml": the formats are terminal, markdown`: {Format: "xml"},
		`unknown table "wines": the tables are dishes`:             {Tables: []string{"wines"}},
		`writing the report: a CSV file holds one table: name one`: {Format: "csv", Tables: []string{"dishes", "dishes"}},
		`unknown table "thresholds": the tables are dishes`:        {Tables: []string{page.Thresholds}},
	} {
		var out bytes.Buffer
		if err := page.Write(&out, noon(), options); err == nil || !strings.HasPrefix(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%+v: %v, want %s; written is %q", options, err, want, out.String())
		}
	}
}

// A terminal shows the rows that a table wants to be shown, and counts the others;
// the other formats have all of them.
func TestATerminalShowsChosenRows(t *testing.T) {
	m := &menu{shown: []int{2, 0}}
	for _, name := range []string{"soup", "stew", "cake"} {
		m.dishes = append(m.dishes, dish{name: name})
	}
	got := written(t, m, page.Options{Format: "terminal"})
	if !strings.Contains(got, "soup") || !strings.Contains(got, "cake") || strings.Contains(got, "stew") || !strings.Contains(got, "… and 1 more:") {
		t.Errorf("the first and the last dish should be shown:\n%s", got)
	}
	if all := written(t, m, page.Options{Format: "csv", Tables: []string{"dishes"}}); !strings.Contains(all, "stew") {
		t.Errorf("CSV leaves out a dish:\n%s", all)
	}
}

// A sheet is the same in every format; names in it are obeyed by none.
func TestSheetsTakeEveryFormat(t *testing.T) {
	dishes := []dish{{name: "soup|<b>", price: page.Known(4.5)}, {name: "none", price: page.Missing(page.Unknown)}}
	sheet := &page.Sheet{
		Kind: "menu", Suite: "noon", Head: page.Words("menu of " + page.Foreign("noon")), Said: page.Saying("2 dishes"),
		Notes: []page.Words{page.Words("cooked by " + page.Foreign("<img>"))},
		List: []page.Table{page.TableOf("dishes", "Dishes", []page.Field[dish]{
			{Column: page.Column{Head: "dish", Key: "dish"}, Cell: func(d dish) page.Cell { return page.Name(d.name) }},
			{Column: page.Column{Head: "price", Key: "price_usd", Right: true}, Cell: func(d dish) page.Cell {
				return page.Number(d.price, func(v page.Value) string { return page.Dollars(v, 2) })
			}},
		}, slices.Values(dishes))},
	}
	for format, want := range map[string]string{
		"terminal": "menu of noon\n2 dishes\n\nDishes\ndish        price\nsoup|<b>    $4.50\nnone      unknown\n\n· cooked by <img>\n",
		"csv":      "\"dish\",\"price_usd\"\r\n\"soup|<b>\",4.5\r\n\"none\",\r\n",
		"json": `{
  "schema": "agentbench/menu/1",
  "suite": "noon",
  "heading": "menu of noon",
  "dishes": [
    {
      "dish": "soup|\u003cb\u003e",
      "price_usd": 4.5
    },
    {
      "dish": "none",
      "price_usd": null
    }
  ],
  "notes": [
    "cooked by \u003cimg\u003e"
  ]
}
`,
	} {
		var out bytes.Buffer
		if err := page.Write(&out, sheet, page.Options{Format: format}); err != nil || out.String() != want {
			t.Errorf("%s: %v\n%q, want\n%q", format, err, out.String(), want)
		}
	}
	for _, format := range page.Formats {
		var out bytes.Buffer
		if err := page.Write(&out, sheet, page.Options{Format: format}); err != nil || out.Len() == 0 && format != "github" {
			t.Errorf("%s: %v, %d bytes", format, err, out.Len())
		}
		if format != "terminal" && format != "csv" && strings.Contains(out.String(), " <img>") {
			t.Errorf("%s lets a name be obeyed:\n%s", format, out.String())
		}
	}
}

// specials is a menu whose answer fits on the first screen.
type specials struct {
	*menu
	first page.Summary
}

func (s specials) Summary() page.Summary {
	s.first.State.State = page.Skipped
	return s.first
}

// A command that is broken can still be pasted into a shell: its lines but the last end in
// a backslash, and no quoted word is broken.
func TestABrokenCommandCanBePasted(t *testing.T) {
	long := "cook " + strings.Repeat("--with salt ", 6) + "--name 'soup of the day'"
	for line, want := range map[string]string{
		"cook":                      "now: cook\n",
		strings.Repeat("cook ", 15): "now: " + strings.TrimSpace(strings.Repeat("cook ", 15)) + "\n", // 80 columns
		long:                        "now: " + strings.TrimSpace(strings.Split(long, " --with salt --name")[0]) + " \\\n  --with salt --name 'soup of the day'\n",
		strings.Repeat(long+" ", 3): "now: what the cook likes\n",
		"":                          "now: what the cook likes\n",
	} {
		of := specials{noon(), page.Summary{Head: "menu", Next: []page.Command{{For: "now", Line: page.Words(strings.TrimSpace(line)), Short: "what the cook likes"}}}}
		if got := strings.TrimPrefix(written(t, of, page.Options{Summary: true}), "menu\n"); got != want {
			t.Errorf("%q\nis shown as\n%s\nwant\n%s", line, got, want)
		}
	}
}

// A heading is broken at its dots, so that no part of it is torn.
func TestAHeadingIsBrokenBetweenItsParts(t *testing.T) {
	of := specials{noon(), page.Summary{Head: page.Words(strings.Repeat("a", 40) + " · of two words · " + strings.Repeat("b", 30) + " · " + strings.Repeat("long ", 20) + "part")}}
	want := strings.Repeat("a", 40) + " · of two words\n" + strings.Repeat("b", 30) + "\n" + strings.TrimSpace(strings.Repeat("long ", 16)) + "\n" + strings.Repeat("long ", 4) + "part\n"
	if got := written(t, of, page.Options{Summary: true}); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// No line ends in blanks, coloured or not.
func TestNoLineEndsInBlanks(t *testing.T) {
	fields := []page.Field[string]{
		{Column: page.Column{Head: "a"}, Cell: func(text string) page.Cell { return page.Text(text) }},
		{Column: page.Column{Head: "b"}, Cell: func(text string) page.Cell { return page.Cell{Text: text, Look: page.Good} }},
	}
	of := specials{noon(), page.Summary{Head: "menu", Table: page.Filled(page.Table{}, fields, slices.Values([]string{"x", "longer"}))}}
	got := written(t, of, page.Options{Summary: true, Color: true})
	if want := "\n\x1b[2ma       b\x1b[0m\nx       \x1b[32mx\x1b[0m\nlonger  \x1b[32mlonger\x1b[0m\n"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
