package record

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

// baselineFolder holds two configurations, a fault, an unscored run, and one
// run that another version of the scorer judged.
func baselineFolder(t testing.TB, shuffled bool) string {
	t.Helper()
	dir := t.TempDir()
	must(t, errors.Join(os.MkdirAll(filepath.Join(dir, "spec", "1"), 0o755), os.WriteFile(filepath.Join(dir, "spec", "1", "suite.yaml"), []byte("suite: sample\n"), 0o600)))
	j, err := Create(dir, Manifest{
		Suite: "sample", SpecHash: "5ec", Specs: []Spec{{Dir: "spec/1", Suite: "suite.yaml", Files: map[string]string{"suite.yaml": FileHash([]byte("suite: sample\n"))}}}, Status: StateComplete,
		Configurations: []ConfigurationHead{{Name: "default", Aliases: []string{"also"}, Loop: "0123456789abcdef"}, {Name: "other", Loop: "feed"}},
		Baseline:       "default", Tasks: 3, Trials: 1, Scorers: []string{"exact"}, Totals: Totals{Planned: 6},
	}, Options{})
	must(t, err)
	order := []int{0, 1, 2, 3}
	if shuffled {
		slices.Reverse(order)
	}
	for _, n := range order {
		run := sampleRun(n, 1+n%3)
		scores := sampleScores(run)
		switch n {
		case 1:
			run.Cluster = "hard"
			scores[0].Unscored = "the judge said: secret words"
			scores = append(scores, Score{Name: "extra", Value: 0.25, Scorer: "e"})
		case 2:
			run.Outcome = Outcome{Status: Faulted, Class: ByFault, Reason: ReasonError, Error: &Error{Class: RateLimit, Message: "slow down"}}
			for i := range run.Iterations { // evaluated, but nothing is returned
				run.Iterations[i].Error = &Error{Class: CallTimeout}
			}
		case 3:
			run.Configuration, run.ID, run.Loop = "other", RunID("other", run.Task, 1), "beef"
			scores[0].Scorer = "newer"
		}
		must(t, j.Append(run, scores, nil))
	}
	first := sampleRun(0, 1).ID // is judged again, later
	must(t, errors.Join(
		j.AppendScores(first, []Score{{Name: "exact", Value: 0.25, Scorer: "newest"}, {Name: "gone", Value: 1}}, nil),
		j.AppendScores(first, []Score{{Name: "gone", Removed: true}}, nil), j.Close()))
	return dir
}

// written is the folder as a baseline.
func written(t testing.TB, dir string, options BaselineOptions) string {
	t.Helper()
	results, err := Open(dir)
	must(t, err)
	var b bytes.Buffer
	must(t, WriteBaseline(&b, results, options))
	return b.String()
}

// reopened writes a text to a file and opens it.
func reopened(t testing.TB, text string) (*Results, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "b.jsonl")
	must(t, os.WriteFile(path, []byte(text), 0o644))
	return Open(path)
}

func TestBaselineIsWhatReportsReadOfAFolder(t *testing.T) {
	dir := baselineFolder(t, false)
	folder, err := Open(dir)
	if err != nil || folder.Baseline() {
		t.Fatal(folder, err)
	}
	file, err := reopened(t, written(t, dir, BaselineOptions{}))
	if err != nil || !file.Baseline() {
		t.Fatal(file, err)
	}
	var want []*Run
	for s := range folder.Runs() {
		for i := range s.Iterations {
			it := &s.Iterations[i]
			kept := Iteration{N: it.N, Digest: &Digest{}}
			if e := it.Evaluation; e != nil {
				kept.Evaluation = &Evaluation{Confidence: e.Confidence, Passed: e.Passed}
			}
			if it.Error != nil {
				kept.Fail(&Error{it.Error.Class, textHash(string(it.Error.Class) + ": ")})
			}
			*it = kept
		}
		s.Volatile = Volatile{}
		want = append(want, s)
	}
	got, _ := collected(t, file.Runs())
	byID := func(a, b *Run) int { return strings.Compare(a.ID, b.ID) }
	slices.SortFunc(got, byID)
	slices.SortFunc(want, byID)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("signals\n got %+v\nwant %+v", got, want)
	}
	scores, _ := collected(t, file.Scores())
	if want := []Score{
		{Run: "default/task-0/1", Name: "exact", Value: 0.25, Scorer: "newest"},
		{Run: "default/task-1/1", Name: "exact", Unscored: unscoredInBaseline, Scorer: "0011223344556677"},
		{Run: "default/task-1/1", Name: "extra", Value: 0.25, Scorer: "e"},
		{Run: "other/task-3/1", Name: "exact", Value: 1, Scorer: "newer"},
	}; !reflect.DeepEqual(scores, want) {
		t.Errorf("scores\n got %+v\nwant %+v", scores, want)
	}
	m := folder.Manifest
	m.Volatile, m.Brief = ManifestVolatile{}, true
	m.Totals = Totals{Planned: 6, Completed: 3, Faults: 1, Usage: file.Manifest.Totals.Usage}
	if !reflect.DeepEqual(file.Manifest, m) {
		t.Errorf("manifest\n got %+v\nwant %+v", file.Manifest, m)
	}
}

