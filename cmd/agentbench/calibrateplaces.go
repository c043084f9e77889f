package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/calibrate"
	"github.com/agentbench/agentbench/spec"
)

// labelledItem is what a label is of, and the score that it has.
type labelledItem struct {
	label *calibrate.Label
	id    string // of the run; "": the output stands beside the label
	of    string // its task
	unit  string
	task  *spec.Task
	run   *record.Run // nil: it is read once it is judged
	// lost says why there is nothing to judge; "": there is.
	lost  string
	score *record.Score // nil: none is known
}

// place finds what is labelled.
func (c *calibration) place() error {
	if err := c.placeable(); err != nil {
		return err
	}
	for i := range c.labels.Labels {
		c.items = append(c.items, labelledItem{label: &c.labels.Labels[i], of: c.labels.Labels[i].Task})
	}
	if c.labels.Texts {
		return c.placeTexts()
	}
	if len(c.items) == 0 {
		return nil
	}
	return c.placeRuns()
}

// placeable says whether labels and --results go together.
func (c *calibration) placeable() error {
	switch {
	case len(c.faults) > 0 && len(c.labels.Labels) == 0: // they say it
		return nil
	case c.labels.Texts && c.flags.results != "":
		return usage("leave out --results; or name the runs in a column run", "%s holds the outputs itself", c.flags.labels)
	case !c.labels.Texts && c.flags.results == "":
		return usage("--results DIR names their folder", "the labels of %s are of runs", c.flags.labels)
	}
	return nil
}

// placeTexts makes runs of outputs that stand beside their labels.
func (c *calibration) placeTexts() error {
	if err := c.findTasks(); err != nil {
		return err
	}
	trials := map[string]int{}
	for i := range c.items {
		at := &c.items[i]
		if at.task == nil {
			c.faults = append(c.faults, c.labels.Fault(at.label, "the column task holds the ids of tasks", "the suite has no task %q", at.of))
			continue
		}
		trials[at.of]++
		run, err := textRun(at, trials[at.of])
		if err != nil {
			return fail(wrongSpec, "", "reading the labels: %w", err)
		}
		at.run, at.unit = run, cmp.Or(at.task.Cluster, at.of)
	}
	return nil
}

// textRun is a run of one iteration that gave an output.
func textRun(at *labelledItem, trial int) (*record.Run, error) {
	output, err := json.Marshal(at.label.Output)
	if err != nil {
		return nil, err
	}
	return &record.Run{
		Version: record.Version, ID: record.RunID("labels", at.of, trial), Configuration: "labels", Task: at.of, Trial: trial, Cluster: at.task.Cluster,
		Outcome:    record.Outcome{Status: record.Completed, Returned: 1},
		Iterations: []record.Iteration{{Output: output}},
	}, nil
}

