package calibrate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/reports/calibrate"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

// The charts count every scored output once: in the tiles, which are the table of confusion,
// and in the bins, whose means are the mean score and label.
func TestChartsCountEveryScoredOutput(t *testing.T) {
	c := sixty(t)
	charts := c.Charts()
	if len(charts) != 2 || charts[0].Name != "confusion" || charts[1].Name != "reliability" {
		t.Fatalf("%d charts", len(charts))
	}
	near := func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
	all := 0
	for _, tile := range charts[0].Tiles {
		all += int(tile.Value.Number)
		if int(tile.Value.Number) != c.Confusion.Counts[tile.Y][tile.X] {
			t.Errorf("label %d, score %d: %v in the chart, %d in the table", tile.Y, tile.X, tile.Value, c.Confusion.Counts[tile.Y][tile.X])
		}
		if tile.X == 1 && tile.Y == 0 && !strings.HasSuffix(tile.Text, " false alarm") || tile.X == 0 && tile.Y == 1 && !strings.HasSuffix(tile.Text, " missed") {
			t.Errorf("label %d, score %d is %s", tile.Y, tile.X, tile.Text)
		}
	}
	runs, score, label := 0.0, 0.0, 0.0
	for _, b := range c.Bins {
		n := float64(b.Runs)
		runs, score, label = runs+n, score+n*b.Confidence.Number, label+n*b.Score.Number
	}
	if all != c.Scored || int(runs) != c.Scored || !near(score/runs, c.Bias.Score.Number) || !near(label/runs, c.Bias.Label.Number) {
		t.Errorf("of %d outputs %d are in tiles and %v in bins, with the means %v and %v", c.Scored, all, runs, score/runs, label/runs)
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
		if d := charts[1].Series[1].Dots[i]; b.Runs != c.Bins[i].Runs || !near(b.Predicted, d.X.Number) || !near(b.Observed, d.Y.Number) {
			t.Errorf("bin %d is %+v in JSON and %+v in the chart", i, b, d)
		}
	}
	text := pagetest.Written(t, c, page.Options{Format: "html"})
	for _, want := range []string{`id="chart-confusion"`, `id="chart-reliability"`, "n=9"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// Scores that are no shares have no reliability, and no scores no charts.
func TestNoReliabilityOfOtherNumbers(t *testing.T) {
	f := labelled(t, calibrate.Scale{}, "a,yes,yes", "b,no,no", "c,yes,yes")
	if charts := calibrate.Of(pairsOf(f, 0.2, 3, 5), options(f)).Charts(); len(charts) != 1 || charts[0].Name != "confusion" {
		t.Errorf("%d charts", len(charts))
	}
	pairs := pairsOf(f, 0, 0, 0)
	for i := range pairs {
		pairs[i].Unscored = "no answer"
	}
	if charts := calibrate.Of(pairs, options(f)).Charts(); charts != nil {
		t.Errorf("%d charts of nothing", len(charts))
	}
}
