package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

// readLine takes a line apart as the readers do.
func readLine[V any](line []byte, read func([]byte) (V, error)) (V, error) {
	object, err := unseal(bytes.TrimSuffix(bytes.Clone(line), []byte{'\n'}))
	if err != nil {
		var none V
		return none, err
	}
	return read(object)
}

// Lines of any length are found where they stand, over any number of batches.
func TestLinesAreWhatLineFeedsPart(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		var text []byte
		var want []string
		for range rapid.IntRange(0, 40).Draw(t, "lines") {
			size := rapid.SampledFrom([]int{1, 100, 10_000, batchSize - 80, 3 * batchSize}).Draw(t, "size")
			line, err := appendLine(nil, map[string]string{"text": strings.Repeat("a", size)})
			must(t, err)
			want, text = append(want, string(line)), append(text, line...)
		}
		last := rapid.SampledFrom([]string{"", "torn"}).Draw(t, "last")
		n, offset := 0, int64(0)
		for l, err := range allLines(bytes.NewReader(append(text, last...)), 1, unread) {
			if err == nil && l.damage == errTorn && last != "" && n == len(want) {
				want, last = append(want, last), ""
			}
			if err != nil || n == len(want) || string(l.text) != want[n] || l.Place != (Place{n + 1, offset, int64(len(l.text))}) {
				t.Fatalf("line %d: %v, %+v", n+1, err, l)
			}
			n, offset = n+1, offset+l.bytes
		}
		if n != len(want) || last != "" {
			t.Fatalf("%d lines of %d", n, len(want))
		}
	})
}

func TestARunIsReadAsItWasWritten(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		run := anyOf[Run](t)
		line, err := lineOfRun(&run)
		must(t, err)
		checkLine(t, line)
		got, err := readLine(line, readRun)
		must(t, err)
		if !reflect.DeepEqual(got, &run) {
			t.Fatalf("read %+v\nwrote %+v\nline %s", got, &run, line)
		}
	})
}

// checkLine expects one line of valid JSON.
func checkLine(t *rapid.T, line []byte) []byte {
	if bytes.Count(line, []byte{'\n'}) != 1 || !bytes.HasSuffix(line, []byte{'\n'}) {
		t.Fatalf("not one line: %q", line)
	}
	if !json.Valid(line) || !utf8.Valid(line) {
		t.Fatalf("not valid JSON: %q", line)
	}
	return line
}

// Scores and snapshots are read as they were written; the heads of scores say the same.
func TestScoresAreReadAsTheyWereWritten(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.Custom(anyOf[Score]), 0, 4).Draw(t, "scores")
		line, err := lineOfScores("default/task/1", scores, anyOf[[]Snapshot](t))
		must(t, err)
		var want scoresLine
		must(t, json.Unmarshal(checkLine(t, line), &want))
		heads, err := readLine(line, reading[Scored])
		if err != nil || heads.Run != want.Run || len(heads.Scores) != len(scores) {
			t.Fatalf("heads %+v, %v", heads, err)
		}
		for i := range want.Scores {
			s := &want.Scores[i]
			s.Run = want.Run
			if head := (ScoreHead{Name: s.Name, Iteration: s.Iteration, Scorer: s.Scorer, Unscored: s.Unscored, Removed: s.Removed}); heads.Scores[i] != head {
				t.Errorf("head %+v, want %+v", heads.Scores[i], head)
			}
		}
		for i := range want.Snapshots {
			want.Snapshots[i].of(want.Run)
		}
		got, err := readLine(line, readScores)
		dropEmpty(reflect.ValueOf(&want))
		dropEmpty(reflect.ValueOf(&got))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("read %+v (%v)\nwant %+v", got, err, want)
		}
	})
}

