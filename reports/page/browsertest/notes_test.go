package browsertest

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

// noted has runs with faults, that failed, without times, that could not be judged, and about which
// judges disagree.
func noted() suite {
	s := usual()
	s.change = func(run *record.Run, n int) {
		switch {
		case n%8 == 1:
			run.Outcome = record.Outcome{Status: record.Faulted, Class: record.ByFault, Reason: record.ReasonError, Error: &record.Error{Class: record.RateLimit, Message: "slow down"}}
		case n%5 == 4:
			run.Outcome.Error = &record.Error{Class: "agent", Message: "gave up"}
		}
		run.Untimed = n%6 == 0 && run.Configuration == s.configurations[1]
	}
	s.judge = func(score *record.Score, n int) {
		if n%7 == 0 {
			score.Value, score.Unscored = 0, "no answer"
		}
	}
	s.votes = func(n int) []record.Vote {
		return []record.Vote{{Judge: "a", Criterion: "x", Value: float64(n % 2)}, {Judge: "b", Criterion: "x", Value: 1}}
	}
	return s
}

// countedRuns is how many runs a footnote is about.
var countedRuns = regexp.MustCompile(`(\d+) of \d+ runs`)

// Footnotes that count runs of a configuration lead to just these.
func TestFootnotesLeadToTheirRuns(t *testing.T) {
	base, newer := noted().folder(t), noted()
	newer.tasks = 33
	for name, c := range map[string]struct {
		page  string
		links int
	}{"report": {write(t, base), 7}, "diff": {write(t, base+":base", newer.folder(t)+":new"), 4}} {
		b := open(t, c.page, "")
		all := b.followed("#notes li")
		for _, at := range all {
			said := countedRuns.FindStringSubmatch(at.Note)
			switch {
			case at.Runs == 0:
				t.Errorf("%s: %s of %q leads to no run", name, at.Hash, at.Note)
			case said != nil && said[1] != strconv.Itoa(at.Runs):
				t.Errorf("%s: %s leads to %d runs: %s", name, at.Hash, at.Runs, at.Note)
			}
		}
		if len(all) < c.links {
			t.Errorf("%s: %d links in notes, want %d: %s", name, len(all), c.links, b.text(`document.querySelector("#notes").textContent`))
		}
	}
}
