package calibrate

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

// TableNames are the tables of a calibration, in the order in which people read them.
var TableNames = []string{"agreement", "confusion", "thresholds", "disagreements"}

// ShownTables are those that people read without asking for them.
var ShownTables = []string{"agreement", "confusion"}

func (c *Calibration) About() (kind, suite string) { return "calibrate", c.Suite }

// Heading says what is compared.
func (c *Calibration) Heading() page.Words {
	parts := []string{page.Foreign(c.Suite), "scorer: " + page.Foreign(c.Scorer), page.Plural(c.Labels, "label", "labels") + " (" + string(c.Kind) + ")"}
	if c.Scored < c.Labels {
		parts = append(parts, fmt.Sprintf("%d scored", c.Scored))
	}
	return page.Words(strings.Join(parts, " · "))
}

// Answer is how well they agree, and whether that is enough.
func (c *Calibration) Answer() page.Answer {
	if c.Scored == 0 {
		return page.Answer{State: page.Errored, Text: "no labelled output has a score"}
	}
	a := &c.Agreement[0]
	text, kappa := page.Words("agreement "+form(a.Same)+", "+a.message()), c.Kappa()
	if c.MinKappa == nil {
		return page.Answer{State: page.Undecided, Text: text}
	}
	switch least := page.Words(page.Known(*c.MinKappa).Exact()); {
	case !kappa.Known():
		return page.Answer{State: page.Errored, Text: text + ", the minimum is " + least}
	case kappa.Number < *c.MinKappa:
		return page.Answer{State: page.Failed, Text: text + ": below the minimum of " + least}
	default:
		return page.Answer{State: page.Passed, Text: text + ": at least " + least}
	}
}

func (a *Agreement) message() string {
	kappa, interval := a.kappa()
	name := "kappa "
	if a.Weighted.Known() {
		name = "weighted kappa "
	}
	if !kappa.Known() {
		return "kappa is not defined"
	}
	if !interval.Known() {
		return name + form(kappa)
	}
	return name + form(kappa) + " (" + interval.Text(form) + ")"
}

// form shows numbers from 0 to 1.
func form(v page.Value) string { return page.Score(v, 2) }

func (c *Calibration) Remark() page.Words {
	return page.SimulatedBy(c.Simulated)
}

func (c *Calibration) Tables(page.Audience) []page.Table {
	return []page.Table{
		c.agreementTable(), c.confusionTable(), c.thresholdsTable(), c.disagreementsTable(),
	}
}

func (c *Calibration) WholeWarnings() []page.Warning { return page.Warnings(c.Notes) }

func (c *Calibration) Warned() iter.Seq2[string, page.Warning] {
	return reports.NotedOn(nil, "", c.Notes).Each
}

// checkGroup is the group of the only check of a calibration.
const checkGroup = "calibrate"

// Checks ask whether the kappa is large enough; without a least one nothing says so.
func (c *Calibration) Checks() iter.Seq[page.Check] {
	a := c.Answer()
	if a.State == page.Undecided {
		a.State = page.Skipped
	}
	return slices.Values([]page.Check{{Group: checkGroup, Name: c.Scorer, State: a.State, Message: a.Text.Raw(), Loud: true}})
}

// Facts are what is compared.
func (c *Calibration) Facts(group string) []page.Fact {
	if group != checkGroup {
		return nil
	}
	return []page.Fact{{Name: "scorer", Value: c.Scorer}, {Name: "labels", Value: fmt.Sprint(c.Labels)}, {Name: "scored", Value: fmt.Sprint(c.Scored)}}
}

func (c *Calibration) WriteJSON(w io.Writer) error { return page.WriteObject(w, c) }

// JSONSchema describes the JSON of calibrations in JSON Schema (draft 2020-12).
func JSONSchema() ([]byte, error) { return reports.SchemaOf[Calibration](Schema) }

// measured is a number with its interval, which people see on any terminal.
func measured[T any](head, key string, form func(page.Value) string, of func(T) page.Estimate) page.Fields[T] {
	fields := page.Measured(head, key, form, of)
	fields[1].Head, fields[1].Column.Wide = "95%", false
	return fields
}

