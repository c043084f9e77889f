package calibrate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Labelled is what a label is of, and the score that it has.
type Labelled struct {
	Label *Label
	ID    string // of the run; "": the output is in the file of the labels
	Of    string // its task
	Task  *spec.Task
	Run   *record.Run // nil: it is read once it is judged
	// Lost says why there is nothing to judge; "": there is.
	Lost  string
	Score *record.Score // nil: none is known

	unit string
}

// Missing reports whether there is something to judge, and no score.
func (l *Labelled) Missing() bool { return l.Score == nil && l.Lost == "" }

// Labels are the labelled outputs of a file.
type Labels struct {
	*File
	Items  []Labelled    // in the order of the labels
	Faults source.Faults // of the file
	// Results is the folder of the labelled runs.
	Results string
}

// NewLabels are the outputs that a file labels.
func NewLabels(f *File, faults source.Faults, results string) *Labels {
	l := &Labels{File: f, Faults: faults, Results: results}
	for i := range f.Labels {
		l.Items = append(l.Items, Labelled{Label: &f.Labels[i], Of: f.Labels[i].Task})
	}
	return l
}

// PlaceTexts makes runs of outputs in the file of the labels.
func (l *Labels) PlaceTexts(tasks iter.Seq2[*spec.Task, error]) error {
	if err := l.findTasks(tasks); err != nil {
		return err
	}
	trials := map[string]int{}
	for at := range page.EachOf(l.Items) {
		if at.Task == nil {
			l.Faults = append(l.Faults, l.Fault(at.Label, "the column task holds the ids of tasks", "unknown task %q", at.Of))
			continue
		}
		trials[at.Of]++
		output, err := json.Marshal(at.Label.Output)
		if err != nil {
			return exit.With(exit.WrongSpec, "", "reading the labels: %w", err)
		}
		at.unit = cmp.Or(at.Task.Cluster, at.Of)
		at.Run = &record.Run{
			Version: record.Version, ID: record.RunID("labels", at.Of, trials[at.Of]), Configuration: "labels", Task: at.Of, Trial: trials[at.Of], Cluster: at.Task.Cluster,
			Outcome:    record.Outcome{Status: record.Completed, Returned: 1},
			Iterations: []record.Iteration{{Output: output}},
		}
	}
	return nil
}

