package calibrate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/reports/calibrate"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

// labelled reads labels of runs, one a line.
func labelled(t testing.TB, scale calibrate.Scale, lines ...string) *calibrate.File {
	f, faults := calibrate.Read("labels.csv", []byte(strings.Join(append([]string{"run,label,label2"}, lines...), "\n")), scale)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return f
}

// pairsOf puts scores beside labels; of runs "task/n" the task is the unit.
func pairsOf(f *calibrate.File, scores ...float64) (pairs []calibrate.Pair) {
	for i := range f.Labels {
		l := &f.Labels[i]
		unit, _, _ := strings.Cut(l.Run, "/")
		pairs = append(pairs, calibrate.Pair{Name: l.Run, Unit: unit, Label: l.Value, Second: l.Second, Score: scores[i]})
	}
	return pairs
}

func options(f *calibrate.File) calibrate.Options {
	return calibrate.Options{Suite: "filings", Scorer: "close", Labels: f, Threshold: 0.5, Precision: 0.1, Seed: 1}
}

// sixty is a judge of sixty outputs that is rather kind, two people, and one output
// that could not be judged.
func sixty(t testing.TB) *calibrate.Calibration {
	random := rand.New(rand.NewPCG(1, 2))
	var lines []string
	var scores []float64
	for i := range 60 {
		label, second := i%3 > 0, i%3 > 0 != (i%13 == 0)
		score := 0.3 + 0.4*random.Float64()
		if label {
			score = 0.4 + 0.6*random.Float64()
		}
		lines = append(lines, fmt.Sprintf("t%d/%d,%s,%s", i/1, 1, yes(label), yes(second)))
		scores = append(scores, float64(int(score*10))/10)
	}
	f := labelled(t, calibrate.Scale{}, lines...)
	pairs := pairsOf(f, scores...)
	for i := range pairs {
		pairs[i].Explanation = "it misses the point | of the question"
	}
	pairs = append(pairs, calibrate.Pair{Name: "t61/1", Unit: "t61", Unscored: "the judge answered prose twice", Label: 1})
	return calibrate.Of(pairs, options(f))
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func TestPagesAreGolden(t *testing.T) {
	c := sixty(t)
	for _, format := range []string{"terminal", "markdown", "json", "csv", "junit"} {
		pagetest.Golden(t, "sixty."+format, pagetest.Written(t, c, page.Options{Format: format, Width: 80}))
	}
}

func TestNumbersByHand(t *testing.T) {
	f := labelled(t, calibrate.Scale{}, "a,1,", "b,1,", "c,1,", "d,0,", "e,0,", "f,0,")
	c := calibrate.Of(pairsOf(f, 1, 0.75, 0.25, 0, 0.5, 0.25), options(f))
	a := &c.Agreement[0]
	if got := fmt.Sprintf("%.4f %.4f", a.Same.Number, a.Kappa.Number); got != "0.6667 0.3333" {
		t.Errorf("agreement and kappa are %s", got)
	}
	if got := fmt.Sprint(c.Confusion.Counts); got != "[[2 1] [1 2]]" {
		t.Errorf("confusion is %s", got)
	}
	if len(c.Disagreements) != 2 || c.Disagreements[0].Name != "c" || c.Disagreements[1].Name != "e" {
		t.Errorf("they disagree on %v", c.Disagreements)
	}
}

// What labels say does not depend on from where on a score is a yes.
func TestThresholdsAreOfScores(t *testing.T) {
	f := labelled(t, calibrate.Scale{}, "a,1,0", "b,1,1", "c,0,0", "d,0,0")
	o := options(f)
	o.Threshold = 0
	c := calibrate.Of(pairsOf(f, 1, 0.5, 0.5, 0), o)
	if got := fmt.Sprint(c.Confusion.Counts, c.Agreement[0].Same.Number, c.Agreement[2].Same.Number); got != "[[0 2] [0 2]] 0.5 0.75" {
		t.Errorf("from 0 on: %s", got)
	}
	var told []string
	for _, at := range c.Thresholds {
		told = append(told, fmt.Sprint(at.Threshold, at.Yes, at.Same.Number, at.Found.Number, at.Wrong.Number))
	}
	if got := strings.Join(told, "; "); got != "0 4 0.5 1 1; 0.5 3 0.75 1 0.5; 1 1 0.75 0.5 0" {
		t.Errorf("thresholds are %s", got)
	}
}

// What lies between levels counts as the nearest, in categories; the weighted kappa
// takes it as it is.
func TestGradedLabels(t *testing.T) {
	f := labelled(t, calibrate.Scale{From: 1, To: 5}, "a,1,", "b,3,", "c,5,", "d,4,")
	c := calibrate.Of(pairsOf(f, 0.1, 0.55, 0.8, 0.75), options(f))
	if got := fmt.Sprint(c.Confusion); got != "{[1 2 3 4 5] [[1 0 0 0 0] [0 0 0 0 0] [0 0 1 0 0] [0 0 0 1 0] [0 0 0 1 0]]}" {
		t.Errorf("confusion is %s", got)
	}
	a := &c.Agreement[0]
	if !a.Weighted.Known() || c.Kappa() != a.Weighted || a.Same.Number != 0.75 {
		t.Errorf("weighted %v, known by %v, agreement %v", a.Weighted, c.Kappa(), a.Same)
	}
	if len(c.Thresholds) > 0 {
		t.Errorf("thresholds %v", c.Thresholds)
	}
}

func TestAnswers(t *testing.T) {
	f := labelled(t, calibrate.Scale{}, "a,1,", "b,1,", "c,0,", "d,0,")
	least := func(x float64) *float64 { return &x }
	for name, c := range map[string]struct {
		scores []float64
		least  *float64
		state  page.State
		text   string
	}{
		"nothing asked": {[]float64{1, 1, 0, 0}, nil, page.Undecided, "agreement 1.00, kappa 1.00 (0.02–1.00)"},
		"enough":        {[]float64{1, 1, 0, 0}, least(1), page.Passed, "agreement 1.00, kappa 1.00 (0.02–1.00): at least 1"},
		"not enough":    {[]float64{1, 0, 0, 1}, least(0.5), page.Failed, "agreement 0.50, kappa 0.00 (-1.00…1.00): below the minimum of 0.5"},
	} {
		o := options(f)
		o.MinKappa = c.least
		a := calibrate.Of(pairsOf(f, c.scores...), o).Answer()
		if a.State != c.state || string(a.Text) != c.text {
			t.Errorf("%s: %v %q, want %v %q", name, a.State, a.Text, c.state, c.text)
		}
	}
	nothing := calibrate.Of([]calibrate.Pair{{Unscored: "it failed"}}, options(f))
	if a := nothing.Answer(); a.State != page.Errored {
		t.Errorf("nothing was scored: %v", a)
	}
	pagetest.Written(t, nothing, page.Options{})
}

// Labels that all say the same say nothing of what the scorer would see.
func TestOneLabelHasNoKappa(t *testing.T) {
	f := labelled(t, calibrate.Scale{}, "a,yes,", "b,yes,", "c,yes,")
	o := options(f)
	o.MinKappa = new(float64)
	for _, third := range []float64{0, 1} {
		c := calibrate.Of(pairsOf(f, 1, 1, third), o)
		if a := c.Answer(); c.Kappa().Known() || a.State != page.Errored || !strings.Contains(string(a.Text), "kappa is not defined") {
			t.Errorf("kappa %v, %v", c.Kappa(), a)
		}
	}
	c := calibrate.Of(pairsOf(f, 1, 1, 1), o)
	if text := pagetest.Written(t, c, page.Options{}); !strings.Contains(text, "all labels say yes") || !strings.Contains(text, "the scorer says yes of all outputs") {
		t.Errorf("it does not say so:\n%s", text)
	}
}

// A scorer that tells nothing apart has a kappa of 0, and no number of labels would
// make that surer.
func TestOneScoreHasNoInterval(t *testing.T) {
	f := labelled(t, calibrate.Scale{}, "a,yes,", "b,no,", "c,yes,", "d,no,")
	o := options(f)
	o.MinKappa = new(0.5)
	c := calibrate.Of(pairsOf(f, 1, 1, 1, 1), o)
	if a := c.Agreement[0]; !a.Kappa.Known() || a.Kappa.Number != 0 || a.KappaInterval.Known() || a.MissingForKappa.Known() {
		t.Errorf("%+v", a)
	}
	if a := c.Answer(); a.State != page.Failed {
		t.Errorf("%v", a)
	}
}

func TestRareLabelsAreTold(t *testing.T) {
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("t%d,%s,", i, yes(i > 1)))
	}
	f := labelled(t, calibrate.Scale{}, lines...)
	scores := make([]float64, 40)
	for i := range scores {
		scores[i] = 1
	}
	if text := pagetest.Written(t, calibrate.Of(pairsOf(f, scores...), options(f)), page.Options{}); !strings.Contains(text, "only 2 of 40 labels say no") {
		t.Errorf("it does not say so:\n%s", text)
	}
}