// findTasks finds the tasks of what has no score yet.
func (c *calibration) findTasks() error {
	wanted := map[string][]*labelledItem{}
	for i := range c.items {
		if at := &c.items[i]; at.score == nil && at.lost == "" {
			wanted[at.of] = append(wanted[at.of], at)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for task, err := range c.Tasks() {
		if err != nil {
			return fail(wrongSpec, "", "reading the tasks: %w", err)
		}
		for _, at := range wanted[task.ID] {
			at.task = task
		}
	}
	return nil
}

// placeRuns finds the labelled runs in their folder, and the scores that they have.
func (c *calibration) placeRuns() error {
	m, err := c.openManifest(c.flags.results)
	if err != nil {
		return err
	}
	wanted := c.runsWanted(&m)
	if err := c.findRuns(wanted); err != nil {
		return err
	}
	for i := range c.items {
		if at := &c.items[i]; at.of == "" {
			c.faults = append(c.faults, c.labels.Fault(at.label, "agentbench show "+shellWord(c.flags.results)+" lists the runs", "%s has no run %s", c.flags.results, at.id))
		}
	}
	if err := c.findScores(wanted); err != nil || len(c.faults) > 0 {
		return err
	}
	return c.findRunTasks(&m)
}

// runsWanted are the labelled runs by their ids. Two rows may name one run in two
// ways.
func (c *calibration) runsWanted(m *record.Manifest) map[string][]*labelledItem {
	wanted := map[string][]*labelledItem{}
	for i := range c.items {
		at := &c.items[i]
		at.id, at.of = at.label.Run, ""
		if at.id == "" {
			name := at.label.Configuration
			if head, ok := m.Configuration(name); ok {
				name = head.Name
			}
			at.id = record.RunID(name, at.label.Task, at.label.Trial)
		}
		if len(wanted[at.id]) > 0 {
			c.faults = append(c.faults, c.labels.Fault(at.label, "", "the run %s is labelled already, under another name of its configuration", at.id))
		}
		wanted[at.id] = append(wanted[at.id], at)
	}
	return wanted
}

// findRuns reads what the labelled runs are of. The last try of a run counts.
func (c *calibration) findRuns(wanted map[string][]*labelledItem) error {
	for s, err := range record.ReadSignals(c.flags.results) {
		var problem *record.Problem
		if errors.As(err, &problem) {
			continue
		}
		if err != nil {
			return fail(notMeasured, "", "reading the runs: %w", err)
		}
		for _, at := range wanted[s.ID] {
			at.of, at.unit, at.lost = s.Task, cmp.Or(s.Cluster, s.Task), ""
			if !s.Outcome.Counts() {
				at.lost = fmt.Sprintf("the run does not count: %s", s.Outcome.Status)
			}
		}
	}
	return nil
}

// findScores reads the scores that the scorer, as it is now, gave to labelled runs.
// What it could not judge it is asked again.
func (c *calibration) findScores(wanted map[string][]*labelledItem) error {
	var err error
	if c.version, err = c.versions(); err != nil {
		return err
	}
	for s, err := range record.ReadScores(c.flags.results) {
		var problem *record.Problem
		if errors.As(err, &problem) {
			continue
		}
		if err != nil {
			return fail(notMeasured, "", "reading the scores: %w", err)
		}
		if s.Name != c.scorer.Name || s.Iteration != 0 {
			continue
		}
		for _, at := range wanted[s.Run] {
			at.score = nil
			if !s.Removed && s.Unscored == "" && s.Scorer == c.version {
				at.score = &s
			}
		}
	}
	return nil
}

// findRunTasks finds the tasks of the runs without a score in the suite, whose data
// should be those that the runs were made of.
func (c *calibration) findRunTasks(m *record.Manifest) error {
	if err := c.findTasks(); err != nil {
		return err
	}
	missing := 0
	for i := range c.items {
		at := &c.items[i]
		if at.score != nil || at.lost != "" {
			continue
		}
		missing++
		if at.task == nil {
			at.lost = "the suite has no longer its task"
		}
	}
	if missing == 0 {
		return nil
	}
	folder, err := results.OpenManifest(c.flags.results, *m, results.Options{})
	if err != nil {
		return nil // what it was made of is not known
	}
	other, err := folder.OtherData(c.Document)
	if err == nil && len(other) > 0 {
		fmt.Fprintf(c.err, "agentbench: warning: %s: not the bytes that the runs were made of, so that tasks may differ\n", some(other))
	}
	return nil
}

// pairs are the labelled outputs with their scores.
func (c *calibration) pairs() []calibrate.Pair {
	pairs := make([]calibrate.Pair, len(c.items))
	for i := range c.items {
		at := &c.items[i]
		pairs[i] = calibrate.Pair{Name: cmp.Or(at.id, at.of), Unit: at.unit, Label: at.label.Value, Second: at.label.Second}
		switch s := at.score; {
		case at.lost != "":
			pairs[i].Unscored = at.lost
		case s == nil:
			pairs[i].Unscored = "it was interrupted before"
		case s.Unscored != "":
			pairs[i].Unscored = s.Unscored
		default:
			pairs[i].Score, pairs[i].Explanation = s.Value, s.Explanation
		}
	}
	return pairs
}
