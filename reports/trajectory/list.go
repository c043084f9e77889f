package trajectory

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

// TableNames are the tables of a list.
var TableNames = []string{"runs"}

// Filter says which runs are listed; its zero value lists all.
type Filter struct {
	Configurations, Tasks []string // none: all
	Status                record.Status
	Most                  int // of each configuration, those that went wrong first; 0: all
}

// Wants reports whether a run is to be listed.
func (f *Filter) Wants(configuration, task string, status record.Status) bool {
	return (len(f.Configurations) == 0 || slices.Contains(f.Configurations, configuration)) &&
		(len(f.Tasks) == 0 || slices.Contains(f.Tasks, task)) &&
		(f.Status == "" || f.Status == status)
}

// List is a table of the runs of a folder by configuration, those that went wrong
// first.
func List(dir string, m *record.Manifest, f Filter) (*page.Sheet, error) {
	first := shortlist{most: f.Most, of: map[int][]listed{}}
	for s, err := range record.ReadLight(dir) {
		if err != nil {
			return nil, exit.Unmeasured(err)
		}
		if !f.Wants(s.Configuration, s.Task, s.Outcome.Status) {
			continue
		}
		seconds := page.Known(s.Elapsed.Seconds())
		if s.Untimed {
			seconds = page.Missing(page.Unknown)
		}
		first.add(listed{
			id: s.ID, configuration: slices.IndexFunc(m.Configurations, func(c record.ConfigurationHead) bool { return c.Name == s.Configuration }),
			name: s.Configuration, task: s.Task, trial: s.Trial, outcome: s.Outcome, iterations: len(s.Iterations), steps: programStepsIn(s), usage: s.Total(), seconds: seconds,
			score: page.Cell{Text: page.Nothing},
		})
	}
	runs := first.runs()
	if len(runs) == 0 {
		return nil, exit.With(exit.NotMeasured, "agentbench show "+dir+" lists all of them", "no run of %s matches", dir)
	}
	if err := fillScores(dir, m, runs); err != nil {
		return nil, err
	}
	sheet := &page.Sheet{
		Kind: "runs", Suite: m.Suite, List: []page.Table{page.TableOf("runs", "Runs", fieldsOf(m), slices.Values(runs))},
		Head: page.Words(page.Foreign(m.Suite) + " · " + page.Plural(first.seen, "run", "runs")),
	}
	if left := first.seen - len(runs); left > 0 {
		sheet.Notes = append(sheet.Notes, page.Saying(fmt.Sprintf("%d more: --limit 0 lists all", left)))
	}
	return sheet, nil
}

// listed is a run in a list.
type listed struct {
	id, name, task string
	trial          int
	configuration  int // index in the manifest
	outcome        record.Outcome
	iterations     int
	steps          int // of programs that call models
	usage          record.Usage
	seconds        page.Value
	score          page.Cell
}

func fieldsOf(m *record.Manifest) page.Fields[listed] {
	score := page.Column{Head: "score", Key: "score", Right: true}
	if len(m.Scorers) > 0 {
		score.Head, score.About = "", m.Scorers[0]
	}
	return slices.Concat(
		page.Named("run", "run", func(r listed) string { return r.id }),
		page.Named("", "configuration", func(r listed) string { return r.name }).ForMachines(),
		page.Named("", "task", func(r listed) string { return r.task }).ForMachines(),
		page.Counted("", "trial", func(r listed) int { return r.trial }).ForMachines(),
		page.Worded("status", "status", func(r listed) string { return string(r.outcome.Status) }),
		page.Named("stopped by", "stopped_by", func(r listed) string { return string(stoppedBy(&r.outcome)) }),
		page.Right("iterations", "iterations", func(r listed) page.Cell { return page.Cell{Text: fmt.Sprint(r.iterations), Raw: r.iterations} }),
		page.Right("steps", "steps", func(r listed) page.Cell {
			if r.steps == 0 {
				return page.Cell{}
			}
			return page.Cell{Text: fmt.Sprint(r.steps), Raw: r.steps}
		}).Optional(),
		page.Of(score, func(r listed) page.Cell { return r.score }),
		page.Right("cost", "cost_usd", func(r listed) page.Cell { return CostCell(r.usage) }),
		page.Valued("seconds", "seconds", func(v page.Value) string {
			if !v.Known() {
				return v.Missing
			}
			return fmt.Sprintf("%.1f", v.Number)
		}, func(r listed) page.Value { return r.seconds }))
}