// The labels that are missing are as many as narrow the interval to what is wanted:
// with so many more of the same kind it is.
func TestMissingLabelsAreEnough(t *testing.T) {
	make := func(n int) calibrate.Agreement {
		var lines []string
		var scores []float64
		for i := range n {
			lines = append(lines, fmt.Sprintf("t%d,%d,", i, i%2))
			scores = append(scores, float64((i+i/2%5/4)%2))
		}
		f := labelled(t, calibrate.Scale{}, lines...)
		return calibrate.Of(pairsOf(f, scores...), options(f)).Agreement[0]
	}
	few := make(60)
	missing := int(few.MissingForKappa.Number)
	if missing < 50 {
		t.Fatalf("%d labels are missing of %v", missing, few.KappaInterval)
	}
	enough := make(60 + missing)
	if half := (enough.KappaInterval.High.Number - enough.KappaInterval.Low.Number) / 2; half < 0.09 || half > 0.11 {
		t.Errorf("with %d more the interval reaches %v to both sides", missing, half)
	}
}

// Of a scorer that never differed from people, too: the interval then narrows faster.
func TestMissingLabelsOfPerfectAgreement(t *testing.T) {
	make := func(n int) calibrate.Agreement {
		var lines []string
		var scores []float64
		for i := range 2 * n {
			lines = append(lines, fmt.Sprintf("t%d/%d,%d,", i/2, i, i/2%2))
			scores = append(scores, float64(i/2%2))
		}
		f := labelled(t, calibrate.Scale{}, lines...)
		return calibrate.Of(pairsOf(f, scores...), options(f)).Agreement[0]
	}
	few := make(8)
	missing := int(few.MissingForKappa.Number)
	enough, almost := make(8+missing/2), make(8+missing/2-2)
	half := func(a calibrate.Agreement) float64 {
		return (a.KappaInterval.High.Number - a.KappaInterval.Low.Number) / 2
	}
	if few.Kappa.Number != 1 || missing < 20 || half(enough) > 0.1 || half(almost) < 0.1 {
		t.Errorf("%d are missing: %v with them, %v with four fewer", missing, half(enough), half(almost))
	}
}

