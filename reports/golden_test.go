package reports_test

import (
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

func TestGolden(t *testing.T) {
	r := coach(24).simulated("default").collect()
	for name, options := range map[string]page.Options{
		"coach.80.txt":             {},
		"coach.200.txt":            {Width: 200},
		"coach.color.txt":          {Width: 100, Color: true, Tables: []string{"stops"}},
		"coach.md":                 {Format: "markdown"},
		"coach.configurations.csv": {Format: "csv"},
		"coach.curve.csv":          {Format: "csv", Tables: []string{"curve"}},
		"coach.stops.csv":          {Format: "csv", Tables: []string{"stops"}},
		"coach.limits.csv":         {Format: "csv", Tables: []string{"limits"}},
		"coach.calibration.csv":    {Format: "csv", Tables: []string{"calibration"}},
		"coach.residue.csv":        {Format: "csv", Tables: []string{"residue"}},
		"coach.tasks.csv":          {Format: "csv", Tables: []string{"tasks"}},
		"coach.json":               {Format: "json"},
	} {
		pagetest.Golden(t, name, pagetest.Written(t, r, options))
	}
}

// edges are folders in which something is missing.
func edges() map[string]*fixture {
	unpriced := small(2)
	unpriced.signals[3].Usage.Unpriced = 2
	unscored := small(2)
	unscored.scores = unscored.scores[2:]
	unscored.scores[1].Unscored, unscored.scores[1].Value = "no target", 0
	faults := small(2)
	for _, s := range faults.signals {
		s.Outcome = record.Outcome{Status: record.Faulted, Class: record.ByFault, Error: &record.Error{Class: record.Server}}
	}
	none := small(2)
	none.signals, none.scores, none.manifest.Status = nil, nil, record.StateStopped
	unjudged := small(3)
	unjudged.manifest.Scorers, unjudged.scores = nil, nil
	failing := small(2)
	for i := range failing.scores {
		failing.scores[i].Value = 0
	}
	return map[string]*fixture{
		"no runs": none, "all faults": faults, "unpriced": unpriced, "unscored": unscored,
		"one task": small(1), "no scorers": unjudged, "no success": failing, "simulated": small(2).simulated(),
	}
}

// small is two configurations on some tasks, one trial, two iterations a run.
func small(tasks int) *fixture {
	f := &fixture{manifest: record.Manifest{
		Suite: "small", Status: record.StateComplete, Tasks: tasks, Trials: 1, Scorers: []string{"right"},
		Configurations: []record.ConfigurationHead{
			{Name: "once", MaxIterations: 1, EffectiveMax: 1}, {Name: "twice", MaxIterations: 2, EffectiveMax: 2},
		},
	}}
	for c := range f.manifest.Configurations {
		for task := range tasks {
			f.play(c, string(rune('a'+task)), 1, 2)
		}
	}
	kept := f.scores[:0]
	for _, s := range f.scores {
		if s.Name == "close" {
			s.Name = "right"
			kept = append(kept, s)
		}
	}
	f.scores = kept
	return f
}

func TestGoldenEdges(t *testing.T) {
	all := edges()
	var out strings.Builder
	for _, name := range []string{
		"no runs", "all faults", "unpriced", "unscored", "one task", "no scorers", "no success", "simulated",
	} {
		out.WriteString("===== " + name + "\n" + pagetest.Written(t, all[name].collect(), page.Options{Width: 100}))
	}
	pagetest.Golden(t, "edges.txt", out.String())
}
