package calibrate

import (
	"github.com/agentbench/agentbench/reports/labels"
	"github.com/agentbench/agentbench/reports/page"
)

// Schema names the form of a calibration in JSON. Its number rises when a field
// changes its meaning or goes away, not when one is added.
const Schema = "agentbench/calibration/1"

// Calibration is how well a scorer agrees with labels. Numbers that are missing are
// null; intervals are of 95 %.
type Calibration struct {
	Schema    string   `json:"schema"`
	Suite     string   `json:"suite"`
	Scorer    string   `json:"scorer"`
	Version   string   `json:"version,omitempty"` // the hash of the scorer's spec
	Simulated []string `json:"simulated,omitempty"`
	Labels    int      `json:"labels"`
	Scored    int      `json:"scored"` // of them
	// Units are the tasks, or clusters of tasks, that scored labels are of.
	Units     int         `json:"units"`
	Kind      labels.Kind `json:"kind"`
	Threshold float64     `json:"threshold"` // a number of this or more is a yes
	Precision float64     `json:"precision"` // half the width that intervals should have
	MinKappa  *float64    `json:"min_kappa,omitempty"`
	// Agreement is that of the scorer with the labels, then, where there are second
	// labels, with these, and that of the people with each other.
	Agreement []Agreement `json:"agreement"`
	Confusion Confusion   `json:"confusion"`
	Bias      Bias        `json:"bias"`
	// Measures are of the scorer's numbers.
	Measures []Measure `json:"measures"`
	// Thresholds are what would be a yes from other numbers on; none where labels are
	// not yes or no.
	Thresholds    []Threshold    `json:"thresholds"`
	Unscored      []Unscored     `json:"unscored"`
	Disagreements []Disagreement `json:"disagreements"` // the largest first
	Notes         []Note         `json:"notes"`
}

// Agreement is how often two say the same.
type Agreement struct {
	Between string `json:"between"`
	Pairs   int    `json:"pairs"`
	// Same is the share of the pairs that say the same.
	Same         page.Value `json:"same"`
	SameInterval page.Range `json:"same_interval"`
	// Kappa is how much of that is beyond chance; Weighted takes the distance between
	// what they say into account, and is missing for yes and no.
	Kappa            page.Value `json:"kappa"`
	KappaInterval    page.Range `json:"kappa_interval"`
	Weighted         page.Value `json:"weighted_kappa"`
	WeightedInterval page.Range `json:"weighted_kappa_interval"`
	// MissingForSame and MissingForKappa are how many more labels it takes until the
	// interval is as narrow as wanted: of Weighted where there is one.
	MissingForSame  page.Value `json:"labels_missing_for_same"`
	MissingForKappa page.Value `json:"labels_missing_for_kappa"`
}

// Confusion counts what labels say and what the scorer says of the same outputs.
type Confusion struct {
	Levels []string `json:"levels"`
	Counts [][]int  `json:"counts"` // a list for each label's level, by the scorer's
}

// Bias is by how much the scorer is kinder than people.
type Bias struct {
	Score            page.Value `json:"score"` // mean
	ScoreInterval    page.Range `json:"score_interval"`
	Label            page.Value `json:"label"`
	LabelInterval    page.Range `json:"label_interval"`
	Difference       page.Value `json:"difference"`
	DifferenceBounds page.Range `json:"difference_interval"`
}

// Measure is one number of how well scores foretell labels.
type Measure struct {
	Name     string     `json:"name"`
	Value    page.Value `json:"value"`
	Interval page.Range `json:"interval"`
	Meaning  string     `json:"meaning"`
}

// Threshold is what would be if another number were the least that is a yes.
type Threshold struct {
	Threshold float64    `json:"threshold"`
	Yes       int        `json:"yes"` // scores
	Same      page.Value `json:"same"`
	Kappa     page.Value `json:"kappa"`
	// Found is the share of labels that say yes whose score does; Wrong of those that
	// say no.
	Found page.Value `json:"found"`
	Wrong page.Value `json:"wrong"`
}

// Unscored counts the outputs that have no score, by why.
type Unscored struct {
	Why   string `json:"why"`
	Count int    `json:"count"`
}

// Disagreement is an output of which the scorer says something else.
type Disagreement struct {
	Name        string  `json:"name"`
	Label       float64 `json:"label"`
	Score       float64 `json:"score"`
	Explanation string  `json:"explanation,omitempty"`
}

// Pair is a labelled output, and its score.
type Pair struct {
	Name string // of the run, or the task
	// Unit is the task, or the cluster of tasks, whose outputs depend on each other.
	Unit        string
	Label       float64
	Second      *float64
	Score       float64
	Unscored    string // why there is no score; "": there is
	Explanation string
}

// Options are what pairs do not say.
type Options struct {
	Suite, Scorer, Version string
	Simulated              []string
	Labels                 *labels.File
	Threshold, Precision   float64
	MinKappa               *float64
	Seed                   uint64
}

// Of holds scores against labels.
func Of(pairs []Pair, o Options) *Calibration {
	c := &Calibration{
		Schema: Schema, Suite: o.Suite, Scorer: o.Scorer, Version: o.Version, Simulated: o.Simulated, Labels: len(pairs),
		Kind: o.Labels.Kind, Threshold: o.Threshold, Precision: o.Precision, MinKappa: o.MinKappa,
		Thresholds: []Threshold{}, Disagreements: []Disagreement{}, Notes: []Note{},
	}
	m := &measure{Options: o, scored: c.scored(pairs)}
	m.group()
	c.Scored, c.Units = len(m.scored), m.units
	c.Agreement = m.agreements()
	c.Confusion = m.confusion()
	c.Bias = m.bias()
	c.Measures = m.measures()
	c.Thresholds = m.thresholds()
	c.Disagreements = m.disagreements()
	c.note(m)
	return c
}

// scored are the pairs that have a score; the others are counted.
func (c *Calibration) scored(pairs []Pair) (scored []Pair) {
	c.Unscored = []Unscored{}
	for _, p := range pairs {
		if p.Unscored == "" {
			scored = append(scored, p)
			continue
		}
		c.unscored(p.Unscored)
	}
	return scored
}

func (c *Calibration) unscored(why string) {
	for i := range c.Unscored {
		if c.Unscored[i].Why == why {
			c.Unscored[i].Count++
			return
		}
	}
	c.Unscored = append(c.Unscored, Unscored{why, 1})
}

// Kappa is the number that a calibration is known by: the weighted one where what
// labels say has distances.
func (a *Agreement) kappa() (page.Value, page.Range) {
	if a.Weighted.Known() {
		return a.Weighted, a.WeightedInterval
	}
	return a.Kappa, a.KappaInterval
}

// Kappa is that of the scorer and the labels; the weighted one where labels are not
// yes or no.
func (c *Calibration) Kappa() page.Value {
	kappa, _ := c.Agreement[0].kappa()
	return kappa
}