// Outputs of one task depend on each other: as many of fewer tasks say less.
func TestIntervalsAreByTask(t *testing.T) {
	of := func(each int) calibrate.Agreement {
		var lines []string
		var scores []float64
		for i := range 160 {
			task := i / each
			lines = append(lines, fmt.Sprintf("t%d/%d,%d,", task, i, task%2))
			scores = append(scores, float64((task+task/2%5/4)%2))
		}
		f := labelled(t, calibrate.Scale{}, lines...)
		return calibrate.Of(pairsOf(f, scores...), options(f)).Agreement[0]
	}
	width := func(a calibrate.Agreement) float64 { return a.KappaInterval.High.Number - a.KappaInterval.Low.Number }
	if alone, four := width(of(1)), width(of(4)); four < 1.7*alone {
		t.Errorf("the interval of 160 tasks is %v wide, that of 40 with four outputs each %v", alone, four)
	}
}

func TestJSONIsAsItsSchemaSays(t *testing.T) {
	schema := pagetest.Schema(t, calibrate.JSONSchema)
	pagetest.Validate(t, schema, "sixty", pagetest.Written(t, sixty(t), page.Options{Format: "json"}))
	f := labelled(t, calibrate.Scale{}, "a,yes,")
	o := options(f)
	o.MinKappa = new(float64)
	pagetest.Validate(t, schema, "nothing", pagetest.Written(t, calibrate.Of(nil, o), page.Options{Format: "json"}))
}
