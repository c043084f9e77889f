package page_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/reports/page"
)

func terminal(t interface{ Fatal(...any) }, table page.Grid, screen page.Screen) (text string, left int) {
	var out bytes.Buffer
	left, err := page.Terminal(&out, table, screen)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), left
}

func TestTerminal(t *testing.T) {
	table := page.Grid{
		Keys: 2,
		Columns: []page.GridColumn{
			{Head: "configuration"}, {Head: "by"}, {Name: "close", Head: "95%", Right: true}, {Head: "p95.latency", Right: true}, {Head: "hint", Prose: true},
		},
		Rows: [][]string{
			{"sweep[threshold=0.75,max=2]", "a", "0.5", "12 s", "nothing to be said"}, {"", "b", "0.75¹", "3 s", ""}, {"文字", "c", "", "", "x"},
		},
	}
	for name, test := range map[string]struct {
		screen page.Screen
		want   string
		left   int
	}{
		"wide": {screen: page.Screen{Width: 100}, want: `
                                 close
configuration                by    95%  p95.latency  hint
sweep[threshold=0.75,max=2]  a     0.5         12 s  nothing to be said
                             b   0.75¹          3 s
文字                         c                       x
`},
		"names and prose are broken": {screen: page.Screen{Width: 58}, want: `
                      close
configuration     by    95%  p95.latency  hint
sweep[threshold=  a     0.5         12 s  nothing to be
  0.75,max=2]                             said
                  b   0.75¹          3 s
文字              c                       x
`},
		"a second block": {screen: page.Screen{Width: 48, Head: strings.ToUpper}, want: `
                      CLOSE
CONFIGURATION     BY    95%  P95.LATENCY
sweep[threshold=  a     0.5         12 s
  0.75,max=2]     b   0.75¹          3 s
文字              c

CONFIGURATION     BY  HINT
sweep[threshold=  a   nothing to be said
  0.75,max=2]     b
文字              c   x
`},
		"no second block": {screen: page.Screen{Width: 48, Blocks: 1}, left: 1, want: `
                      close
configuration     by    95%  p95.latency
sweep[threshold=  a     0.5         12 s
  0.75,max=2]     b   0.75¹          3 s
文字              c
`},
	} {
		got, left := terminal(t, table, test.screen)
		if want := strings.TrimPrefix(test.want, "\n"); got != want || left != test.left {
			t.Errorf("%s: %d columns left, want %d; got\n%s\nwant\n%s", name, left, test.left, got, want)
		}
	}
}

func TestMinorColumnsBeginNoBlock(t *testing.T) {
	table := page.Grid{
		Columns: []page.GridColumn{{Head: "name"}, {Head: strings.Repeat("a", 20)}, {Head: strings.Repeat("b", 20), Minor: true}, {Head: "c"}},
		Rows:    [][]string{{"x", "1", "2", "3"}},
	}
	if got, left := terminal(t, table, page.Screen{Width: 40}); left != 1 || strings.Contains(got, "b") || strings.Contains(got, "\n\n") {
		t.Errorf("%d left:\n%s", left, got)
	}
	if got, left := terminal(t, table, page.Screen{Width: 80}); left != 0 || !strings.Contains(got, "b") {
		t.Errorf("%d left:\n%s", left, got)
	}
}

func TestMarkdown(t *testing.T) {
	var out bytes.Buffer
	err := page.Markdown(&out, page.Grid{
		Columns: []page.GridColumn{{Head: "pass_rate"}, {Name: "close", Head: "95%", Right: true}},
		Rows:    [][]string{{`a\|b`, "0.5"}, {"two\nlines", ""}},
	})
	want := "| pass_rate | close 95% |\n|:----------|----------:|\n| a\\|b      |       0.5 |\n| two lines |           |\n"
	if err != nil || out.String() != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, out.String(), want)
	}
}

