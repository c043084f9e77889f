package record

import (
	"bytes"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// collected are the values and the problems of a sequence; any other error ends
// the test.
func collected[V any](t testing.TB, seq iter.Seq2[V, error]) (values []V, problems []*Problem) {
	t.Helper()
	for v, err := range seq {
		var p *Problem
		switch {
		case errors.As(err, &p):
			problems = append(problems, p)
		case err != nil:
			t.Fatal(err)
		default:
			values = append(values, v)
		}
	}
	return values, problems
}

func ids(signals []*Signals) []string {
	list := []string{}
	for _, s := range signals {
		list = append(list, s.ID)
	}
	return list
}

func readFile(t testing.TB, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writeFile(t testing.TB, dir, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAFolderIsReadAsItWasWritten(t *testing.T) {
	dir := sampleFolder(t, 5)
	runs, problems := collected(t, ReadRuns(dir))
	signals, more := collected(t, ReadSignals(dir))
	scores, evenMore := collected(t, ReadScores(dir))
	if len(problems)+len(more)+len(evenMore) > 0 {
		t.Fatal(problems, more, evenMore)
	}
	if len(runs) != 5 || len(signals) != 5 || len(scores) != 5 {
		t.Fatalf("%d runs, %d signals, %d scores", len(runs), len(signals), len(scores))
	}
	for n, run := range runs {
		want := sampleRun(n, 1+n%3)
		if !reflect.DeepEqual(run, want) {
			t.Errorf("run %d: %+v", n, run)
		}
		wantSignals := want.Signals()
		if !reflect.DeepEqual(signals[n], &wantSignals) {
			t.Errorf("signals %d: %+v\nwant %+v", n, signals[n], wantSignals)
		}
		if !reflect.DeepEqual(scores[n], sampleScores(want)[0]) {
			t.Errorf("score %d: %+v", n, scores[n])
		}
	}
}

// Records whose checksum fits and whose numbers nobody can have are damage: they are left out and told.
func TestImpossibleRecordsAreDamage(t *testing.T) {
	for name, c := range map[string]struct{ was, is, want string }{
		"a huge trial":         {`"trial":1`, `"trial":4294967297`, "invalid trial 4294967297"},
		"negative tokens":      {`"input_tokens":100`, `"input_tokens":-100`, "its usage or time is negative"},
		"a negative call":      {`"usage":{"calls":1,"input_tokens":100`, `"usage":{"calls":-1,"input_tokens":100`, "its usage or time is negative"},
		"another iteration":    {`"returned":2`, `"returned":4`, "iteration 4 is returned, of 2"},
		"no iteration that is": {`"returned":2`, `"returned":-4`, "iteration -4 is returned, of 2"},
	} {
		dir := sampleFolder(t, 4)
		lines := bytes.SplitAfter(readFile(t, dir, recordsFile), []byte("\n"))
		object := bytes.Replace(lines[1], []byte(c.was), []byte(c.is), -1)
		if bytes.Equal(object, lines[1]) {
			t.Fatalf("%s: nothing to change in %s", name, object)
		}
		_, members, _ := bytes.Cut(bytes.TrimSuffix(object, []byte("}\n")), []byte(`",`))
		lines[1] = []byte(sealed(t, string(members)))
		writeFile(t, dir, recordsFile, bytes.Join(lines, nil))
		got, problems := collected(t, ReadSignals(dir))
		if len(got) != 3 || len(problems) != 1 || problems[0].Line != 2 || problems[0].What != c.want {
			t.Errorf("%s: %v, %v", name, ids(got), problems)
		}
	}
}

// Scores whose checksum fits and whose numbers nobody can have are damage to all
// who read them, and take no memory; compacting leaves them out.
func TestImpossibleScoresAreDamage(t *testing.T) {
	for members, want := range map[string]string{
		`"iteration":4611686018427387904`:        "invalid iteration 4611686018427387904",
		`"iteration":1000000000`:                 "invalid iteration 1000000000",
		`"iteration":-1`:                         "invalid iteration -1",
		`"usage":{"calls":-1}`:                   "its usage or time is negative",
		`"usage":{"calls":1,"input_tokens":-50}`: "its usage or time is negative",
	} {
		dir := sampleFolder(t, 1)
		before := readFile(t, dir, scoresFile)
		line := sealed(t, `"run":"default/task-1/1","scores":[{"name":"close","value":1,`+members+`}]`)
		writeFile(t, dir, scoresFile, append([]byte(line), before...))
		told := func(err error) {
			if problem := (*Problem)(nil); !errors.As(err, &problem) || problem.What != want || problem.Line != 1 {
				t.Errorf("%s: %v, want %s", members, err, want)
			}
		}
		for _, err := range ReadScores(dir) {
			told(err)
			break
		}
		for _, err := range ReadScored(dir) {
			if want != errNegative.Error() { // of usage the heads know nothing
				told(err)
			}
			break
		}
		done, err := CompactScores(dir, Options{})
		if err != nil || len(done.Damage) != 1 || !bytes.Equal(readFile(t, dir, scoresFile), before) {
			t.Errorf("%s: compacting: %v, %v\n%s", members, done, err, readFile(t, dir, scoresFile))
		}
	}
}

func TestF2_EveryCutOfTheRecordsLosesAtMostTheLastRecord(t *testing.T) {
	dir := emptyRuns(t, 5)
	want, _ := collected(t, ReadRuns(dir))
	whole := readFile(t, dir, recordsFile)
	for cut := range len(whole) + 1 {
		writeFile(t, dir, recordsFile, whole[:cut])
		lines := bytes.Count(whole[:cut], []byte{'\n'})
		torn := cut > 0 && whole[cut-1] != '\n'
		runs, problems := collected(t, ReadRuns(dir))
		if len(runs) != lines || lines > 0 && !reflect.DeepEqual(runs, want[:lines]) {
			t.Fatalf("cut to %d bytes: %d runs instead of %d", cut, len(runs), lines)
		}
		if torn != (len(problems) == 1 && problems[0].Torn) || !torn && len(problems) > 0 {
			t.Fatalf("cut to %d bytes: problems %v", cut, problems)
		}
	}
}

func TestF2_EveryFlippedBitOfTheRecordsIsReported(t *testing.T) {
	dir := emptyRuns(t, 5)
	want, _ := collected(t, ReadRuns(dir))
	whole := readFile(t, dir, recordsFile)
	for bit := 0; bit < len(whole)*8; bit++ {
		flipped := bytes.Clone(whole)
		flipped[bit/8] ^= 1 << (bit % 8)
		seq := walk(recordsFile, bytes.NewReader(flipped), place{}, reading[struct{}])
		objects, problems := collected(t, seq)
		if len(problems) != 1 || len(objects) < 3 {
			t.Fatalf("bit %d: %d good lines, problems %v", bit, len(objects), problems)
		}
		if bit%97 == 0 { // decoding all would take a minute
			writeFile(t, dir, recordsFile, flipped)
			expectSome(t, dir, want)
		}
	}
}

// emptyRuns is a folder whose records are short: every byte of them is tried.
func emptyRuns(t *testing.T, runs int) string {
	t.Helper()
	dir := t.TempDir()
	var lines []byte
	for n := range runs {
		run := &Run{Version: Version, ID: RunID("c", strconv.Itoa(n), 1), Outcome: Outcome{Status: Completed}}
		var err error
		if lines, err = appendRun(lines, run); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, dir, recordsFile, lines)
	return dir
}

// expectSome fails for a run that was never written.
func expectSome(t *testing.T, dir string, want []*Run) {
	t.Helper()
	runs, _ := collected(t, ReadRuns(dir))
	for _, run := range runs {
		known := false
		for _, w := range want {
			known = known || reflect.DeepEqual(run, w)
		}
		if !known {
			t.Fatalf("a wrong record was accepted: %+v", run)
		}
	}
}

func TestAProblemNamesThePlace(t *testing.T) {
	dir := sampleFolder(t, 4)
	whole := readFile(t, dir, recordsFile)
	first := bytes.IndexByte(whole, '\n') + 1
	second := first + bytes.IndexByte(whole[first:], '\n') + 1
	third := second + bytes.IndexByte(whole[second:], '\n') + 1
	whole[first+100] ^= 1
	whole[second+100] ^= 1
	writeFile(t, dir, recordsFile, whole)
	_, problems := collected(t, ReadRuns(dir))
	want := &Problem{
		File: recordsFile, Line: 2, Lines: 2, Offset: int64(first), Bytes: int64(third - first),
		What: errChecksum.Error(),
	}
	if len(problems) != 1 || *problems[0] != *want {
		t.Fatalf("problems %+v\nwant %+v", problems, want)
	}
}

func TestLinesOfANewerVersionAreReported(t *testing.T) {
	dir := sampleFolder(t, 1)
	run := sampleRun(9, 1)
	run.Version = Version + 1
	line, err := appendRun(nil, run)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, recordsFile, append(readFile(t, dir, recordsFile), line...))
	for _, count := range []func() (int, []*Problem){
		func() (int, []*Problem) { v, p := collected(t, ReadRuns(dir)); return len(v), p },
		func() (int, []*Problem) { v, p := collected(t, ReadSignals(dir)); return len(v), p },
	} {
		if n, problems := count(); n != 1 || len(problems) != 1 || problems[0].Torn {
			t.Errorf("%d runs, problems %v", n, problems)
		}
	}
}

func TestOfARunThatWasTriedAgainTheLastRecordCounts(t *testing.T) {
	dir := t.TempDir()
	j, err := Create(dir, Manifest{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	appendStatus := func(number int, status Status) {
		run := sampleRun(number, 1)
		run.Outcome.Status = status
		if err := j.Append(run, sampleScores(run), nil); err != nil {
			t.Fatal(err)
		}
	}
	appendStatus(1, Faulted)
	appendStatus(2, Completed)
	appendStatus(1, Cancelled)
	appendStatus(3, Cancelled)
	appendStatus(1, Failed)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	type end struct {
		id     string
		status Status
	}
	want := []end{{"default/task-2/1", Completed}, {"default/task-3/1", Cancelled}, {"default/task-1/1", Failed}}
	runs, _ := collected(t, ReadRuns(dir))
	signals, _ := collected(t, ReadSignals(dir))
	var fromRuns, fromSignals []end
	for i := range runs {
		fromRuns = append(fromRuns, end{runs[i].ID, runs[i].Outcome.Status})
		fromSignals = append(fromSignals, end{signals[i].ID, signals[i].Outcome.Status})
	}
	if !reflect.DeepEqual(fromRuns, want) || !reflect.DeepEqual(fromSignals, want) {
		t.Errorf("runs %v, signals %v, want %v", fromRuns, fromSignals, want)
	}
	if scores, _ := collected(t, ReadScores(dir)); len(scores) != 2 {
		t.Errorf("scores of runs that do not count: %v", scores)
	}
	if run, err := Find(dir, "default/task-1/1"); err != nil || run.Outcome.Status != Failed {
		t.Errorf("found %v, %v", run, err)
	}
}

func TestFind(t *testing.T) {
	dir := sampleFolder(t, 5)
	for n := range 5 {
		want := sampleRun(n, 1+n%3)
		if got, err := Find(dir, want.ID); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("found %+v, %v", got, err)
		}
	}
	if _, err := Find(dir, "default/task-9/1"); !errors.Is(err, ErrNoRun) {
		t.Errorf("found what is not there: %v", err)
	}
}

func TestAFolderWithoutResults(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		for _, err := range ReadRuns(dir) {
			if !errors.Is(err, os.ErrNotExist) {
				t.Errorf("runs: %v", err)
			}
		}
	}
	errs := 0
	for _, err := range ReadSignals(dir) {
		errs++
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("signals: %v", err)
		}
	}
	if scores, _ := collected(t, ReadScores(dir)); errs != 1 || len(scores) != 0 {
		t.Errorf("%d errors, %d scores", errs, len(scores))
	}
}

func TestManifestsAreReadAsTheyWereWritten(t *testing.T) {
	dir := t.TempDir()
	want := Manifest{
		Version: Version, Suite: "coach", Agentbench: "1.0", SpecHash: "0123", Seed: 7, Status: StateRunning,
		Configurations: []ConfigurationHead{{
			Name: "default", Aliases: []string{"same"}, Loop: "ab", MaxIterations: 5, EffectiveMax: 6,
			Params: []Param{{Path: "terminate.max_iterations", Value: []byte("5")}},
			Phases: []PhaseHead{{Name: "planning", Limit: 2}},
		}},
		Tasks: 3, Trials: 2, Scorers: []string{"close"}, Simulated: []string{"analyst"},
		Volatile: ManifestVolatile{Started: time.Unix(1e9, 0).UTC()},
	}
	j, err := Create(dir, want, Options{})
	if err != nil {
		t.Fatal(err)
	}
	expectManifest(t, dir, want)
	want.Status = StateComplete
	run := sampleRun(1, 2)
	want.Totals.Add(run.Outcome.Status, run.Usage, run.Judging, run.User)
	if err := errors.Join(j.WriteManifest(want), j.Close()); err != nil {
		t.Fatal(err)
	}
	expectManifest(t, dir, want)
	if want.Totals.Runs() != 1 || want.Totals.Usage.Calls != 2 {
		t.Errorf("totals %+v", want.Totals)
	}
}

func expectManifest(t *testing.T, dir string, want Manifest) {
	t.Helper()
	got, err := ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	got.Configurations[0].Params[0].Value = Canonical(got.Configurations[0].Params[0].Value)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v\nwrote %+v", got, want)
	}
}

