package results

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/spectest"
)

// What followers of results see: their status, and while they run what their command reports, unless that
// is old or cannot be read.
func TestTheStateOfWatchedResults(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	const runs = `["12 of 60 runs","$0.10"]`
	for _, c := range []struct {
		name     string
		manifest string // "": there is none
		progress string // "": there is none
		age      time.Duration
		status   record.State
		says     []string
	}{
		{"running", "running", runs, time.Second, record.StateRunning, []string{"12 of 60 runs", "$0.10"}},
		{"quiet for as long as may be", "running", runs, quietTime, record.StateRunning, []string{"12 of 60 runs", "$0.10"}},
		{"quiet for longer", "running", runs, quietTime + time.Second, record.StateRunning, []string{"no progress since " + now.Add(-quietTime-time.Second).Local().Format(time.TimeOnly)}},
		{"quiet and damaged", "running", "{", quietTime + time.Second, record.StateRunning, []string{"no progress since " + now.Add(-quietTime-time.Second).Local().Format(time.TimeOnly)}},
		{"no progress yet", "running", "", 0, record.StateRunning, []string{}},
		{"damaged progress", "running", `["12 of`, time.Second, record.StateRunning, []string{}},
		{"progress of another form", "running", `{"runs": 12}`, time.Second, record.StateRunning, []string{}},
		{"partly of another form", "running", `["12 of 60 runs", 7]`, time.Second, record.StateRunning, []string{}},
		{"huge progress", "running", runs + strings.Repeat(" ", mostProgress), time.Second, record.StateRunning, []string{}},
		{"progress that is null", "running", `null`, time.Second, record.StateRunning, []string{}},
		{"complete, with progress that was left", "complete", runs, time.Second, record.StateComplete, []string{}},
		{"stopped", "stopped", runs, time.Hour, record.StateStopped, []string{}},
		{"a damaged manifest", "damaged", runs, time.Second, record.StateFailed, []string{}},
		{"no manifest", "", runs, time.Second, record.StateFailed, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			switch c.manifest {
			case "":
			case "damaged":
				spectest.Must(t, os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("{"), 0o644))
			default:
				journal, err := record.Create(dir, record.Manifest{Status: record.State(c.manifest)}, record.Options{})
				if err != nil || journal.Close() != nil {
					t.Fatal("no manifest is written")
				}
			}
			if path := filepath.Join(dir, Progress); c.progress != "" {
				spectest.Must(t, os.WriteFile(path, []byte(c.progress), 0o644))
				if at := now.Add(-c.age); os.Chtimes(path, at, at) != nil {
					t.Fatal("the progress has no time")
				}
			}
			w := &Watched{Places: []*Place{{Results: &record.Results{Path: dir}}}}
			for range 2 { // the second time the manifest is not read
				status, says := w.State(now)
				if status != c.status || says == nil || !slices.Equal(says, c.says) {
					t.Errorf("the status is %q, the progress %#v, want %q and %#v", status, says, c.status, c.says)
				}
			}
		})
	}
}

// A baseline is complete, whatever lies beside it.
func TestTheStateOfABaseline(t *testing.T) {
	dir := t.TempDir()
	j, err := record.Create(dir, record.Manifest{Version: record.Version, Status: record.StateRunning, Configurations: []record.ConfigurationHead{{Name: "a"}}}, record.Options{})
	spectest.Must(t, err)
	run := &record.Run{Version: record.Version, ID: "a/t/1", Configuration: "a", Task: "t", Trial: 1, Outcome: record.Outcome{Status: record.Completed}}
	spectest.Must(t, errors.Join(j.Append(run, nil, nil), j.Close()))
	from, err := record.Open(dir)
	spectest.Must(t, err)
	path := filepath.Join(t.TempDir(), "base.jsonl")
	file, err := os.Create(path)
	spectest.Must(t, err)
	spectest.Must(t, errors.Join(record.WriteBaseline(file, from, record.BaselineOptions{}), file.Close()))
	base, err := record.Open(path)
	spectest.Must(t, err)
	KeepProgress(filepath.Dir(path), []string{"1 of 2 runs"}, func(text []byte) []byte { return text })
	w := &Watched{Places: []*Place{{Results: from}, {Results: base}}}
	if status, says := w.State(time.Now()); status != record.StateComplete || says == nil || len(says) > 0 {
		t.Errorf("the status is %q, the progress %#v", status, says)
	}
	w.Places = w.Places[:1]
	KeepProgress(dir, []string{"1 of 2 runs"}, func(text []byte) []byte { return text })
	if status, says := w.State(time.Now()); status != record.StateRunning || !slices.Equal(says, []string{"1 of 2 runs"}) {
		t.Errorf("the status of the folder is %q, its progress %#v", status, says)
	}
}
