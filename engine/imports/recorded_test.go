package imports_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/spec"
)

// mapping loads a mapping that ships.
func mapping(t testing.TB, name string) *spec.Import {
	t.Helper()
	d, faults := spec.Load(filepath.Join("../../suites/mappings", name+".yaml"), spec.Options{})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return d.Import
}

// read reads files, of which everything must be readable.
func read(t testing.TB, im *imports.Importer, files ...string) []*imports.Imported {
	t.Helper()
	var all []*imports.Imported
	for _, path := range files {
		f, err := os.Open(path)
		must(t, err)
		defer f.Close()
		for imported, err := range im.Read(filepath.Base(path), f) {
			must(t, err)
			all = append(all, imported)
		}
	}
	return all
}

// mean is that of a score of the runs, and how many runs have it.
func mean(all []*imports.Imported, name string) (sum float64, n int) {
	for _, i := range all {
		at := slices.IndexFunc(i.Scores, func(s record.Score) bool { return s.Name == name && s.Iteration == 0 })
		if at >= 0 && i.Scores[at].Unscored == "" {
			sum, n = sum+i.Scores[at].Value, n+1
		}
	}
	return sum, n
}

func iterations(all []*imports.Imported) (n int) {
	for _, i := range all {
		n += len(i.Run.Iterations)
	}
	return n
}

func distinct(all []*imports.Imported) int {
	ids := map[string]bool{}
	for _, i := range all {
		ids[i.Run.ID] = true
	}
	return len(ids)
}

// The published numbers are in the README of the recorded runs.
func TestInterCodeSQL(t *testing.T) {
	im := imports.New(mapping(t, "intercode"))
	all := read(t, im, recordingtest.File(t, "intercode/ic_sql_multiturn_gpt-4_10_turns.json"))
	solved, n := mean(all, "solved")
	if n != 1034 || solved != 762 || iterations(all) != 5867 || distinct(all) != 1034 {
		t.Errorf("%v of %d solved, %d turns, %d ids", solved, n, iterations(all), distinct(all))
	}
	cut := 0
	for _, i := range all {
		if i.Run.Outcome.Reason == record.ReasonMaxIterations {
			cut++
		} else if i.Run.Outcome.Reason != record.ReasonPassed {
			t.Fatalf("%s: %+v", i.Run.ID, i.Run.Outcome)
		}
	}
	if cut != 272 || im.Notes().Contradicted != 0 {
		t.Errorf("%d runs were cut at 10 turns; %+v", cut, im.Notes())
	}
}

func TestInterCodeBashHasTheSameIDsInEveryFile(t *testing.T) {
	var files []string
	for _, n := range []string{"1", "2", "3", "4"} {
		files = append(files, recordingtest.File(t, "intercode/ic_bash_multiturn_gpt-4_10_turns_fs_"+n+".json"))
	}
	im := imports.New(mapping(t, "intercode"))
	all := read(t, im, files...)
	solved, n := mean(all, "solved")
	if n != 200 || solved != 97 || iterations(all) != 1176 || distinct(all) != 200 || im.Notes().Renamed != 0 {
		t.Errorf("%v of %d solved, %d turns, %d ids, %+v", solved, n, iterations(all), distinct(all), im.Notes())
	}
}

func TestTauBench(t *testing.T) {
	im := imports.New(mapping(t, "tau-bench"))
	all := read(t, im, recordingtest.File(t, "taubench/gpt-4o-airline.json"))
	reward, n := mean(all, "reward")
	if n != 200 || reward != 84 || iterations(all) != 2454 || distinct(all) != 200 {
		t.Errorf("%v of %d, %d steps, %d ids", reward, n, iterations(all), distinct(all))
	}
	first := all[0].Run
	if said := string(first.Iterations[0].Output) + string(first.Extra); !strings.Contains(said, `"user":["Sure`) || !strings.Contains(said, `"opening":["Hi!`) {
		t.Errorf("the customer's turns: %s", said)
	}
	unfinished := 0
	for _, i := range all {
		if i.Run.Outcome.Reason == record.ReasonMaxIterations {
			unfinished++
		}
		if i.Run.Usage.Priced() {
			t.Fatalf("%s has a price", i.Run.ID)
		}
	}
	if unfinished != 5 || im.Notes().Contradicted != 0 {
		t.Errorf("%d unfinished; %+v", unfinished, im.Notes())
	}
}

func TestTau2(t *testing.T) {
	im := imports.New(mapping(t, "tau2"))
	all := read(t, im, recordingtest.File(t, "tau2/claude-sonnet-4-5_airline.json"))
	reward, n := mean(all, "reward")
	var used record.Usage
	for _, i := range all {
		used = used.Plus(i.Run.Usage)
		if !i.Run.Usage.Priced() || i.Run.Outcome.Reason != record.ReasonUserEnded {
			t.Fatalf("%s: %+v %+v", i.Run.ID, i.Run.Usage, i.Run.Outcome)
		}
	}
	if n != 50 || reward != 36 || iterations(all) != 517 || used.Cost != 50*288_864_960_000 || used.Tokens() != 4_033_552 || used.Estimated != 0 {
		t.Errorf("%v of %d, %d steps, %+v", reward, n, iterations(all), used)
	}
}
