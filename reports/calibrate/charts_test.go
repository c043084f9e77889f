package calibrate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/reports/calibrate"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

// The chart counts every scored output once, in bins whose means are the mean score and label.
func TestTheChartCountsEveryScoredOutput(t *testing.T) {
	c := sixty(t)
	charts := c.Charts()
	if len(charts) != 1 || charts[0].Name != "reliability" {
		t.Fatalf("%d charts", len(charts))
	}
	near := func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
	runs, score, label := 0.0, 0.0, 0.0
	for _, b := range c.Bins {
		n := float64(b.Runs)
		runs, score, label = runs+n, score+n*b.Confidence.Number, label+n*b.Score.Number
	}
	yes := float64(c.Confusion.Counts[1][0]+c.Confusion.Counts[1][1]) / float64(c.Scored)
	if int(runs) != c.Scored || !near(label/runs, yes) || !(score/runs > 0.4 && score/runs < 0.8) {
		t.Errorf("of %d outputs %v are in bins, with the means %v and %v", c.Scored, runs, score/runs, label/runs)
	}
	var read struct {
		Bins []struct {
			Runs                int
			Predicted, Observed float64
		}
	}
	if err := json.Unmarshal([]byte(pagetest.Written(t, c, page.Options{Format: "json"})), &read); err != nil || len(read.Bins) != len(c.Bins) || len(read.Bins) < 2 {
		t.Fatalf("JSON has %d bins of %d: %v", len(read.Bins), len(c.Bins), err)
	}
	for i, b := range read.Bins {
		if d := charts[0].Series[1].Dots[i]; b.Runs != c.Bins[i].Runs || !near(b.Predicted, d.X.Number) || !near(b.Observed, d.Y.Number) {
			t.Errorf("bin %d is %+v in JSON and %+v in the chart", i, b, d)
		}
	}
	text := pagetest.Written(t, c, page.Options{Format: "html"})
	for _, want := range []string{`id="chart-reliability"`, "n=9"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// Scores that are no shares have no reliability.
func TestNoReliabilityOfOtherNumbers(t *testing.T) {
	f := labelled(t, calibrate.Scale{}, "a,yes,yes", "b,no,no", "c,yes,yes")
	if charts := calibrate.Of(pairsOf(f, 0.2, 3, 5), options(f)).Charts(); charts != nil {
		t.Errorf("%d charts", len(charts))
	}
}