// F2: any bit of a manifest that flips is told, and any end that is missing; damage to
// the words around the digest alone changes nothing, and leaves a manifest without
// a digest.
func TestF2_EveryFlippedBitOfTheManifestIsTold(t *testing.T) {
	dir := emptyFolder(t)
	want, err := ReadManifest(dir)
	must(t, err)
	text := readFile(t, dir, manifestFile)
	f, err := os.OpenFile(filepath.Join(dir, manifestFile), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	unsealed := 0
	for i := range text {
		for bit := range 8 {
			_, err := f.WriteAt([]byte{text[i] ^ 1<<bit}, int64(i))
			must(t, err)
			got, err := ReadManifest(dir)
			if err != nil {
				continue
			}
			if unsealed++; !got.Unsealed {
				t.Fatalf("bit %d of byte %d: not a word", bit, i)
			}
			if got.Unsealed = false; !reflect.DeepEqual(got, want) {
				t.Fatalf("bit %d of byte %d: read %+v, want %+v", bit, i, got, want)
			}
		}
		_, err := f.WriteAt(text[i:i+1], int64(i))
		must(t, err)
	}
	if unsealed > 8*len(`"digest"`) {
		t.Errorf("%d of %d flips are only told", unsealed, 8*len(text))
	}
	for cut := len(text) - 1; cut >= 0; cut-- {
		must(t, f.Truncate(int64(cut)))
		if m, err := ReadManifest(dir); err == nil {
			t.Fatalf("cut at %d: %+v", cut, m)
		}
	}
	var damaged *DamagedManifest
	writeFile(t, dir, manifestFile, bytes.Replace(text, []byte("\n  "), []byte("\n    "), 1))
	if _, err := ReadManifest(dir); !errors.As(err, &damaged) {
		t.Errorf("written again by something else: %v", err)
	}
}

// A damaged manifest is restored from its copy, and one without a digest gets one.
func TestRepairOfManifests(t *testing.T) {
	dir := sampleFolder(t, 2)
	text := readFile(t, dir, manifestFile)
	want, err := ReadManifest(dir)
	must(t, err)
	for name, damaged := range map[string][]byte{
		"flipped": flipBit(text, 40, 0), "cut": text[:100], "empty": {}, "gone": nil,
	} {
		if writeFile(t, dir, manifestFile, damaged); damaged == nil {
			must(t, os.Remove(filepath.Join(dir, manifestFile)))
		}
		found, err := Inspect(dir)
		if err != nil || found.Manifest == nil || found.Whole() || !bytes.Equal(readFileOrNone(dir, manifestFile), damaged) {
			t.Fatalf("%s: found %+v, %v", name, found, err)
		}
		if found, err = Repair(dir, Options{}); err != nil || found.Manifest == nil || found.Kept != 2 {
			t.Fatalf("%s: repaired %+v, %v", name, found, err)
		}
		if got, err := ReadManifest(dir); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read %+v, %v, want %+v", name, got, err, want)
		}
	}
	writeFile(t, dir, manifestFile, flipBit(text, 40, 0))
	writeFile(t, dir, manifestCopy, flipBit(text, 50, 0))
	var damage *DamagedManifest
	if _, err := Repair(dir, Options{}); !errors.As(err, &damage) {
		t.Errorf("without a copy: %v", err)
	}
	digest := regexp.MustCompile(`,?\n *"digest": "[^"]*"`)
	writeFile(t, dir, manifestFile, digest.ReplaceAll(text, nil))
	if m, err := ReadManifest(dir); err != nil || !m.Unsealed {
		t.Fatalf("without a digest: %+v, %v", m, err)
	}
	if found, err := Repair(dir, Options{}); err != nil || !found.Whole() || !found.Unsealed {
		t.Errorf("%+v, %v", found, err)
	}
	if m, err := ReadManifest(dir); err != nil || m.Unsealed {
		t.Errorf("sealed: %+v, %v", m, err)
	}
}

// readFileOrNone is nil where there is no file.
func readFileOrNone(dir, name string) []byte {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil
	}
	return text
}
