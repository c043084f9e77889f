package command

import (
	"errors"
	"fmt"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
)

// openResults opens the journal of a job, whose results may have been begun before. The
// manifest is then that of all sessions together.
func (p *program) openResults(j *job, m *record.Manifest) (*record.Journal, error) {
	s := results.Session{
		Dir: j.dir, Plan: j.plan, Tasks: j.Tasks(), Force: j.flags.force, Tries: j.flags.attempts,
		Options: p.recording(), Document: j.Document, Writer: p.writer(), Read: p.openManifest,
	}
	journal, earlier, err := s.Open(m)
	var other *results.OtherSpec
	switch {
	case errors.As(err, &other):
		hint := "use another --out to start again"
		if j.flags.typed.Lookup("force") != nil {
			hint += "; --force resumes anyway and mixes the runs of both"
		}
		if other.ScorersOnly {
			hint = "agentbench score " + exit.ShellWord(j.dir) + " " + exit.ShellWord(j.path) + " rescores the runs, then rerun this command; " + hint
		}
		return nil, exit.With(exit.WrongSpec, hint, "%w", err)
	case err != nil || earlier.Found == nil:
		j.earlier = earlier
		return journal, err
	}
	j.earlier = earlier
	if earlier.Mixed != "" {
		fmt.Fprintf(p.err, "agentbench: warning: %s\nagentbench: warning: the runs of both are mixed from now on\n", visibleLines(earlier.Mixed, "\n"))
	}
	if !j.flags.quiet {
		fmt.Fprintln(p.err, earlier.Text(j.dir, m.Totals.Planned))
	}
	if err := journal.WriteManifest(*m); err != nil {
		return nil, errors.Join(exit.Unmeasured(err), journal.Close())
	}
	return journal, nil
}

// sumUp counts the runs of all sessions together.
func (j *job) sumUp(m *record.Manifest) error {
	if j.earlier.Found != nil {
		return results.Count(j.dir, m)
	}
	planned := m.Totals.Planned
	m.Totals = j.tally.Totals
	m.Totals.Planned = planned
	return nil
}
