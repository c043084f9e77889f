package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

func (p *program) checkCommand() *cobra.Command {
	var tune bool
	c := &cobra.Command{
		Use:     "check FILE...",
		Short:   "Find everything that is wrong with suites, loops and mappings",
		GroupID: "write",
		Long: `Reads suites, loops and mappings with all files that they name, and prints every fault at
its place with a hint. A file may be - for stdin, or the name of a suite that ships.
Exits with 3 if anything is wrong.

With --tune it says of each parameter, those of tune first, how far a recorded run
answers for other values of it, and why not further.`,
		Args: arguments(1, -1, "one or more files"),
		RunE: func(_ *cobra.Command, args []string) error {
			var worst error
			for _, path := range args {
				worst = worse(worst, p.check(path, tune))
			}
			return worst
		},
	}
	c.Flags().BoolVar(&tune, "tune", false, "say which parameters can be replayed, and which need new runs")
	return c
}

// worse is the error with the higher exit code; the message of the other one is
// not lost, because check prints faults as it finds them.
func worse(a, b error) error {
	var first, second *exit.Error
	if b == nil || errors.As(a, &first) && errors.As(b, &second) && first.Code >= second.Code {
		return a
	}
	return b
}

func (p *program) check(path string, tune bool) error {
	o, err := p.open(path, nil)
	if err != nil {
		return err
	}
	p.warn(o, nil)
	hintsOf(o.Document).Print(p.err)
	kind, name, about, err := p.fine(o)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s: %s %s is fine%s%s\n", path, kind, page.Visible(name), about, warnings(len(o.Warnings)))
	if !tune {
		return nil
	}
	return p.tellReplayable(o.Document)
}

// fine says what a document is that has no faults; those of its tasks are printed.
func (p *program) fine(o *opened) (kind, name, about string, err error) {
	switch {
	case o.Loop != nil:
		return "loop", o.Loop.Name, ": " + aboutLoop(o.Loop), nil
	case o.Import != nil:
		return "import", o.Import.Name, "", nil
	}
	tasks, faults := o.CountTasks()
	faults.Print(p.err)
	if faults.Err() != nil {
		return "", "", "", exit.Quiet(exit.WrongSpec)
	}
	return "suite", o.Suite.Name, ": " + aboutSuite(o.Suite, tasks), nil
}

// hintsOf are the hints of all loops of a document, each once.
func hintsOf(d *spec.Document) (hints source.Faults) {
	switch {
	case d.Loop != nil:
		return d.Loop.Hints()
	case d.Suite == nil:
		return nil
	}
	for i := range d.Suite.Resolved {
		for _, hint := range d.Suite.Resolved[i].Loop.Hints() {
			if !slices.Contains(hints, hint) {
				hints = append(hints, hint)
			}
		}
	}
	return hints
}

func aboutLoop(l *spec.Loop) string {
	var parts []string
	if l.Pattern != spec.PatternNone {
		parts = append(parts, "pattern "+string(l.Pattern))
	}
	if n := len(l.Phases); n > 0 {
		parts = append(parts, page.Plural(n, "phase", "phases"))
	}
	if n := len(l.Strategies); n > 0 {
		parts = append(parts, page.Plural(n, "strategy", "strategies"))
	}
	limit, _, _ := l.EffectiveMax()
	if limit == 0 {
		return strings.Join(append(parts, "no limit of its own"), ", ")
	}
	return strings.Join(append(parts, "at most "+page.Plural(limit, "iteration", "iterations")), ", ")
}

func aboutSuite(s *spec.Suite, tasks int) string {
	trials := max(1, s.Trials)
	parts := []string{
		page.Plural(tasks, "task", "tasks"), page.Plural(len(s.Resolved), "configuration", "configurations"),
		page.Plural(trials, "trial", "trials"), page.Plural(len(s.Scorers), "scorer", "scorers"),
		page.Plural(tasks*trials*len(s.Resolved), "run", "runs"),
	}
	return strings.Join(parts, ", ")
}

func warnings(n int) string {
	if n == 0 {
		return ""
	}
	return " (" + page.Plural(n, "warning", "warnings") + ")"
}

// replayability is what can be said of a parameter of some configurations before
// anything runs.
type replayability struct {
	replay.Parameter
	of []string // the configurations that it is said of; nil: all that there are
}