// Whatever the width: no cell that is not a name or prose is broken or lost.
func TestNothingIsLost(t *testing.T) {
	propertytest.Check(t, func(rt *rapid.T) {
		columns := rapid.IntRange(1, 8).Draw(rt, "columns")
		table := page.Grid{Keys: rapid.IntRange(0, columns).Draw(rt, "keys")}
		cell := rapid.StringMatching(`[a-z0-9$.]{1,12}`)
		for range columns {
			table.Columns = append(table.Columns, page.GridColumn{Head: cell.Draw(rt, "head"), Right: rapid.Bool().Draw(rt, "right")})
		}
		for range rapid.IntRange(0, 4).Draw(rt, "rows") {
			table.Rows = append(table.Rows, rapid.SliceOfN(cell, columns, columns).Draw(rt, "row"))
		}
		width := rapid.IntRange(1, 120).Draw(rt, "width")
		got, left := terminal(rt, table, page.Screen{Width: width})
		for _, row := range table.Rows {
			for _, text := range row {
				if !strings.Contains(got, text) {
					rt.Fatalf("%q is not in\n%s", text, got)
				}
			}
		}
		if left != 0 {
			rt.Fatalf("%d columns left out", left)
		}
	})
}

func TestLinesFitTheWidth(t *testing.T) {
	propertytest.Check(t, func(rt *rapid.T) {
		var table page.Grid
		table.Columns = []page.GridColumn{{Head: "name"}, {Head: "n", Right: true}, {Head: "prose", Prose: true}, {Head: "score"}, {Head: "why", Prose: true}}
		for range rapid.IntRange(1, 4).Draw(rt, "rows") {
			table.Rows = append(table.Rows, []string{
				rapid.StringMatching(`[a-z=,日]{0,60}`).Draw(rt, "name"), "1.25k", rapid.StringMatching(`([a-z]{1,9} ){0,20}`).Draw(rt, "prose"),
				"0.75", rapid.StringMatching(`([a-z]{1,9} ){0,20}`).Draw(rt, "why"),
			})
		}
		width := rapid.IntRange(40, 200).Draw(rt, "width")
		got, _ := terminal(rt, table, page.Screen{Width: width})
		for line := range strings.Lines(got) {
			if page.Width(strings.TrimSuffix(line, "\n")) > width {
				rt.Fatalf("at %d columns:\n%s", width, got)
			}
		}
	})
}

// Lists are broken between their items, not within them.
func TestListsAreBrokenBetweenItems(t *testing.T) {
	table := page.Grid{
		Columns: []page.GridColumn{{Head: "name"}, {Head: "stopped by", List: true}},
		Rows:    [][]string{{"a", "max_iterations 50%, confidence 25%, no_improvement 25%"}, {"b", "when:some long words of a name 100%"}},
	}
	text, _ := terminal(t, table, page.Screen{Width: 40})
	want := `
name  stopped by
a     max_iterations 50%,
      confidence 25%, no_improvement 25%
b     when:some long words of a name
      100%
`
	if "\n"+text != want {
		t.Errorf("got:\n%s\nwant:%s", text, want)
	}
}

// Names of configurations are broken between their parameters, not within a number.
func TestNamesAreBrokenBetweenParameters(t *testing.T) {
	table := page.Grid{
		Columns: []page.GridColumn{{Head: "name"}, {Head: "a number", Right: true}},
		Rows:    [][]string{{"max_iterations=6,threshold=0.85", "1"}, {"a_rather_long_threshold=0.85", "2"}},
	}
	text, _ := terminal(t, table, page.Screen{Width: 58})
	for _, want := range []string{"\nmax_iterations=6, ", "\n  threshold=0.85\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "0.\n") || strings.Contains(text, "0. ") {
		t.Errorf("a number is broken:\n%s", text)
	}
}

func TestWrap(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"a b":                    "a b",
		"aaaa bbbb cc":           "aaaa bbbb|cc",
		"a longestwordofall b c": "a|longestwordofall|b c",
	} {
		if got := strings.Join(page.Wrap(text, 9), "|"); got != want {
			t.Errorf("Wrap(%q) = %q, want %q", text, got, want)
		}
	}
}
