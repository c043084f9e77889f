package record

import (
	"bytes"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// collected are the values of a sequence, and the damage with which it ends; any other error ends the test.
func collected[V any](t testing.TB, seq iter.Seq2[V, error]) (values []V, damage *Damage) {
	t.Helper()
	for v, err := range seq {
		switch {
		case damage != nil:
			t.Fatal("it does not end with its damage")
		case errors.As(err, &damage):
		case err != nil:
			t.Fatal(err)
		default:
			values = append(values, v)
		}
	}
	return values, damage
}

func ids(signals []*Run) []string {
	list := []string{}
	for _, s := range signals {
		list = append(list, s.ID)
	}
	return list
}

func readFile(t testing.TB, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	must(t, err)
	return text
}

func writeFile(t testing.TB, dir, name string, text []byte) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
}

// stride is how far apart the bytes or bits are that a short test damages; others damage each.
func stride() int {
	if testing.Short() {
		return 7
	}
	return 1
}

func TestAFolderIsReadAsItWasWritten(t *testing.T) {
	dir := sampleFolder(t, 5)
	runs, damage := collected(t, ReadRuns(dir))
	signals, more := collected(t, ReadLight(dir))
	scores, evenMore := collected(t, ReadScores(dir))
	if damage != nil || more != nil || evenMore != nil {
		t.Fatal(damage, more, evenMore)
	}
	all, err := OpenRuns(dir)
	must(t, err)
	defer all.Close()
	n := 0
	for head, err := range all.Heads() {
		must(t, err)
		run, err := all.Read(head.At)
		if err != nil || !reflect.DeepEqual(run, runs[n]) || run.ID != head.ID || run.Task != head.Task || run.Configuration != head.Configuration || run.Trial != head.Trial || len(run.Iterations) != head.Iterations {
			t.Errorf("%+v is the head of %+v, %v", head, run, err)
		}
		n++
	}
	if len(runs) != 5 || len(signals) != 5 || len(scores) != 5 || n != 5 {
		t.Fatalf("%d runs, %d signals, %d scores, %d heads", len(runs), len(signals), len(scores), n)
	}
	for n, run := range runs {
		want := sampleRun(n, 1+n%3)
		if !reflect.DeepEqual(run, want) {
			t.Errorf("run %d: %+v", n, run)
		}
		if !reflect.DeepEqual(signals[n], want.Light()) {
			t.Errorf("light run %d: %+v\nwant %+v", n, signals[n], want.Light())
		}
		if !reflect.DeepEqual(scores[n], sampleScores(want)[0]) {
			t.Errorf("score %d: %+v", n, scores[n])
		}
	}
}

// Records with impossible numbers are damage, even if their checksum fits.
func TestImpossibleRecordsAreDamage(t *testing.T) {
	for name, c := range map[string]struct{ was, is, want string }{
		"a newer version":      {`"v":1`, `"v":2`, "a newer agentbench wrote it (format 2, this one knows 1)"},
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
		for _, read := range []func(string) iter.Seq2[*Run, error]{ReadRuns, ReadLight} {
			got, damage := collected(t, read(dir))
			if len(got) != 1 || damage == nil || *damage != (Damage{filepath.Join(dir, recordsFile), 2, c.want}) {
				t.Errorf("%s: %v, %v", name, ids(got), damage)
			}
		}
	}
}

// Scores with impossible numbers are damage, even if their checksum fits, to all
// who read them, and take no memory.
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
			if damage := (*Damage)(nil); !errors.As(err, &damage) || damage.What != want || damage.Line != 1 {
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
		_, err := CompactScores(dir, Options{})
		told(err)
	}
}

func TestF2_EveryCutOfTheRecordsLosesAtMostTheLastRecord(t *testing.T) {
	dir := emptyRuns(t, 5)
	want, _ := collected(t, ReadRuns(dir))
	whole := readFile(t, dir, recordsFile)
	for cut := 0; cut <= len(whole); cut += stride() {
		writeFile(t, dir, recordsFile, whole[:cut])
		lines := bytes.Count(whole[:cut], []byte{'\n'})
		runs, damage := collected(t, ReadRuns(dir))
		if len(runs) != lines || lines > 0 && !reflect.DeepEqual(runs, want[:lines]) {
			t.Fatalf("cut to %d bytes: %d runs instead of %d", cut, len(runs), lines)
		}
		if damage != nil {
			t.Fatalf("cut to %d bytes: %v", cut, damage)
		}
	}
}