func TestBaselineHasTheSameBytesInAnyOrderAndNoTexts(t *testing.T) {
	one, other := written(t, baselineFolder(t, false), BaselineOptions{}), written(t, baselineFolder(t, true), BaselineOptions{})
	if one != other {
		t.Errorf("the order of the runs shows:\n%s\n%s", one, other)
	}
	for _, text := range []string{"The answer is 42", "fine", "secret words", "slow down", "started", `"answer"`} {
		if strings.Contains(one, text) {
			t.Errorf("the baseline holds %q:\n%s", text, one)
		}
	}
	if file, err := reopened(t, one); err != nil {
		t.Error(err)
	} else if again := written(t, file.Path, BaselineOptions{}); again != one {
		t.Errorf("a baseline of a baseline is another one:\n%s\n%s", one, again)
	}
}

func TestBaselineOfSomeConfigurations(t *testing.T) {
	text := written(t, baselineFolder(t, false), BaselineOptions{Configurations: []string{"other"}})
	file, err := reopened(t, text)
	must(t, err)
	m := file.Manifest
	if strings.Count(text, "\n") != 2 || len(m.Configurations) != 1 || m.Baseline != "" || m.Totals.Runs() != 1 || m.Totals.Planned != 3 {
		t.Errorf("%+v of\n%s", m, text)
	}
}

func TestBaselineHidesSecrets(t *testing.T) {
	dir := baselineFolder(t, false)
	hide := func(text []byte) []byte {
		return bytes.ReplaceAll(text, []byte("suite: sample"), []byte("suite: hidden"))
	}
	text := written(t, dir, BaselineOptions{Redact: hide})
	if file, err := reopened(t, text); err != nil || strings.Contains(text, "suite: sample") || !strings.Contains(text, "suite: hidden") ||
		file.Manifest.Specs[0].Files["suite.yaml"] != FileHash([]byte("suite: hidden\n")) {
		t.Errorf("the suite was not redacted: %s, %v", text, err)
	}
	results, _ := Open(dir)
	hide = func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("task-3"), []byte("******")) }
	if err := WriteBaseline(&bytes.Buffer{}, results, BaselineOptions{Redact: hide}); !errors.Is(err, errSecretName) {
		t.Errorf("a task with a secret as its name: %v", err)
	}
}

func TestBaselineOfDamagedResultsIsRefused(t *testing.T) {
	dir := baselineFolder(t, false)
	writeFile(t, dir, scoresFile, bytes.Replace(readFile(t, dir, scoresFile), []byte("0.25"), []byte("0.75"), 1))
	results, _ := Open(dir)
	var damage *Damage
	if err := WriteBaseline(&bytes.Buffer{}, results, BaselineOptions{}); !errors.As(err, &damage) {
		t.Errorf("error %v", err)
	}
}

func TestBaselineOfFaultsOnlyIsRefused(t *testing.T) {
	results, err := Open(baselineFolder(t, false))
	must(t, err)
	var out bytes.Buffer
	if err := WriteBaseline(&out, results, BaselineOptions{Configurations: []string{"none"}}); !errors.Is(err, ErrNoneCounts) || out.Len() > 0 {
		t.Errorf("%v, %d bytes", err, out.Len())
	}
}

