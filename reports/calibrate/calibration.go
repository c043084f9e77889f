// Package calibrate decides how well a scorer agrees with people: a judge above all,
// which is a model, and whose word counts no more than that.
//
// The stages of the data, in order: labels are read out of a CSV file, with all that is wrong with it by line and
// column (labels.go); Pairs are labelled outputs with their scores; Of
// makes a Calibration of them, with agreement and kappa, what is
// mistaken for what, by how much the scorer is too kind or too strict
// and how well its numbers foretell the labels, and how many labels
// are missing until that is known well enough. Outputs of one task, or of one cluster
// of tasks, depend on each other: intervals are by these.
//
// A Calibration is a page.Page, plain data with JSON of a documented schema. Missing
// numbers say why and are never 0.
//
// It is no stable API.
package calibrate

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
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
	Units     int      `json:"units"`
	Kind      Kind     `json:"kind"`
	Threshold float64  `json:"threshold"` // a number of this or more is a yes
	Precision float64  `json:"precision"` // half the width that intervals should have
	MinKappa  *float64 `json:"min_kappa,omitempty"`
	// Agreement is that of the scorer with the labels, then, where there are second
	// labels, with these, and that of the people with each other.
	Agreement []Agreement `json:"agreement"`
	Confusion Confusion   `json:"confusion"`
	// Thresholds are what would be a yes from other numbers on; none where labels are
	// not yes or no.
	Thresholds    []Threshold    `json:"thresholds"`
	Disagreements []Disagreement `json:"disagreements"` // the largest first
	Notes         []Note         `json:"notes"`
	// Bins are those of the reliability diagram: the mean number of the scorer, and the mean label.
	Bins []reports.Bin `json:"bins,omitempty"`
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

// Disagreement is an output on which scorer and label disagree.
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
	Labels                 *File
	Threshold, Precision   float64
	MinKappa               *float64
	Seed                   uint64
}

// Of compares scores with labels.
func Of(pairs []Pair, o Options) *Calibration {
	c := &Calibration{
		Schema: Schema, Suite: o.Suite, Scorer: o.Scorer, Version: o.Version, Simulated: o.Simulated, Labels: len(pairs),
		Kind: o.Labels.Kind, Threshold: o.Threshold, Precision: o.Precision, MinKappa: o.MinKappa,
		Thresholds: []Threshold{}, Disagreements: []Disagreement{}, Notes: []Note{},
	}
	m := &measure{Options: o}
	lost := ""
	for _, p := range pairs {
		if p.Unscored == "" {
			m.add(p)
		} else if lost == "" {
			lost = p.Unscored
		}
	}
	c.Scored, c.Units = len(m.scored), len(m.units)
	c.Agreement = m.agreements()
	c.Confusion = m.confusion()
	c.Thresholds = m.thresholds()
	c.Disagreements = m.disagreements()
	c.Bins = m.bins()
	c.note(m, lost)
	return c
}

// kappa is the number that a calibration is known by: the weighted one where what
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

// measure measures pairs that have scores.
type measure struct {
	Options
	scored []Pair
	unit   []int          // of each pair
	units  map[string]int // their numbers
}

func (m *measure) add(p Pair) {
	if m.units == nil {
		m.units = map[string]int{}
	}
	unit, known := m.units[p.Unit]
	if !known {
		unit = len(m.units)
		m.units[p.Unit] = unit
	}
	m.scored, m.unit = append(m.scored, p), append(m.unit, unit)
}

// ordered reports whether what labels say has distances.
func (m *measure) ordered() bool { return m.Labels.Kind != YesNo }

// agreements are those of the scorer with people, and of these with each other.
func (m *measure) agreements() []Agreement {
	score := func(p *Pair) *float64 { return &p.Score }
	label := func(p *Pair) *float64 { return &p.Label }
	second := func(p *Pair) *float64 { return p.Second }
	all := []Agreement{m.agreement("scorer and label", score, label, m.says)}
	if m.Labels.Second {
		all = append(all, m.agreement("scorer and label2", score, second, m.says), m.agreement("label and label2", label, second, m.labelSays))
	}
	return all
}

// agreement is that of two, of whom the second is a person.
func (m *measure) agreement(between string, a, b func(*Pair) *float64, says func(float64) int) Agreement {
	values := m.clusters(a, b)
	said := mapped(values, says, m.labelSays)
	of := Agreement{Between: between, Weighted: page.Missing(page.Nothing), WeightedInterval: page.NoRange(page.Nothing)}
	var same [][]float64
	for _, cluster := range said {
		of.Pairs += len(cluster)
		alike := make([]float64, len(cluster))
		for i, r := range cluster {
			alike[i] = stats.Same(r.A, r.B)
		}
		same = append(same, alike)
	}
	of.Same, of.SameInterval = page.ValueOf(stats.Mean(slices.Concat(same...))), reports.RangeOf(stats.ProportionInterval(same, stats.Level))
	of.Kappa, of.KappaInterval = m.kappa(said, stats.Same)
	if m.ordered() {
		of.Weighted, of.WeightedInterval = m.kappa(values, stats.Near)
	}
	kappa, interval := of.kappa()
	of.MissingForSame = m.missing(of.Pairs, len(values), of.Same, of.SameInterval)
	of.MissingForKappa = m.missing(of.Pairs, len(values), kappa, interval)
	return of
}

// clusters are what two say of the pairs on which both do, by unit.
func (m *measure) clusters(a, b func(*Pair) *float64) [][]stats.Rated {
	all := make([][]stats.Rated, len(m.units))
	for i := range m.scored {
		if a, b := a(&m.scored[i]), b(&m.scored[i]); a != nil && b != nil {
			all[m.unit[i]] = append(all[m.unit[i]], stats.Rated{A: *a, B: *b})
		}
	}
	return slices.DeleteFunc(all, func(cluster []stats.Rated) bool { return len(cluster) == 0 })
}