func TestF2_EveryFlippedBitOfTheRecordsIsReported(t *testing.T) {
	dir := emptyRuns(t, 5)
	want, _ := collected(t, ReadRuns(dir))
	whole := readFile(t, dir, recordsFile)
	for bit := 0; bit < len(whole)*8; bit += stride() {
		flipped := bytes.Clone(whole)
		flipped[bit/8] ^= 1 << (bit % 8)
		before := bytes.Count(whole[:bit/8], []byte{'\n'})
		objects, damage := collected(t, values(goodLines(recordsFile, bytes.NewReader(flipped), 1, unread)))
		if damage == nil || damage.Line != before+1 || len(objects) != before {
			t.Fatalf("bit %d: %d good lines, %v", bit, len(objects), damage)
		}
		if bit%(97*7) == 0 { // decoding all would take a minute
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
		line, err := lineOfRun(run)
		must(t, err)
		lines = append(lines, line...)
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

func TestOfARunThatWasTriedAgainTheLastRecordCounts(t *testing.T) {
	dir := t.TempDir()
	j, err := Create(dir, Manifest{}, Options{})
	must(t, err)
	appendStatus := func(number int, status Status) {
		run := sampleRun(number, 1)
		run.Outcome.Status = status
		must(t, j.Append(run, sampleScores(run), nil))
	}
	appendStatus(1, Faulted)
	appendStatus(2, Completed)
	appendStatus(1, Cancelled)
	appendStatus(3, Cancelled)
	appendStatus(1, Failed)
	must(t, j.Close())
	type end struct {
		id     string
		status Status
	}
	want := []end{{"default/task-2/1", Completed}, {"default/task-1/1", Failed}, {"default/task-3/1", Cancelled}}
	all, err := OpenRuns(dir)
	must(t, err)
	defer all.Close()
	runs, _ := collected(t, ReadRuns(dir))
	light, _ := collected(t, ReadLight(dir))
	heads, _ := collected(t, all.Heads())
	var got [3][]end
	for i := range runs {
		got[0] = append(got[0], end{runs[i].ID, runs[i].Outcome.Status})
		got[1] = append(got[1], end{light[i].ID, light[i].Outcome.Status})
	}
	for _, head := range heads { // of runs that count
		got[2] = append(got[2], end{head.ID, head.Outcome.Status})
	}
	if !reflect.DeepEqual(got, [3][]end{want, want, want[:2]}) {
		t.Errorf("runs, light ones and heads %v, want %v", got, want)
	}
	if scores, _ := collected(t, ReadScores(dir)); len(scores) != 2 {
		t.Errorf("scores of runs that do not count: %v", scores)
	}
	if run, err := Find(dir, "default/task-1/1"); err != nil || run.Outcome.Status != Failed {
		t.Errorf("found %v, %v", run, err)
	}
	if run, err := all.Run("default/task-1/1"); err != nil || run.Outcome.Status != Failed {
		t.Errorf("read %v, %v", run, err)
	}
}

// F2: every flipped bit of a manifest is reported, and every missing end.
func TestF2_EveryFlippedBitOfTheManifestIsTold(t *testing.T) {
	dir := emptyFolder(t)
	text := readFile(t, dir, manifestFile)
	damaged := func(text []byte) bool {
		writeFile(t, dir, manifestFile, text)
		_, err := ReadManifest(dir)
		damage, is := errors.AsType[*Damage](err)
		return is && damage.File == filepath.Join(dir, manifestFile)
	}
	for bit := 0; bit < 8*len(text); bit += stride() {
		flipped := bytes.Clone(text)
		if flipped[bit/8] ^= 1 << (bit % 8); !damaged(flipped) {
			t.Fatalf("bit %d of byte %d", bit%8, bit/8)
		}
	}
	for cut := 0; cut < len(text); cut += stride() {
		if !damaged(text[:cut]) {
			t.Fatalf("cut at %d", cut)
		}
	}
	must(t, os.Remove(filepath.Join(dir, manifestFile)))
	if _, err := ReadManifest(dir); err == nil || !strings.HasSuffix(err.Error(), "manifest.json: it is missing") {
		t.Errorf("missing beside records: %v", err)
	}
	if _, err := Repair(dir, Options{}); err == nil {
		t.Error("a folder without a manifest was repaired")
	}
}