// agreementTable has a row for each two who said something of the same outputs.
func (c *Calibration) agreementTable() page.Table {
	fields := slices.Concat(
		page.Worded("", "between", func(a Agreement) string { return a.Between }),
		page.Counted("n", "pairs", func(a Agreement) int { return a.Pairs }),
		measured("agree", "same", form, func(a Agreement) page.Estimate { return page.Estimate{Value: a.Same, Range: a.SameInterval} }),
		measured("kappa", "kappa", form, func(a Agreement) page.Estimate { return page.Estimate{Value: a.Kappa, Range: a.KappaInterval} }),
		measured("weighted\nkappa", "weighted_kappa", form, func(a Agreement) page.Estimate { return page.Estimate{Value: a.Weighted, Range: a.WeightedInterval} }).Optional(),
		page.Valued("missing:\nagree", "labels_missing_for_same", page.Whole, func(a Agreement) page.Value { return a.MissingForSame }),
		page.Valued("missing:\nkappa", "labels_missing_for_kappa", page.Whole, func(a Agreement) page.Value { return a.MissingForKappa }))
	return page.Filled(page.Table{Name: "agreement", Title: "Agreement", Keys: 1}, fields, slices.Values(c.Agreement))
}

// confusionTable has a row for what labels say, and a column for what the scorer says.
func (c *Calibration) confusionTable() page.Table {
	levels := make([]int, len(c.Confusion.Levels))
	for i := range levels {
		levels[i] = i
	}
	fields := page.Named("label", "label", func(level int) string { return c.Confusion.Levels[level] })
	for i, name := range c.Confusion.Levels {
		fields = append(fields, page.Counted("", "scored "+name, func(level int) int { return c.Confusion.Counts[level][i] }).About(name)...)
	}
	return page.Filled(page.Table{Name: "confusion", Title: "Labels (rows) and verdicts of the scorer (columns)", Keys: 1}, fields, slices.Values(levels))
}

// thresholdsTable has a row for each number from which on a score could be a yes.
func (c *Calibration) thresholdsTable() page.Table {
	fields := slices.Concat(
		page.Valued("yes from", "threshold", page.Value.Exact, func(row Threshold) page.Value { return page.Known(row.Threshold) }),
		page.Counted("yes", "yes", func(row Threshold) int { return row.Yes }),
		page.Valued("agree", "same", form, func(row Threshold) page.Value { return row.Same }),
		page.Valued("kappa", "kappa", form, func(row Threshold) page.Value { return row.Kappa }),
		page.Valued("labels yes:\nscored yes", "found", form, func(row Threshold) page.Value { return row.Found }),
		page.Valued("labels no:\nscored yes", "wrong", form, func(row Threshold) page.Value { return row.Wrong }))
	return page.Filled(page.Table{Name: "thresholds", Title: "Other thresholds", Keys: 1}, fields, slices.Values(c.Thresholds))
}

// disagreementsTable lists what a person should look at.
func (c *Calibration) disagreementsTable() page.Table {
	fields := slices.Concat(
		page.Named("output", "output", func(row Disagreement) string { return row.Name }),
		page.Valued("label", "label", form, func(row Disagreement) page.Value { return page.Known(row.Label) }),
		page.Valued("score", "score", form, func(row Disagreement) page.Value { return page.Known(row.Score) }),
		page.Of(page.Column{Head: "explanation", Key: "explanation", Prose: true}, func(row Disagreement) page.Cell { return page.Name(row.Explanation) }))
	return page.Filled(page.Table{Name: disagreements, Title: "Outputs on which scorer and label disagree", Keys: 1}, fields, slices.Values(c.Disagreements))
}

// Note is something that a reader of a calibration must know.
type Note struct {
	Kind  reports.WarningKind `json:"kind"` // one of a closed list
	Count int                 `json:"count,omitempty"`
	Of    int                 `json:"of,omitempty"`
	Name  string              `json:"name,omitempty"`   // from outside
	More  string              `json:"detail,omitempty"` // from outside
}

// The kinds of notes.
const (
	YesFrom    reports.WarningKind = "threshold"   // More: the number
	NoScores   reports.WarningKind = "unscored"    // Count of Of, More: why the first of them
	OneLabel   reports.WarningKind = "one_label"   // all labels say Name
	OneScore   reports.WarningKind = "one_score"   // the scorer says Name of all
	Rare       reports.WarningKind = "rare_label"  // Count of Of labels say Name
	FewUnits   reports.WarningKind = "few_units"   // Count tasks
	Dependent  reports.WarningKind = "dependent"   // Of labels of Count tasks
	ZerosOnes  reports.WarningKind = "zeros_ones"  // they were read as numbers
	Apparent   reports.WarningKind = "apparent"    // thresholds on the same labels
	LabelsMiss reports.WarningKind = "labels_miss" // what the missing labels mean
)