// replayable analyses the parameters of a loop, or of all configurations of a
// suite: those of tune, in their order, and the others.
func replayable(d *spec.Document) (ofTune, others []replayability) {
	if d.Loop != nil {
		for _, p := range replay.Analyse(d.Loop) {
			others = append(others, replayability{Parameter: p})
		}
		return nil, others
	}
	if d.Suite == nil {
		return nil, nil
	}
	ofTune = tuned(d.Suite)
	for _, row := range together(d.Suite, replay.Analyse) {
		if !slices.ContainsFunc(ofTune, func(r replayability) bool { return r.Path == row.Path }) {
			others = append(others, row)
		}
	}
	return ofTune, others
}

// tuned analyses the parameters of tune, in each configuration that has a place
// for them.
func tuned(s *spec.Suite) (rows []replayability) {
	if s.Tune == nil {
		return nil
	}
	for i := range s.Tune.Parameters {
		p := &s.Tune.Parameters[i]
		rows = append(rows, together(s, func(l *spec.Loop) []replay.Parameter {
			if !p.Value.FitsInto(l, p.Key) {
				return nil
			}
			return []replay.Parameter{replay.AnalysePath(l, p.Key)}
		})...)
	}
	return rows
}

// together analyses every configuration, and says once what holds of several.
func together(s *spec.Suite, analyse func(*spec.Loop) []replay.Parameter) (rows []replayability) {
	var order []string
	said := map[string][]replayability{}
	for i := range s.Resolved {
		c := &s.Resolved[i]
		for _, p := range analyse(c.Loop) {
			known, there := said[p.Path]
			if !there {
				order = append(order, p.Path)
			}
			at := slices.IndexFunc(known, func(r replayability) bool { return r.Parameter == p })
			if at < 0 {
				known, at = append(known, replayability{Parameter: p}), len(known)
			}
			known[at].of = append(known[at].of, c.Name)
			said[p.Path] = known
		}
	}
	for _, path := range order {
		rows = append(rows, ofAll(said[path], len(s.Resolved))...)
	}
	return rows
}

// ofAll forgets the names where all configurations are meant.
func ofAll(rows []replayability, configurations int) []replayability {
	if len(rows) == 1 && len(rows[0].of) == configurations {
		rows[0].of = nil
	}
	return rows
}

// tellReplayable prints, of each parameter, how far a recorded run answers for
// other values of it.
func (p *program) tellReplayable(d *spec.Document) error {
	ofTune, others := replayable(d)
	for _, part := range []struct {
		head string
		rows []replayability
	}{{"parameters of tune", ofTune}, {"parameters", others}} {
		if len(part.rows) == 0 {
			continue
		}
		fmt.Fprintf(p.out, "\n%s:\n\n", part.head)
		if _, err := page.Terminal(p.out, replayTable(part.rows), page.Screen{Width: p.width(p.out)}); err != nil {
			return exit.Unmeasured(err)
		}
	}
	p.tellNotes(legend(slices.Concat(ofTune, others)))
	return nil
}

func replayTable(rows []replayability) page.Grid {
	t := page.Grid{Columns: []page.GridColumn{{Head: "parameter"}, {Head: "replay", Prose: true}, {Head: "why", Prose: true}}}
	for i := range rows {
		t.Rows = append(t.Rows, []string{page.Visible(rows[i].Path), string(rows[i].Class), rows[i].sentence()})
	}
	return t
}

// sentence says why, and of which configurations, where not of all.
func (r *replayability) sentence() string {
	if r.of == nil {
		return page.Visible(r.Why)
	}
	return page.Visible(fmt.Sprintf("%s (%s)", r.Why, firstNames(r.of)))
}

// firstNames are the first of some names, and how many more there are.
func firstNames(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// legend explains the classes that occur, from the best to the worst.
func legend(rows []replayability) (lines []string) {
	for _, c := range []struct {
		class replay.Class
		means string
	}{
		{replay.Replayed, "a recorded run that went on long enough tells what it would have been with another value"},
		{replay.JudgedAgain, "so it does when its outputs are judged again, without calls"},
		{replay.Partly, "some runs tell, the others need calls from a point on"},
		{replay.Calls, "another value has to be run"},
	} {
		if slices.ContainsFunc(rows, func(r replayability) bool { return r.Class == c.class }) {
			lines = append(lines, fmt.Sprintf("%s: %s", c.class, c.means))
		}
	}
	return lines
}

// tuneNotes say of each parameter of tune, in a sentence, whether it can be
// replayed.
func tuneNotes(s *spec.Suite) (notes []string) {
	for _, row := range tuned(s) {
		notes = append(notes, fmt.Sprintf("tune %s: %s: %s", page.Visible(row.Path), row.Class, row.sentence()))
	}
	return notes
}