// findTasks finds the tasks of what has no score yet.
func (l *Labels) findTasks(tasks iter.Seq2[*spec.Task, error]) error {
	wanted := map[string][]*Labelled{}
	for i := range l.Items {
		if at := &l.Items[i]; at.Missing() {
			wanted[at.Of] = append(wanted[at.Of], at)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for task, err := range tasks {
		if err != nil {
			return exit.With(exit.WrongSpec, "", "reading the tasks: %w", err)
		}
		for _, at := range wanted[task.ID] {
			at.Task = task
		}
	}
	return nil
}

// PlaceRuns finds the labelled runs in their folder, their tasks, and the scores that this
// version of the scorer gave to them. It returns how many have none.
func (l *Labels) PlaceRuns(m *record.Manifest, scorer, version string, tasks iter.Seq2[*spec.Task, error]) (unscored int, err error) {
	wanted := l.runsWanted(m)
	if err := l.findRuns(wanted); err != nil {
		return 0, err
	}
	for i := range l.Items {
		if at := &l.Items[i]; at.Of == "" {
			l.Faults = append(l.Faults, l.Fault(at.Label, "agentbench show "+exit.ShellWord(l.Results)+" lists the runs", "unknown run %[2]s in %[1]s", l.Results, at.ID))
		}
	}
	if err := l.findScores(wanted, scorer, version); err != nil || len(l.Faults) > 0 {
		return 0, err
	}
	if err := l.findTasks(tasks); err != nil {
		return 0, err
	}
	for _, at := range l.Missing() {
		unscored++
		if at.Task == nil {
			at.Lost = "its task is no longer in the suite"
		}
	}
	return unscored, nil
}

// runsWanted are the labelled runs by their ids. Two rows may name one run in two ways.
func (l *Labels) runsWanted(m *record.Manifest) map[string][]*Labelled {
	wanted := map[string][]*Labelled{}
	for at := range page.EachOf(l.Items) {
		at.ID, at.Of = at.Label.Run, ""
		if at.ID == "" {
			name := at.Label.Configuration
			if head, ok := m.Configuration(name); ok {
				name = head.Name
			}
			at.ID = record.RunID(name, at.Label.Task, at.Label.Trial)
		}
		if len(wanted[at.ID]) > 0 {
			l.Faults = append(l.Faults, l.Fault(at.Label, "", "the run %s is already labelled, under another name of its configuration", at.ID))
		}
		wanted[at.ID] = append(wanted[at.ID], at)
	}
	return wanted
}

// findRuns reads what the labelled runs are of. The last try of a run counts.
func (l *Labels) findRuns(wanted map[string][]*Labelled) error {
	for s, err := range record.ReadLight(l.Results) {
		if err != nil {
			return exit.With(exit.NotMeasured, "", "reading the runs: %w", err)
		}
		for _, at := range wanted[s.ID] {
			at.Of, at.unit, at.Lost = s.Task, cmp.Or(s.Cluster, s.Task), ""
			if !s.Outcome.Counts() {
				at.Lost = fmt.Sprintf("the run does not count: %s", s.Outcome.Status)
			}
		}
	}
	return nil
}

// findScores reads the scores that this version of the scorer gave to labelled runs. What
// it could not judge it is asked again.
func (l *Labels) findScores(wanted map[string][]*Labelled, scorer, version string) error {
	for s, err := range record.ReadScores(l.Results) {
		if err != nil {
			return exit.With(exit.NotMeasured, "", "reading the scores: %w", err)
		}
		if s.Name != scorer || s.Iteration != 0 {
			continue
		}
		for _, at := range wanted[s.Run] {
			at.Score = nil
			if !s.Removed && s.Unscored == "" && s.Scorer == version {
				at.Score = &s
			}
		}
	}
	return nil
}

// Missing are the labelled outputs that have no score yet.
func (l *Labels) Missing() (missing []*Labelled) {
	for i := range l.Items {
		if at := &l.Items[i]; at.Missing() {
			missing = append(missing, at)
		}
	}
	return missing
}

// Pairs are the labelled outputs with their scores.
func (l *Labels) Pairs() []Pair {
	pairs := make([]Pair, len(l.Items))
	for i := range l.Items {
		at := &l.Items[i]
		pairs[i] = Pair{Name: cmp.Or(at.ID, at.Of), Unit: at.unit, Label: at.Label.Value, Second: at.Label.Second}
		switch s := at.Score; {
		case at.Lost != "":
			pairs[i].Unscored = at.Lost
		case s == nil:
			pairs[i].Unscored = "interrupted"
		case s.Unscored != "":
			pairs[i].Unscored = s.Unscored
		default:
			pairs[i].Score, pairs[i].Explanation = s.Value, s.Explanation
		}
	}
	return pairs
}

// Verdict is what a calibration means: where something ended it before all was scored, where
// kappa has to be at least so much, nil: anything.
func (c *Calibration) Verdict(ended string, minKappa *float64) error {
	kappa := c.Kappa()
	switch {
	case ended != "":
		return exit.With(exit.Stopped, "rerun the same command to resume: its calls are in the cache", "%s: scored %d of %s", ended, c.Scored, exit.Plural(c.Labels, "labelled output", "labelled outputs"))
	case c.Scored == 0:
		return exit.With(exit.NotMeasured, "--table unscored lists the reasons", "no labelled output has a score")
	case minKappa == nil:
		return nil
	case !kappa.Known():
		return exit.With(exit.NotMeasured, "label outputs with other verdicts as well", "kappa is not defined, and --min-kappa wants %v", *minKappa)
	case kappa.Number < *minKappa:
		return exit.With(exit.AnswerNo, "", "kappa is %s, and --min-kappa wants %v", kappa.Exact(), *minKappa)
	}
	return nil
}

// ScaleOf is how a scorer scores.
func ScaleOf(s *spec.Scorer) Scale {
	scale := Scale{Not: s.Not}
	for _, choice := range s.Choices {
		scale.Choices = append(scale.Choices, Level{Name: choice.Key, Value: choice.Value})
	}
	if len(s.Range) == 2 {
		scale.From, scale.To = s.Range[0], s.Range[1]
	}
	return scale
}

// Calibrated is the scorer of that name, or else the only judge of a suite.
func Calibrated(s *spec.Suite, name string) (*spec.Scorer, error) {
	var names, judges []string
	for i := range s.Scorers {
		names = append(names, s.Scorers[i].Name)
		if s.Scorers[i].Type == "judge" {
			judges = append(judges, s.Scorers[i].Name)
		}
	}
	if name == "" && len(judges) == 1 {
		name = judges[0]
	}
	at := slices.IndexFunc(s.Scorers, func(scorer spec.Scorer) bool { return scorer.Name == name })
	switch {
	case len(names) == 0:
		return nil, exit.Usage("scorers: declares some", "the suite has no scorers")
	case name == "" && len(judges) == 0:
		return nil, exit.Usage("--scorer names one of "+exit.Some(names), "the suite has no judge")
	case name == "":
		return nil, exit.Usage("--scorer names one of "+exit.Some(judges), "the suite has %d judges", len(judges))
	case at < 0:
		return nil, exit.Usage(exit.DidYouMean(name, names, "there are: "+exit.Some(names)), "unknown scorer %q", name)
	case s.Scorers[at].Type == "pairwise":
		return nil, exit.Usage("use a scorer that judges a run by itself", "the scorer %q compares runs, and labels are of single outputs", name)
	}
	return &s.Scorers[at], nil
}
