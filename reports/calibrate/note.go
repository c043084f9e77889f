package calibrate

import (
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
)

// Note is something that a reader of a calibration must know.
type Note struct {
	Kind  NoteKind `json:"kind"`
	Count int      `json:"count,omitempty"`
	Of    int      `json:"of,omitempty"`
	Name  string   `json:"name,omitempty"`   // from outside
	More  string   `json:"detail,omitempty"` // from outside
}

// NoteKind is one of a closed list.
type NoteKind string

// The kinds of notes.
const (
	YesFrom    NoteKind = "threshold"   // More: the number
	NoScores   NoteKind = "unscored"    // Count of Of, More: why the first of them
	OneLabel   NoteKind = "one_label"   // all labels say Name
	OneScore   NoteKind = "one_score"   // the scorer says Name of all
	Rare       NoteKind = "rare_label"  // Count of Of labels say Name
	FewUnits   NoteKind = "few_units"   // Count tasks
	Dependent  NoteKind = "dependent"   // Of labels of Count tasks
	ZerosOnes  NoteKind = "zeros_ones"  // they were read as numbers
	Apparent   NoteKind = "apparent"    // thresholds on the same labels
	LabelsMiss NoteKind = "labels_miss" // what the missing labels mean
)

// fewUnits are too few for an interval to be trusted much; rare is the share of
// labels below which kappa says little.
const (
	fewUnits = 30
	rare     = 0.1
)

// note adds what has to be known of the numbers.
func (c *Calibration) note(m *measure) {
	add := func(n Note) { c.Notes = append(c.Notes, n) }
	if !m.ordered() || len(m.Labels.Levels) == 0 {
		add(Note{Kind: YesFrom, More: page.Known(c.Threshold).Exact()})
	}
	if m.Labels.Ambiguous {
		add(Note{Kind: ZerosOnes})
	}
	if c.Scored < c.Labels {
		add(Note{Kind: NoScores, Count: c.Labels - c.Scored, Of: c.Labels, More: c.Unscored[0].Why})
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

// Text is the note for people.
func (n Note) Text(quote func(string) string) string {
	switch n.Kind {
	case YesFrom:
		return "a number of " + n.More + " or more is a yes; --threshold sets another"
	case NoScores:
		return fmt.Sprintf("%d of %d labelled outputs have no score and are left out: %s", n.Count, n.Of, quote(n.More))
	case OneLabel:
		return fmt.Sprintf("all labels say %s: whether the scorer would see anything else is not known, and no kappa is; label outputs of which people say something else", quote(n.Name))
	case OneScore:
		return fmt.Sprintf("the scorer says %s of all outputs: it tells none of them apart, and its agreement is the share of labels that say so", quote(n.Name))
	case Rare:
		return fmt.Sprintf("only %d of %d labels say %s: the same share of mistakes makes kappa smaller than it would be among as many of both, and more of them make it certain", n.Count, n.Of, quote(n.Name))
	case FewUnits:
		return fmt.Sprintf("labels of %s are few: intervals are those of a bootstrap, and rough", page.Plural(n.Count, "task or cluster", "tasks or clusters"))
	case Dependent:
		return fmt.Sprintf("the %d labels are of %d tasks or clusters, whose outputs depend on each other: intervals are by these", n.Of, n.Count)
	case ZerosOnes:
		return "all labels are 0 or 1 and were read as numbers of the scorer's range; yes and no say what they mean"
	case Apparent:
		return "the threshold that looks best on these labels looks better than it is: choose it on some labels and report it on others"
	case LabelsMiss:
		return "labels missing: about how many more, of other tasks, until the interval reaches no further than " + n.More + " to both sides; --precision sets another"
	}
	return string(n.Kind)
}

// Serious says that numbers are missing or in question.
func (n Note) Serious() bool {
	switch n.Kind {
	case NoScores, OneLabel, OneScore, Rare, ZerosOnes:
		return true
	}
	return false
}