// programStepsIn is how many steps the programs of a run made.
func programStepsIn(s *record.Run) (steps int) {
	for i := range s.Iterations {
		for c := range s.Iterations[i].Calls {
			if s.Iterations[i].Calls[c].Step > 0 {
				steps++
			}
		}
	}
	return steps
}

// shortlist holds hardly more runs than will be shown, however many there are.
type shortlist struct {
	most int // of each configuration; 0: all
	of   map[int][]listed
	seen int
}

func (s *shortlist) add(r listed) {
	s.seen++
	runs := append(s.of[r.configuration], r)
	if s.most > 0 && len(runs) >= 100+2*s.most {
		runs = s.cut(runs)
	}
	s.of[r.configuration] = runs
}

// cut leaves those that stand first.
func (s *shortlist) cut(runs []listed) []listed {
	trouble := func(r *listed) int {
		return slices.Index([]record.Status{record.Completed, record.Cancelled, record.Failed, record.Faulted}, r.outcome.Status)
	}
	slices.SortFunc(runs, func(a, b listed) int {
		return cmp.Or(cmp.Compare(trouble(&b), trouble(&a)), cmp.Compare(a.task, b.task), cmp.Compare(a.trial, b.trial))
	})
	if s.most > 0 && len(runs) > s.most {
		clear(runs[s.most:])
		runs = runs[:s.most]
	}
	return runs
}

// runs are those that stand first, by configuration.
func (s *shortlist) runs() (all []listed) {
	for _, configuration := range slices.Sorted(maps.Keys(s.of)) {
		all = append(all, s.cut(s.of[configuration])...)
	}
	return all
}

func fillScores(dir string, m *record.Manifest, runs []listed) error {
	if len(m.Scorers) == 0 {
		return nil
	}
	at := make(map[string]int, len(runs))
	for i := range runs {
		at[runs[i].id] = i
	}
	for s, err := range record.ReadScores(dir) {
		if err != nil {
			return exit.Unmeasured(err)
		}
		i, wanted := at[s.Run]
		if wanted && s.Iteration == 0 && s.Name == m.Scorers[0] {
			runs[i].score = page.Cell{Text: cmp.Or(scoreText(&s), page.Nothing)}
			if !s.Removed && s.Unscored == "" {
				runs[i].score.Raw = s.Value
			}
		}
	}
	return nil
}

func scoreText(s *record.Score) string {
	switch {
	case s.Removed:
		return ""
	case s.Unscored != "":
		return page.Unscored
	}
	return fmt.Sprintf("%.2f", s.Value)
}

// stoppedBy is the reason, or what kind of error it was.
func stoppedBy(o *record.Outcome) record.Reason {
	if o.Reason == record.ReasonError && o.Error != nil {
		return record.Reason("error: " + o.Error.Class)
	}
	return o.Reason
}

// Cost is the uncached cost of a usage.
func Cost(u record.Usage) string { return CostCell(u).Text }

// CostCell is a cell of [Cost].
func CostCell(u record.Usage) page.Cell {
	switch {
	case u.Unreported > 0:
		return page.Cell{Text: page.Unknown}
	case u.Unpriced > 0:
		return page.Cell{Text: page.Unpriced}
	}
	return page.Cell{Text: page.USD(u.Cost.Dollars()), Raw: u.Cost.Dollars()}
}

// Find reads a run by its id, and its scores that count. A trial may be left out where
// it is the first, and a configuration may go by an alias.
func Find(dir string, m *record.Manifest, id string) (*record.Run, []record.Score, error) {
	own := ownID(m, id)
	run, err := record.Find(dir, own)
	if errors.Is(err, record.ErrNoRun) {
		if run, err = record.Find(dir, own+"/1"); err != nil {
			var known []string
			hint := "agentbench show " + dir + " lists the runs"
			for s, err := range record.ReadLight(dir) {
				switch {
				case err != nil:
					return nil, nil, exit.Unmeasured(err)
				case s.Configuration == own:
					hint = "agentbench show " + dir + " --configuration " + id + " lists its runs"
				case s.Task == own:
					hint = "agentbench show " + dir + " --task " + id + " lists its runs"
				}
				known = append(known, s.ID)
			}
			slices.Sort(known)
			return nil, nil, exit.Usage(exit.DidYouMean(id, known, hint), "unknown run %q in %s", id, dir)
		}
	}
	if err != nil {
		return nil, nil, exit.Unmeasured(err)
	}
	var scores []record.Score
	for s, err := range record.ReadScores(dir) {
		if err != nil {
			return nil, nil, exit.Unmeasured(err)
		}
		if s.Run == run.ID {
			scores = append(scores, s)
		}
	}
	return run, record.Standing(scores), nil
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
