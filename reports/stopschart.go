package reports

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
)

// mostBars is how many rows a chart of bars has.
const mostBars = 40

// stopsChart stacks what ended the runs of each configuration: which limit was binding.
func (r *Report) stopsChart() []page.Chart {
	c := page.Chart{
		Name: "stops-share", Title: "What ended the runs", Beside: "stops", About: "The share of the runs of each configuration by what ended them.",
		X: page.Axis{Name: "share of the runs", Unit: page.InPercent, Shown: []float64{0, 1}, Form: page.Percent},
		Y: page.Axis{Name: "configuration", Kind: page.Category},
	}
	names := r.stopNames()
	others := len(names) - colouredLines
	for i, name := range names[:min(len(names), colouredLines)] {
		c.Series = append(c.Series, page.Series{Name: name, Tone: page.Tone(i), Bars: true})
	}
	if others > 0 {
		c.Series = append(c.Series, page.Series{Name: page.Plural(others, "other reason", "other reasons"), Tone: page.Grey, Bars: true})
	}
	shown, rest := r.foremostAndOthers(mostBars, func(c *Configuration) bool { return len(c.Stops) > 0 })
	for row, configuration := range shown {
		c.Y.Labels = append(c.Y.Labels, configuration.Name)
		for stop := range page.EachOf(configuration.Stops) {
			at := min(slices.Index(names, stop.Name()), len(c.Series)-1)
			c.Series[at].Dots = append(c.Series[at].Dots, page.Dot{
				X: stop.Share, Y: page.Known(float64(row)), Text: page.Percent(stop.Share), More: page.Plural(stop.Runs, "run", "runs"),
				Link: page.Filter(page.Term("config", configuration.Name), page.Term("stop", string(stop.Reason))),
			})
		}
	}
	if len(c.Y.Labels) == 0 {
		return nil
	}
	if len(rest) > 0 {
		for i, d := range stopsOfOthers(rest, names, len(c.Y.Labels)) {
			at := min(i, len(c.Series)-1)
			c.Series[at].Dots = append(c.Series[at].Dots, d)
		}
		c.Y.Labels = append(c.Y.Labels, othersName(len(rest), "configuration", "configurations"))
		c.Notes = []string{"the last row is of all runs of the others; the table has each"}
	}
	return []page.Chart{c}
}

// stopsOfOthers are the shares of the ways in which the runs of several configurations ended, in a row.
func stopsOfOthers(of []*Configuration, names []string, row int) (dots []page.Dot) {
	runs, all := map[string]int{}, 0
	for _, c := range of {
		for i := range c.Stops {
			runs[c.Stops[i].Name()] += c.Stops[i].Runs
			all += c.Stops[i].Runs
		}
	}
	for _, name := range names {
		share := page.Ratio(int64(runs[name]), int64(all))
		dots = append(dots, page.Dot{X: share, Y: page.Known(float64(row)), Text: page.Percent(share), More: page.Plural(runs[name], "run", "runs")})
	}
	return dots
}

func moreRows(more int) []string {
	if more == 0 {
		return nil
	}
	return []string{page.Plural(more, "more row is", "more rows are") + " in the table alone"}
}

// stopNames are the ways in which runs ended, the most frequent first.
func (r *Report) stopNames() (names []string) {
	runs := map[string]int{}
	for c := range r.each() {
		for i := range c.Stops {
			if name := c.Stops[i].Name(); runs[name] == 0 {
				names = append(names, name)
			}
			runs[c.Stops[i].Name()] += c.Stops[i].Runs
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(runs[b], runs[a]), cmp.Compare(a, b)) })
	return names
}

func (r *Report) limitsChart() []page.Chart {
	c := page.Chart{
		Name: "limits-used", Title: "How much of each limit was used", Beside: "limits",
		About: "The mean that runs used of each limit, with its 95% interval. A bar near the line is a limit that binds; one far from it could be lower.",
		X:     page.Axis{Name: "used share of the limit", Unit: page.InPercent, Shown: []float64{0, 1}, Limit: &[2]float64{0, 1.1}, Form: page.Percent},
		Y:     page.Axis{Name: "limit", Kind: page.Category},
		Zones: []page.Zone{{Name: "the limit", From: 1, To: 1}},
	}
	used := page.Series{Tone: page.Plain, Bars: true}
	several := len(r.Configurations) > 1
	limited, more := r.foremost(mostBars, func(c *Configuration) bool { return c.Runs > 0 && len(c.Limits) > 0 })
	for _, configuration := range limited {
		for l := range page.EachOf(configuration.Limits) {
			row := len(c.Y.Labels)
			switch {
			case !l.Share.Known():
				continue
			case row == mostBars:
				more++
				continue
			}
			label := l.cell().Text
			if several {
				label = configuration.Name + " · " + label
			}
			c.Y.Labels = append(c.Y.Labels, label)
			used.Dots = append(used.Dots, page.Dot{
				X: l.Share, XRange: l.ShareInterval, Y: page.Known(float64(row)), Text: fmt.Sprintf("%s of %d", page.Whole(l.Used), l.Limit),
				More: page.Percent(l.Reached) + " of the runs reach it", Link: page.OfConfiguration(configuration.Name),
			})
		}
	}
	if len(used.Dots) == 0 {
		return nil
	}
	c.Series, c.Notes = []page.Series{used}, moreRows(more)
	return []page.Chart{c}
}