func TestBaselineTellsItsDamage(t *testing.T) {
	good := written(t, baselineFolder(t, false), BaselineOptions{})
	lines := strings.SplitAfter(good, "\n")
	with := func(members string) string { return lines[0] + sealed(t, `"v":1,"run":"default/a/1",`+members) }
	for name, c := range map[string]struct {
		text string
		want string // "" for none
		runs int
	}{
		"nothing":            {good, "", 4},
		"carriage returns":   {strings.ReplaceAll(good, "\n", "\r\n"), "", 4},
		"a changed number":   {strings.Replace(good, `"returned":2`, `"returned":1`, 1), "b.jsonl:3: the checksum does not fit", 1},
		"a missing end":      {strings.Join(lines[:3], ""), "b.jsonl:4: it has 2 runs, and its head says 4", 2},
		"a line that is cut": {good[:len(good)-20], "b.jsonl:5: it has 3 runs, and its head says 4", 3},
		"a line twice":       {good + lines[4], "b.jsonl:7: it has 5 runs, and its head says 4", 5},
		"no such iteration":  {with(`"trial":1,"outcome":{"returned":2},"iterations":[{"n":1}]`), "b.jsonl:2: iteration 2 is returned, of 1", 0},
		"a huge trial":       {with(`"trial":4294967297,"outcome":{},"iterations":[]`), "b.jsonl:2: invalid trial 4294967297", 0},
		"a negative cost":    {with(`"trial":1,"outcome":{},"iterations":[],"usage":{"cost_pusd":-1}`), "b.jsonl:2: its usage or time is negative", 0},
		"a conflict":         {lines[0] + "<<<<<<< HEAD\n" + strings.Join(lines[1:], ""), "b.jsonl:2: no checksum", 0},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := reopened(t, c.text)
			must(t, err)
			runs, told := 0, ""
			for _, err := range file.Runs() {
				if err == nil {
					runs++
				} else {
					told = filepath.Base(err.Error())
				}
			}
			if runs != c.runs || !strings.HasPrefix(told, c.want) || (told == "") != (c.want == "") {
				t.Errorf("%d runs and %q, want %d and %q", runs, told, c.runs, c.want)
			}
		})
	}
}

// sealed is a line of these members.
func sealed(t testing.TB, members string) string {
	t.Helper()
	line, err := seal([]byte(lineHead+"{"+members+"}"), 0)
	must(t, err)
	return string(line)
}

func TestOpenSaysWhatIsNoBaseline(t *testing.T) {
	head := `"v":1,"schema":"agentbench/baseline/1","runs":0,"manifest":{}`
	for text, want := range map[string]string{
		"":                "it is empty",
		"suite: x\n":      "line 1: no checksum",
		"{\"crc\":\"0000": "line 1: incomplete line",
		sealed(t, strings.Replace(head, "baseline/1", "baseline/5", 1)): `it has the schema "agentbench/baseline/5", not agentbench/baseline/1`,
		sealed(t, strings.Replace(head, "baseline/1", "baseline/x", 1)): `it has the schema "agentbench/baseline/x"`,
		sealed(t, strings.Replace(head, `"v":1`, `"v":2`, 1)):           "a newer agentbench wrote it (format 2",
		sealed(t, strings.Replace(head, `"v":1`, `"v":0`, 1)):           "an older agentbench wrote it (format 0",
		sealed(t, `"run":"a/b/1"`):                                      "line 1 is not the head of one",
	} {
		_, err := reopened(t, text)
		var none *NoBaseline
		ours := strings.Contains(text, BaselineSchema[:len(BaselineSchema)-1])
		if !errors.As(err, &none) || !strings.HasPrefix(none.What, want) || none.Ours != ours {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
}

func TestManifestsOfOtherVersions(t *testing.T) {
	for text, want := range map[string]string{
		`{"v":2}`: "newer", `{"v":0}`: "older", `{}`: "older",
		`{"v":1,"trials":-4}`: "invalid numbers of tasks", `{"v":1,"tasks":4611686018427387904}`: "invalid numbers of tasks",
	} {
		dir := t.TempDir()
		writeFile(t, dir, manifestFile, sealManifest([]byte(text)))
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Whatever the records say, the baseline says the same, and what it says stays.
func TestBaselineKeepsWhatItIsGiven(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		s := possibleRun(t).Light()
		first := s.withoutCourse()
		line, err := appendLine(nil, &baselineLine{Run: first})
		must(t, err)
		back, err := readLine(line, lightOf)
		must(t, err)
		text := func(s string) string { return string([]rune(s)) } // a badByte for each
		if back.Task != text(s.Task) || back.Usage != s.Usage || back.Judging != s.Judging || back.Elapsed != s.Elapsed || back.Cluster != text(s.Cluster) ||
			len(back.Iterations) != len(s.Iterations) || back.Outcome.Success != s.Outcome.Success {
			t.Fatalf("%+v\nbecomes %+v", s, back)
		}
		again, err := appendLine(nil, &baselineLine{Run: back.withoutCourse()})
		if err != nil || !bytes.Equal(again, line) {
			t.Fatalf("%s\nbecomes %s, %v", line, again, err)
		}
	})
}

func FuzzBaseline(f *testing.F) {
	f.Add([]byte(written(f, baselineFolder(f, false), BaselineOptions{})))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := reopened(t, string(text))
		if err != nil {
			return
		}
		for s, err := range file.Runs() {
			if err == nil && (s.Usage.negative() || s.Trial < 0) {
				t.Errorf("%+v", s)
			}
		}
	})
}
