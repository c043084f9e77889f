package record

import (
	"bytes"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// aSnapshot is one that counts.
func aSnapshot(run string, step int, key string, solved float64) Snapshot {
	return Snapshot{
		Run: run, Iteration: 1, Key: key, Steps: []int{step}, Evaluator: "e", Evaluation: &Evaluation{Feedback: "not ok"}, Took: 7,
		Scores: []Score{{Run: run, Name: "solved", Iteration: 1, Value: solved, Scorer: "1"}},
	}
}

func addSnapshots(t *testing.T, dir, run string, o Options, all ...Snapshot) {
	t.Helper()
	o.Delay = soon
	j, _, err := OpenScores(dir, o)
	must(t, err)
	must(t, errors.Join(j.AppendSnapshots(run, all, nil), j.Close()))
}

// snapshotsOf are those of a run that count.
func snapshotsOf(t *testing.T, dir, run string) (all []Snapshot) {
	t.Helper()
	all, _ = collected(t, ReadSnapshots(dir))
	return StandingSnapshots(slices.DeleteFunc(all, func(s Snapshot) bool { return s.Run != run }))
}

// What was found of states stands beside the scores of runs, and is none of them.
func TestSnapshotsAreNoScoresOfRuns(t *testing.T) {
	dir, run := sampleFolder(t, 2), sampleRun(0, 1).ID
	before := standing(t, dir)
	addSnapshots(t, dir, run, Options{}, aSnapshot(run, 2, "k", 0), aSnapshot(run, 3, "k2", 1))
	addSnapshots(t, dir, run, Options{}, aSnapshot(run, 2, "k", 1))
	if after := standing(t, dir); !reflect.DeepEqual(before, after) {
		t.Errorf("scores of runs were %+v, and are %+v", before, after)
	}
	want := []Snapshot{aSnapshot(run, 2, "k", 1), aSnapshot(run, 3, "k2", 1)}
	if got := snapshotsOf(t, dir, run); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v count, want %+v", got, want)
	}
	before = standing(t, dir)
	if _, err := CompactScores(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(want) // the last one that was found comes last
	if got := snapshotsOf(t, dir, run); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(standing(t, dir), before) {
		t.Errorf("compacted, %+v count, want %+v", got, want)
	}
	if text := readFile(t, dir, scoresFile); bytes.Count(text, []byte(`"k"`)) != 1 {
		t.Errorf("%s", text)
	}
}

func TestSnapshotsHoldNoSecrets(t *testing.T) {
	dir, run := sampleFolder(t, 1), sampleRun(0, 1).ID
	one := aSnapshot(run, 2, "k", 1)
	one.Evaluation.Feedback, one.Error, one.Scores[0].Explanation = "has s3cret", &Error{Message: "s3cret"}, "s3cret, too"
	hide := func(text []byte) []byte { return []byte(strings.ReplaceAll(string(text), "s3cret", "***")) }
	addSnapshots(t, dir, run, Options{Redact: hide}, one)
	if text := string(readFile(t, dir, scoresFile)); strings.Contains(text, "s3cret") || strings.Count(text, "***") != 3 {
		t.Error(text)
	}
	if one.Evaluation.Feedback != "has s3cret" {
		t.Error("what was given is changed")
	}
}

func TestMergeKeepsSnapshots(t *testing.T) {
	home, run := t.TempDir(), sampleRun(1, 1).ID
	one, two, out := filepath.Join(home, "one"), filepath.Join(home, "two"), filepath.Join(home, "out")
	shardFolder(t, one, 1, 2, 1, 2, []attempt{attemptAt(1, 1, Completed)})
	shardFolder(t, two, 2, 2, 1, 2, []attempt{attemptAt(2, 1, Completed)})
	addSnapshots(t, one, run, Options{}, aSnapshot(run, 2, "k", 1))
	if mergedInto(t, out, one, two); len(snapshotsOf(t, out, run)) != 1 {
		t.Error("snapshots of one part are not merged")
	}
}

// What was found of a lost run goes with it, and of the others stays.
func TestRepairKeepsSnapshotsOfWhatItKeeps(t *testing.T) {
	dir, kept, lost := sampleFolder(t, 5), sampleRun(0, 1).ID, sampleRun(2, 1).ID
	for _, run := range []string{kept, lost} {
		addSnapshots(t, dir, run, Options{}, aSnapshot(run, 2, "k", 1))
	}
	text := readFile(t, dir, recordsFile)
	text[within(2)(bytes.SplitAfter(bytes.Clone(text), []byte{'\n'}))] ^= 1
	writeFile(t, dir, recordsFile, text)
	if _, err := Repair(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := snapshotsOf(t, dir, kept); !reflect.DeepEqual(got, []Snapshot{aSnapshot(kept, 2, "k", 1)}) {
		t.Errorf("of the run that is left there is %+v", got)
	}
	if got := snapshotsOf(t, dir, lost); len(got) > 0 {
		t.Errorf("of the lost run %+v is left", got)
	}
}

func TestSnapshotsThatCannotBeAreRefused(t *testing.T) {
	for name, wrong := range map[string]func(*Snapshot){
		"no iteration":                   func(s *Snapshot) { s.Iteration = 0 },
		"no key":                         func(s *Snapshot) { s.Key = "" },
		"the score of another iteration": func(s *Snapshot) { s.Scores[0].Iteration = 2 },
		"an iteration that no run has":   func(s *Snapshot) { s.Iteration, s.Scores = 1<<40, nil },
	} {
		dir, run := sampleFolder(t, 1), sampleRun(0, 1).ID
		one := aSnapshot(run, 2, "k", 1)
		wrong(&one)
		addSnapshots(t, dir, run, Options{}, one)
		if _, damage := collected(t, ReadSnapshots(dir)); damage == nil {
			t.Errorf("%s: no damage", name)
		}
	}
}
