package reports

import (
	"fmt"

	"github.com/agentbench/agentbench/reports/page"
)

// mostRows is how many rows a chart has.
const mostRows = 40

func moreRows(more int) []string {
	if more == 0 {
		return nil
	}
	return []string{page.Plural(more, "more row is", "more rows are") + " in the table alone"}
}

func (r *Report) limitsChart() []page.Chart {
	several := len(r.Configurations) > 1
	limited, more := r.foremost(mostRows, func(c *Configuration) bool { return c.Runs > 0 && len(c.Limits) > 0 })
	var chart LimitsChart
	for _, configuration := range limited {
		for l := range page.EachOf(configuration.Limits) {
			label := l.cell().Text
			if several {
				label = configuration.Name + " · " + label
			}
			chart.Add(label, l.Share.Value, page.Dot{
				XRange: l.Share.Range, Text: fmt.Sprintf("%s of %d", page.Whole(l.Used.Value), l.Limit),
				More: page.Percent(l.Reached.Value) + " of the runs reach it", Link: page.OfConfiguration(configuration.Name),
			})
		}
	}
	chart.left += more
	return chart.Charts()
}

// LimitsChart shows the share that runs used of each limit. The zero value is empty.
type LimitsChart struct {
	labels []string
	dots   []page.Dot
	left   int // rows beyond the most
}

// Add adds the row of a limit. One of which the share is not known has none.
func (c *LimitsChart) Add(label string, share page.Value, d page.Dot) {
	switch {
	case !share.Known():
	case len(c.labels) == mostRows:
		c.left++
	default:
		d.X, d.Y = share, page.Known(float64(len(c.labels)))
		c.labels, c.dots = append(c.labels, label), append(c.dots, d)
	}
}

// Charts is the chart, or none where it has no row.
func (c *LimitsChart) Charts() []page.Chart {
	if len(c.dots) == 0 {
		return nil
	}
	return []page.Chart{{
		Name: "limits", Title: "How much of each limit was used", Beside: "limits",
		About:  "The mean that runs used of each limit, with its 95% interval where it is known. A mark near the line is a limit that binds; one far from it could be lower.",
		X:      page.Axis{Name: "used share of the limit", Unit: page.InPercent, Shown: []float64{0, 1}, Limit: &[2]float64{0, 1.1}, Form: page.Percent},
		Y:      page.Axis{Name: "limit", Kind: page.Category, Labels: c.labels},
		Zones:  []page.Zone{{Name: "the limit", From: 1, To: 1}},
		Series: []page.Series{{Tone: page.Plain, Dots: c.dots}},
		Notes:  moreRows(c.left),
	}}
}