// fewUnits are too few for an interval to be trusted much; rare is the share of
// labels below which kappa says little.
const (
	fewUnits = 30
	rare     = 0.1
)

// note adds what has to be known of the numbers. The first output without a score was lost for a reason; "": all have one.
func (c *Calibration) note(m *measure, lost string) {
	add := func(n Note) { c.Notes = append(c.Notes, n) }
	if !m.ordered() || len(m.Labels.Levels) == 0 {
		add(Note{Kind: YesFrom, More: page.Known(c.Threshold).Exact()})
	}
	if m.Labels.Ambiguous {
		add(Note{Kind: ZerosOnes})
	}
	if c.Scored < c.Labels {
		add(Note{Kind: NoScores, Count: c.Labels - c.Scored, Of: c.Labels, More: lost})
	}
	if c.Scored == 0 {
		return
	}
	c.noteLevels(add)
	switch {
	case c.Units < fewUnits:
		add(Note{Kind: FewUnits, Count: c.Units})
	case c.Units < c.Scored:
		add(Note{Kind: Dependent, Count: c.Units, Of: c.Scored})
	}
	if slices.ContainsFunc(c.Agreement, func(a Agreement) bool { return a.MissingForKappa.Number+a.MissingForSame.Number > 0 }) {
		add(Note{Kind: LabelsMiss, More: page.Known(c.Precision).Exact()})
	}
	if len(c.Thresholds) > 1 {
		add(Note{Kind: Apparent})
	}
}

// noteLevels notes what is said too rarely, or always.
func (c *Calibration) noteLevels(add func(Note)) {
	names := c.Confusion.Levels
	labels, scores := make([]int, len(names)), make([]int, len(names))
	for i, row := range c.Confusion.Counts {
		for k, n := range row {
			labels[i] += n
			scores[k] += n
		}
	}
	if at := slices.Index(labels, c.Scored); at >= 0 {
		add(Note{Kind: OneLabel, Name: names[at], Count: c.Scored})
	} else if len(names) == 2 {
		fewer := 0
		if labels[1] < labels[0] {
			fewer = 1
		}
		if float64(labels[fewer]) < rare*float64(c.Scored) {
			add(Note{Kind: Rare, Name: names[fewer], Count: labels[fewer], Of: c.Scored})
		}
	}
	if at := slices.Index(scores, c.Scored); at >= 0 {
		add(Note{Kind: OneScore, Name: names[at], Count: c.Scored})
	}
}

// sayings are the texts of the notes.
var sayings = reports.Sayings{
	YesFrom:  {Text: "a number of {detail} or more is a yes; --threshold sets another"},
	NoScores: {Text: "{n} of {of} labelled outputs have no score and are left out: {more}", Serious: true},
	OneLabel: {
		Text:    "all labels say {name}: kappa is undefined, and nothing shows that the scorer sees other outputs; label outputs with other verdicts as well",
		Serious: true,
	},
	OneScore: {
		Text:    "the scorer says {name} of all outputs: it does not distinguish them, and its agreement is the share of labels that say so",
		Serious: true,
	},
	Rare:      {Text: "only {n} of {of} labels say {name}: kappa is smaller than with as many labels of both kinds, and less certain", Serious: true},
	FewUnits:  {Text: "labels of {n} [task or cluster|tasks or clusters] are few: the bootstrap intervals are rough"},
	Dependent: {Text: "the {of} labels are of {n} tasks or clusters, whose outputs depend on each other: intervals count these"},
	ZerosOnes: {Text: "all labels are 0 or 1 and were read as numbers of the scorer's range; write yes and no for verdicts", Serious: true},
	Apparent:  {Text: "the threshold that looks best on these labels looks better than it is: choose it on some labels and report it on others"},
	LabelsMiss: {
		Text: "labels missing: about how many more, of other tasks, until the interval reaches no further than {detail} to both sides; --precision sets another",
	},
}

// Text is the note for people.
func (n Note) Text() page.Words {
	return sayings.Text(reports.Warning{Kind: n.Kind, Count: n.Count, Of: n.Of, Name: n.Name, More: n.More})
}

// Serious reports whether numbers are missing or in question.
func (n Note) Serious() bool { return sayings[n.Kind].Serious }