func (m *measure) scores() [][]stats.Rated {
	return m.clusters(func(p *Pair) *float64 { return &p.Score }, func(p *Pair) *float64 { return &p.Label })
}

func mapped(clusters [][]stats.Rated, ofA, ofB func(float64) int) [][]stats.Rated {
	all := make([][]stats.Rated, len(clusters))
	for i, cluster := range clusters {
		for _, r := range cluster {
			all[i] = append(all[i], stats.Rated{A: float64(ofA(r.A)), B: float64(ofB(r.B))})
		}
	}
	return all
}

// labelSays is the number of the level that a label says; yes and no need no
// threshold.
func (m *measure) labelSays(value float64) int {
	if !m.ordered() {
		return int(value)
	}
	return m.says(value)
}

// says is the number of the level of a score: no and yes, by the
// threshold; else that of the labels' levels which lies nearest, the lower one of two.
func (m *measure) says(value float64) int {
	levels := m.Labels.Levels
	if !m.ordered() || len(levels) == 0 {
		if value >= m.Threshold {
			return 1
		}
		return 0
	}
	at := 0
	for i := range levels {
		if math.Abs(levels[i].Value-value) < math.Abs(levels[at].Value-value)-1e-9 {
			at = i
		}
	}
	return at
}

// kappa is missing where people always say the same: it would be 0 whatever the
// scorer is like. A scorer that always says the same has earned that 0.
func (m *measure) kappa(clusters [][]stats.Rated, weight stats.Weight) (page.Value, page.Range) {
	all := slices.Concat(clusters...)
	estimate, ok := stats.Kappa(clusters, weight)
	if !ok || !slices.ContainsFunc(all, func(r stats.Rated) bool { return r.B != all[0].B }) {
		return page.Missing(page.Nothing), page.NoRange(page.Nothing)
	}
	return page.Known(estimate.Value), reports.RangeOf(stats.KappaInterval(clusters, weight, stats.Level, m.Seed))
}

// confusion counts what labels and the scorer say, by the numbers of the levels.
func (m *measure) confusion() Confusion {
	c := Confusion{Levels: []string{"no", "yes"}}
	if m.ordered() && len(m.Labels.Levels) > 0 {
		c.Levels = nil
		for _, level := range m.Labels.Levels {
			c.Levels = append(c.Levels, level.Name)
		}
	}
	for range c.Levels {
		c.Counts = append(c.Counts, make([]int, len(c.Levels)))
	}
	for i := range m.scored {
		c.Counts[m.labelSays(m.scored[i].Label)][m.says(m.scored[i].Score)]++
	}
	return c
}

// disagreements are the outputs of which scorer and label do not say the same.
func (m *measure) disagreements() []Disagreement {
	all := []Disagreement{}
	for _, p := range m.scored {
		if m.labelSays(p.Label) != m.says(p.Score) {
			all = append(all, Disagreement{p.Name, p.Label, p.Score, p.Explanation})
		}
	}
	slices.SortStableFunc(all, func(a, b Disagreement) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Label-b.Score), math.Abs(a.Label-a.Score)), strings.Compare(a.Name, b.Name))
	})
	return all
}

// mostThresholds are tried: the scores that there are, or else as many steps.
const mostThresholds = 20

// thresholds are what other numbers would make of the scores.
func (m *measure) thresholds() []Threshold {
	all := []Threshold{}
	if m.ordered() {
		return all
	}
	var scores []float64
	for i := range m.scored {
		scores = append(scores, m.scored[i].Score)
	}
	slices.Sort(scores)
	if scores = slices.Compact(scores); len(scores) > mostThresholds {
		scores = nil
		for i := range mostThresholds {
			scores = append(scores, float64(i+1)/mostThresholds)
		}
	}
	for _, threshold := range scores {
		all = append(all, m.threshold(threshold))
	}
	return all
}

func (m *measure) threshold(threshold float64) Threshold {
	at := *m
	at.Threshold = threshold
	counts := at.confusion().Counts
	said := mapped(m.scores(), at.says, at.labelSays)
	kappa, ok := stats.Kappa(said, stats.Same)
	no, yes := counts[0], counts[1]
	return Threshold{
		Threshold: threshold, Yes: no[1] + yes[1], Kappa: page.ValueOf(kappa.Value, ok),
		Same:  page.Ratio(int64(no[0]+yes[1]), int64(len(m.scored))),
		Found: page.Ratio(int64(yes[1]), int64(yes[0]+yes[1])), Wrong: page.Ratio(int64(no[1]), int64(no[0]+no[1])),
	}
}

// missing is how many more labels it takes until an interval reaches no further than
// the precision to both sides, if the new ones are of other tasks as the old ones are.
// Its width falls with the square root of their number; where all agreed it
// is Wilson's of a share of 1 and falls with the number of tasks, and about four more.
func (m *measure) missing(labels, units int, value page.Value, interval page.Range) page.Value {
	if !interval.Known() {
		return page.Missing(page.Nothing)
	}
	wider := (interval.High.Number - interval.Low.Number) / 2 / m.Precision
	needed := float64(labels) * wider * wider
	if z, ok := stats.NormalQuantile((1 + stats.Level) / 2); ok && value.Number == 1 {
		each := float64(labels) / float64(units)
		needed = each * math.Ceil((float64(units)+z*z)*wider-z*z-1e-9)
	}
	return page.Known(max(0, math.Ceil(needed-1e-9)-float64(labels)))
}
