package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/record"
)

// showFlags are the flags of show.
type showFlags struct {
	limit                int
	status               string
	json, events, full   bool
	configurations, task []string
}

func (p *program) showCommand() *cobra.Command {
	var f showFlags
	c := &cobra.Command{
		Use:     "show DIR [RUN]",
		Short:   "List the runs in a result folder, or tell one of them and why it stopped",
		GroupID: "look",
		Long: `Without a run: lists the runs. With the id of a run, such as default/task-1/1: every
iteration with its output, evaluation and usage, why the run stopped, and what it returned.`,
		Args: arguments(1, 2, "a result folder, and perhaps a run"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			m, err := p.openManifest(args[0])
			if err != nil {
				return err
			}
			f.configurations = ownNames(&m, f.configurations)
			if len(args) == 1 {
				return p.list(args[0], &m, &f)
			}
			return p.show(args[0], &m, args[1], &f)
		},
	}
	c.Flags().IntVar(&f.limit, "limit", 20, "list at most so many runs of each configuration; 0: all")
	c.Flags().StringVar(&f.status, "status", "", "list only runs that are completed, failed, fault or cancelled")
	c.Flags().StringArrayVar(&f.configurations, "configuration", nil, "list only runs of this configuration (repeatable)")
	c.Flags().StringArrayVar(&f.task, "task", nil, "list only runs of this task (repeatable)")
	c.Flags().BoolVar(&f.json, "json", false, "the records as JSON, one run a line")
	c.Flags().BoolVar(&f.events, "events", false, "the events of the run as JSON, one a line")
	c.Flags().BoolVar(&f.full, "full", false, "outputs and feedback in full length")
	return c
}

// validate refuses a status that no run can have.
func (f *showFlags) validate() error {
	states := []string{string(record.Completed), string(record.Failed), string(record.Faulted), string(record.Cancelled)}
	if f.status == "" || slices.Contains(states, f.status) {
		return nil
	}
	return usage("there are: "+strings.Join(states, ", "), "there is no status %q", f.status)
}

// show tells one run.
func (p *program) show(dir string, m *record.Manifest, id string, f *showFlags) error {
	run, err := findRun(dir, m, id)
	if err != nil {
		return err
	}
	switch {
	case f.events:
		for event := range record.Events(run) {
			if err := p.line(event); err != nil {
				return err
			}
		}
		return nil
	case f.json:
		return p.line(run)
	}
	scores, err := scoresOf(dir, run.ID)
	if err != nil {
		return err
	}
	t := telling{full: f.full, width: p.width(p.out), scores: scores, manifest: m}
	t.run(run)
	if _, err := p.out.Write([]byte(t.String())); unlessClosed(err) != nil {
		return fail(notMeasured, "", "%w", err)
	}
	return nil
}

// line writes a value as a line of JSON.
func (p *program) line(value any) error {
	text, err := jsonLine(value)
	if err == nil {
		_, err = p.out.Write(text)
	}
	if unlessClosed(err) != nil {
		return fail(notMeasured, "", "%w", err)
	}
	return nil
}

// ownNames are the names under which configurations run, for names and aliases.
func ownNames(m *record.Manifest, names []string) []string {
	own := slices.Clone(names)
	for i := range m.Configurations {
		c := &m.Configurations[i]
		for at, name := range names {
			if slices.Contains(c.Aliases, name) {
				own[at] = c.Name
			}
		}
	}
	return own
}

// findRun reads a run by its id. A trial may be left out where it is the first,
// and a configuration may go by an alias.
func findRun(dir string, m *record.Manifest, id string) (*record.Run, error) {
	own := ownID(m, id)
	run, err := record.Find(dir, own)
	if errors.Is(err, record.ErrNoRun) {
		if first, again := record.Find(dir, own+"/1"); again == nil {
			return first, nil
		}
		return nil, noRun(dir, id)
	}
	if err != nil {
		return nil, fail(notMeasured, "", "%w", err)
	}
	return run, nil
}

// ownID is a run's id with the name under which its configuration runs.
func ownID(m *record.Manifest, id string) string {
	configuration := func(name string) string {
		part, _, _ := strings.Cut(record.RunID(name, "", 1), "/")
		return part + "/"
	}
	for i := range m.Configurations {
		for _, alias := range m.Configurations[i].Aliases {
			if rest, ok := strings.CutPrefix(id, configuration(alias)); ok {
				return configuration(m.Configurations[i].Name) + rest
			}
		}
	}
	return id
}

func noRun(dir, id string) error {
	var known []string
	for s, err := range record.ReadSignals(dir) {
		if err == nil {
			known = append(known, s.ID)
		}
	}
	slices.Sort(known)
	return usage(didYouMean(id, known, "agentbench show "+dir+" lists the runs"), "there is no run %q in %s", id, dir)
}

// scoresOf are the scores of one run that count.
func scoresOf(dir, run string) ([]record.Score, error) {
	var scores []record.Score
	for s, err := range record.ReadScores(dir) {
		if unreadable(err) {
			return nil, fail(notMeasured, "", "%w", err)
		}
		if err == nil && s.Run == run {
			scores = append(scores, s)
		}
	}
	return record.Standing(scores), nil
}

// unreadable says that a file cannot be read on; bad lines alone do not do that.
func unreadable(err error) bool {
	var problem *record.Problem
	return err != nil && !errors.As(err, &problem)
}

// shorten cuts a text to so many characters and says how many are missing.
func shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return strings.TrimRight(string(runes[:most]), " ") + fmt.Sprintf(" … (%d more; --full)", len(runes)-most)
}