func TestF75_TextsThatAreNotUTF8AreKept(t *testing.T) {
	run := sampleRun(1, 2)
	run.Iterations[1].Calls[0].Stderr = "caf\xe9\n"
	line, err := lineOfRun(run)
	must(t, err)
	for _, want := range []string{"\"stderr\":\"caf\ufffd\\n\"", `"raw":[{"at":"iterations/1/calls/0/stderr","base64":"Y2Fm6Qo="}]`} {
		if !strings.Contains(string(line), want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
	got, err := readLine(line, readRun)
	if err != nil || !reflect.DeepEqual(got, run) {
		t.Errorf("read %+v, %v", got, err)
	}
}

// F75: bytes of outputs come back as they were, whatever they are, and tell
// outputs apart that look the same.
func TestF75_OutputsThatAreNotUTF8ComeBack(t *testing.T) {
	propertytest.Check(t, func(rt *rapid.T) {
		draw := func(name string) []byte {
			return append(rapid.SliceOf(rapid.Byte()).Draw(rt, name), rapid.ByteRange(0x80, 0xff).Draw(rt, name))
		}
		run := sampleRun(1, 2)
		for i := range run.Iterations {
			run.Iterations[i].Output, run.Iterations[i].NotUTF8, run.Iterations[i].OutputB64 = []byte(`"\ufffd"`), true, draw(fmt.Sprint(i))
		}
		line, err := lineOfRun(run)
		must(rt, err)
		got, err := readLine(line, readRun)
		if err != nil || !reflect.DeepEqual(got, run) {
			rt.Fatalf("read %+v (%v), wrote %+v", got, err, run)
		}
		s, same := run.Light(), bytes.Equal(run.Iterations[0].OutputB64, run.Iterations[1].OutputB64)
		if bytes.Equal(s.Iterations[0].Output, s.Iterations[1].Output) != same {
			rt.Fatalf("the hashes of %q and %q are %s and %s", run.Iterations[0].OutputB64, run.Iterations[1].OutputB64, s.Iterations[0].Output, s.Iterations[1].Output)
		}
	})
}

// F80, P19: it is an error that names the run.
func TestNotANumberNeverEntersAFile(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		run := sampleRun(7, 1)
		run.Iterations[0].Evaluation.Confidence = bad
		_, runErr := lineOfRun(run)
		_, scoresErr := lineOfScores(run.ID, []Score{{Name: "exact", Value: bad}}, nil)
		for _, err := range []error{runErr, scoresErr} {
			if err == nil || !strings.Contains(err.Error(), "default/task-7/1") {
				t.Errorf("%v: error %v does not name the run", bad, err)
			}
		}
	}
}

// A line that no reader takes is not written.
func TestALineThatIsTooLongIsRefused(t *testing.T) {
	if _, err := seal(make([]byte, longestLine), 0); !errors.Is(err, ErrTooLong) {
		t.Errorf("got %v", err)
	}
}

func TestRecordsOfAnotherShapeAreRefused(t *testing.T) {
	deep := func(levels int) string {
		return `{"new":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}`
	}
	for object, good := range map[string]bool{
		`{}`: true,
		`{"v":1,"new":{"a":[1e5,"\u00e9",null,true]},"elapsed_ns":-9223372036854775808}`: true,
		deep(100):                            true,
		deep(20_000):                         false,
		`{"elapsed_ns":9223372036854775808}`: false,
		`{"v":1.5}`:                          false,
		`{"v":"1"}`:                          false,
		`{"v":}`:                             false,
		`{"v":-}`:                            false,
		`{"v":1`:                             false,
		`{"v":1}}`:                           false,
		`{"run":"\x"}`:                       false,
		`{"run":"`:                           false,
		`{"simulated":tru}`:                  false,
		`{"iterations":[{"n":1e}]}`:          false,
		`{"iterations":{}}`:                  false,
		`[]`:                                 false,
		``:                                   false,
	} {
		if _, err := readRun([]byte(object)); (err == nil) != good {
			t.Errorf("%.60s: %v", object, err)
		}
	}
}

func FuzzRun(f *testing.F) {
	line, _ := lineOfRun(sampleRun(1, 2))
	object, _ := unseal(line[:len(line)-1])
	f.Add(object)
	f.Add(bytes.ReplaceAll(object, []byte("o"), []byte(`\u006f`))) // each text goes by the memory for escapes
	f.Fuzz(func(t *testing.T, object []byte) {
		object = bytes.Clone(object)
		run, err := readRun(object)
		if err != nil {
			return
		}
		clear(object) // a run shares no memory with its line
		first, err := lineOfRun(run)
		if err != nil {
			return // for example a year that RFC 3339 cannot hold
		}
		again, err := readLine(first, readRun)
		if err != nil {
			t.Fatalf("%v\nline %s", err, first)
		}
		if second, err := lineOfRun(again); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("written %s\nthen    %s (%v)", first, second, err)
		}
		if later, err := lineOfRun(run); err != nil || !bytes.Equal(first, later) { // nor with the reader
			t.Fatalf("written %s\nlater   %s (%v)", first, later, err)
		}
	})
}
