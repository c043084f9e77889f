package command

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

// listed is a run as it stands in a list.
type listed struct {
	id, task      string
	trial         int
	configuration int // index in the manifest
	outcome       record.Outcome
	iterations    int
	usage         record.Usage
	seconds       string
	score         string
}

// list prints the runs of a folder by configuration, those that went wrong first.
func (p *program) list(dir string, m *record.Manifest, f *showFlags) error {
	if f.json {
		return p.listJSON(dir, m, f)
	}
	kept, left, err := p.readRuns(dir, m, f)
	if err != nil {
		return err
	}
	if err := fillScores(dir, m, kept); err != nil {
		return err
	}
	if len(kept) == 0 {
		return exit.With(exit.NotMeasured, "agentbench show "+dir+" lists all of them", "no run of %s matches", dir)
	}
	if _, err := page.Terminal(p.out, listTable(m, kept), page.Screen{Width: p.width(p.out)}); unlessClosed(err) != nil {
		return exit.Unmeasured(err)
	}
	if left > 0 {
		fmt.Fprintf(p.out, "… and %d more: --limit 0 lists all\n", left)
	}
	return nil
}

// listJSON prints the records themselves, in the order in which they finished.
func (p *program) listJSON(dir string, m *record.Manifest, f *showFlags) error {
	for run, err := range record.ReadRuns(dir) {
		if unreadable(err) {
			return exit.Unmeasured(err)
		}
		if err != nil {
			fmt.Fprintln(p.err, "agentbench:", err)
			continue
		}
		if f.wants(run.Configuration, run.Task, run.Outcome.Status) {
			if err := p.line(run); err != nil {
				return err
			}
		}
	}
	return nil
}

// wants says whether the flags let a run into the list.
func (f *showFlags) wants(configuration, task string, status record.Status) bool {
	return (len(f.configurations) == 0 || slices.Contains(f.configurations, configuration)) &&
		(len(f.task) == 0 || slices.Contains(f.task, task)) &&
		(f.status == "" || f.status == string(status))
}

// readRuns reads the runs that are wanted, the first of each configuration, and
// says how many are left out.
func (p *program) readRuns(dir string, m *record.Manifest, f *showFlags) (kept []listed, left int, err error) {
	first := shortlist{most: f.limit, of: map[int][]listed{}}
	for s, err := range record.ReadSignals(dir) {
		if unreadable(err) {
			return nil, 0, exit.Unmeasured(err)
		}
		if err != nil {
			fmt.Fprintln(p.err, "agentbench: warning:", err)
			continue
		}
		if !f.wants(s.Configuration, s.Task, s.Outcome.Status) {
			continue
		}
		at := slices.IndexFunc(m.Configurations, func(c record.ConfigurationHead) bool { return c.Name == s.Configuration })
		first.add(listed{
			id: s.ID, task: s.Task, trial: s.Trial, configuration: at, outcome: s.Outcome,
			iterations: len(s.Iterations), usage: s.Total(), seconds: took(s),
		})
	}
	kept = first.runs()
	return kept, first.seen - len(kept), nil
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
	slices.SortFunc(runs, func(a, b listed) int {
		return cmp.Or(cmp.Compare(trouble(&b.outcome), trouble(&a.outcome)), cmp.Compare(a.task, b.task), cmp.Compare(a.trial, b.trial))
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

// trouble orders outcomes by how much they need to be looked at.
func trouble(o *record.Outcome) int {
	return slices.Index([]record.Status{record.Completed, record.Cancelled, record.Failed, record.Faulted}, o.Status)
}

// fillScores adds the scores by the first scorer.
func fillScores(dir string, m *record.Manifest, runs []listed) error {
	if len(m.Scorers) == 0 {
		return nil
	}
	at := make(map[string]int, len(runs))
	for i := range runs {
		at[runs[i].id] = i
	}
	for s, err := range record.ReadScores(dir) {
		if unreadable(err) {
			return exit.Unmeasured(err)
		}
		i, wanted := at[s.Run]
		if err == nil && wanted && s.Iteration == 0 && s.Name == m.Scorers[0] {
			runs[i].score = scoreText(&s)
		}
	}
	return nil
}

func scoreText(s *record.Score) string {
	switch {
	case s.Removed:
		return ""
	case s.Unscored != "":
		return "unscored"
	}
	return fmt.Sprintf("%.2f", s.Value)
}

func listTable(m *record.Manifest, runs []listed) page.Grid {
	scorer := "score"
	if len(m.Scorers) > 0 {
		scorer = page.Visible(m.Scorers[0])
	}
	t := page.Grid{Columns: []page.GridColumn{
		{Head: "run"}, {Head: "status"}, {Head: "stopped by"}, {Head: "iterations", Right: true},
		{Head: scorer, Right: true}, {Head: "cost", Right: true}, {Head: "seconds", Right: true},
	}}
	for i := range runs {
		r := &runs[i]
		t.Rows = append(t.Rows, []string{
			page.Visible(r.id), string(r.outcome.Status), page.Visible(string(stoppedBy(&r.outcome))), fmt.Sprint(r.iterations),
			cmp.Or(r.score, "-"), costOf(r.usage), r.seconds,
		})
	}
	return t
}

// took is how many seconds a run took.
func took(s *record.Signals) string {
	if s.Untimed {
		return "unknown"
	}
	return fmt.Sprintf("%.1f", s.Elapsed.Seconds())
}

// stoppedBy is the reason, or what kind of error it was.
func stoppedBy(o *record.Outcome) record.Reason {
	if o.Reason == record.ReasonError && o.Error != nil {
		return record.Reason("error: " + o.Error.Class)
	}
	return o.Reason
}

func costOf(u record.Usage) string {
	switch {
	case u.Unreported > 0:
		return "unknown"
	case u.Unpriced > 0:
		return "unpriced"
	}
	return dollars(u.Cost.Dollars())
}
