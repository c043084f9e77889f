package calibrate_test

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/reports/calibrate"
)

var (
	words     = calibrate.Scale{Choices: []calibrate.Level{{Name: "good", Value: 1}, {Name: "fair", Value: 0.5}, {Name: "ok", Value: 0.5}, {Name: "poor", Value: 0}}}
	oneToFive = calibrate.Scale{From: 1, To: 5}
)

// told is a label in short: what it is of, and what it is worth.
func told(l *calibrate.Label) string {
	of := l.Run
	if of == "" {
		of = strings.Trim(fmt.Sprint(l.Configuration, "/", l.Task, "/", l.Trial, " ", l.Output), " ")
	}
	if l.Second != nil {
		return fmt.Sprint(of, " = ", l.Value, " and ", *l.Second)
	}
	return fmt.Sprint(of, " = ", l.Value)
}

func TestLabelsAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		scale calibrate.Scale
		kind  calibrate.Kind
		want  []string
	}{
		"comments before the header":  {"# labels.csv\r\n#\r\n\r\n# by two people; both paid\r\nrun;label\r\n#a/b/1;1\r\n# a/b/2;0\r\n", calibrate.Scale{}, calibrate.YesNo, []string{"#a/b/1 = 1", "# a/b/2 = 0"}},
		"a header that begins with #": {"#,run,label\n1,a/b/1,1\n", calibrate.Scale{}, calibrate.YesNo, []string{"a/b/1 = 1"}},
		"runs":                        {"run,label\na/b/1,1\na/b/2,0\n", calibrate.Scale{}, calibrate.YesNo, []string{"a/b/1 = 1", "a/b/2 = 0"}},
		"words for yes and no":        {"run,label\na,Yes\nb,FAIL\nc, true \nd,0\n", oneToFive, calibrate.YesNo, []string{"a = 1", "b = 0", "c = 1", "d = 0"}},
		"ones with a point":           {"run,label\na,1.0\nb,-0.0\n", calibrate.Scale{}, calibrate.YesNo, []string{"a = 1", "b = 0"}},
		"parts of runs":               {"task,configuration,trial,label\nb,a,2,pass\n", calibrate.Scale{}, calibrate.YesNo, []string{"a/b/2 = 1"}},
		"the first trial":             {"task,configuration,label\nb,a,pass\n", calibrate.Scale{}, calibrate.YesNo, []string{"a/b/1 = 1"}},
		"outputs":                     {"task,output,label\nt,\"one,\ntwo\",no\n", calibrate.Scale{}, calibrate.YesNo, []string{"/t/0 one,\ntwo = 0"}},
		"an output that is empty":     {"task,output,label\nt,,no\n", calibrate.Scale{}, calibrate.YesNo, []string{"/t/0 = 0"}},
		"graded":                      {"run,label\na,0.25\nb,1\n", calibrate.Scale{}, calibrate.Number, []string{"a = 0.25", "b = 1"}},
		"in a range":                  {"run,label\na,2\nb,5\n", oneToFive, calibrate.Number, []string{"a = 0.25", "b = 1"}},
		"in a range from the top":     {"run,label\na,2\nb,5\n", calibrate.Scale{From: 5, To: 1}, calibrate.Number, []string{"a = 0.75", "b = 0"}},
		"ones of a range":             {"run,label\na,1\nb,1\n", oneToFive, calibrate.Number, []string{"a = 0", "b = 0"}},
		"a zero beyond the range":     {"run,label\na,1\nb,0\n", oneToFive, calibrate.YesNo, []string{"a = 1", "b = 0"}},
		"choices":                     {"run,label\na,Fair\nb,good\n", words, calibrate.Choice, []string{"a = 0.5", "b = 1"}},
		"turned":                      {"run,label\na,poor\n", calibrate.Scale{Choices: words.Choices, Not: true}, calibrate.Choice, []string{"a = 1"}},
		"yes and no beside choices":   {"run,label\na,1\nb,0\n", words, calibrate.YesNo, []string{"a = 1", "b = 0"}},
		"two people":                  {"run,label,label2\na,1,0\nb,1,\n", calibrate.Scale{}, calibrate.YesNo, []string{"a = 1 and 0", "b = 1"}},
		"a spreadsheet's":             {"\ufeffRun;Label;who\r\na;1;Ann\r\nb;0;\"B;ob\"\r\n", calibrate.Scale{}, calibrate.YesNo, []string{"a = 1", "b = 0"}},
		"tabs":                        {"run\tlabel\na,b\t1\n", calibrate.Scale{}, calibrate.YesNo, []string{"a,b = 1"}},
		"no end of the last line":     {"run,label\na,1", calibrate.Scale{}, calibrate.YesNo, []string{"a = 1"}},
	} {
		f, faults := calibrate.Read("labels.csv", []byte(c.text), c.scale)
		var got []string
		for i := range f.Labels {
			got = append(got, told(&f.Labels[i]))
		}
		if len(faults) > 0 || f.Kind != c.kind || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v %q %v, want %v %q", name, f.Kind, got, faults, c.kind, c.want)
		}
	}
}

// All faults come at once, each with its place.
func TestFaultsOfLabels(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		scale calibrate.Scale
		want  []string
	}{
		"nothing":          {"", calibrate.Scale{}, []string{"l: the file is empty"}},
		"a header alone":   {"run,label\n", calibrate.Scale{}, []string{"l: no labels found"}},
		"no label":         {"run,lable\na,1\n", calibrate.Scale{}, []string{`l:1:1: column "label" not found`}},
		"nothing labelled": {"task,label\na,1\n", calibrate.Scale{}, []string{"l:1:1: no column names what is labelled"}},
		"a column twice":   {"run,label,Label\na,1,1\n", calibrate.Scale{}, []string{`l:1:11: duplicate column "label"`}},
		"several": {"run,label\na,1\n,0\nb,\na,0\nc,maybe\nd\ne,yes\n", calibrate.Scale{}, []string{
			"l:3:1: the run is empty", "l:4:3: the label is empty", "l:5:1: already labelled in line 2",
			"l:7:1: the row has 1 cells, and the header 2", `l:6:3: unknown label "maybe": want yes or no, as in other rows (true and false, pass and fail, 1 and 0 are fine, too)`}},
		"outside the range":  {"run,label\na,7\nb,2.5\nc,NaN\nd,inf\n", oneToFive, []string{"l:2:3: the label 7 is not between 1 and 5", `l:4:3: unknown label "NaN": want a number from 1 to 5`, "l:5:3: the label +Inf is not between 1 and 5"}},
		"a number of words":  {"run,label\na,good\nb,0.5\n", words, []string{`l:3:3: unknown label "0.5": want one of the judge's choices good, fair, ok, poor`}},
		"no such word":       {"run,label\na,god\n", words, []string{`l:2:3: unknown label "god": want one of the judge's choices good, fair, ok, poor`}},
		"a second label":     {"run,label,label2\na,1,perhaps\n", calibrate.Scale{}, []string{`l:2:5: unknown label "perhaps": want yes or no`}},
		"a trial":            {"configuration,task,trial,label\na,b,0,1\na,b,x,1\n,b,1,1\n", calibrate.Scale{}, []string{`l:2:5: trial "0": want a whole number from 1`, `l:3:5: trial "x": want a whole number from 1`, "l:4:1: the configuration is empty"}},
		"quotes":             {"run,label\na,1\n\"b,1\n", calibrate.Scale{}, []string{"l:3:5: invalid CSV"}},
		"behind a comment":   {"# of two people\n\nrun,label\na,7\n", oneToFive, []string{"l:4:3: the label 7 is not between 1 and 5"}},
		"comments only":      {"# labels.csv\n", calibrate.Scale{}, []string{"l: the file is empty"}},
		"no UTF-8":           {"run,label\n\xff,1\n", calibrate.Scale{}, []string{"l:2:1: invalid UTF-8"}},
		"a place in letters": {"run,label\näöü,ja\nb,yes\n", calibrate.Scale{}, []string{`l:2:5: unknown label "ja": `}},
		"the same output":    {"task,output,label\na,x,1\na,y,1\na,x,0\n", calibrate.Scale{}, []string{"l:4:1: already labelled in line 2"}},
	} {
		_, faults := calibrate.Read("l", []byte(c.text), c.scale)
		if len(faults) < len(c.want) {
			t.Errorf("%s: %v, want %q", name, faults, c.want)
			continue
		}
		for i, want := range c.want {
			if got := faults[i].Error(); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	}
}

// A cell without an end, as a quote that is missing makes one, is told by its beginning.
func TestLongCellsAreNotToldWhole(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	_, faults := calibrate.Read("labels.csv", []byte("run,label\na,"+long+"\nb,1\nb,no\n"), calibrate.Scale{})
	if told := faults.Err(); told == nil || len(told.Error()) > 5000 {
		t.Errorf("%.300v", told)
	}
}

func TestLevels(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		scale calibrate.Scale
		want  string
	}{
		"yes or no":          {"run,label\na,1\n", calibrate.Scale{}, "[{no 0} {yes 1}]"},
		"choices":            {"run,label\na,good\n", words, "[{poor 0} {fair/ok 0.5} {good 1}]"},
		"a range of few":     {"run,label\na,2\nb,5\n", oneToFive, "[{1 0} {2 0.25} {3 0.5} {4 0.75} {5 1}]"},
		"from the top":       {"run,label\na,2\nb,3\n", calibrate.Scale{From: 3, To: 1}, "[{3 0} {2 0.5} {1 1}]"},
		"fractions of it":    {"run,label\na,2.5\nb,5\n", oneToFive, "[{2.5 0.375} {5 1}]"},
		"parts":              {"run,label\na,0.5\nb,0\nc,0.5\n", calibrate.Scale{}, "[{0 0} {0.5 0.5}]"},
		"too many to list":   {"run,label\n" + numbered(30), calibrate.Scale{From: 0, To: 100}, "[]"},
		"a range of hundred": {"run,label\na,20\nb,40\n", calibrate.Scale{From: 0, To: 100}, "[{20 0.2} {40 0.4}]"},
	} {
		f, faults := calibrate.Read("l", []byte(c.text), c.scale)
		if got := fmt.Sprint(f.Levels); got != c.want || len(faults) > 0 {
			t.Errorf("%s: %s %v, want %s", name, got, faults, c.want)
		}
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "r%d,%d\n", i, 10+i)
	}
	return b.String()
}

func TestZerosAndOnesOfALongRangeAreTold(t *testing.T) {
	for text, want := range map[string]bool{"run,label\na,0\nb,1\n": true, "run,label\na,0\nb,2\n": false, "run,label\na,yes\nb,1\n": false} {
		if f, faults := calibrate.Read("l", []byte(text), calibrate.Scale{From: 0, To: 5}); f.Ambiguous != want || len(faults) > 0 {
			t.Errorf("%q: %v, want %v", text, f.Ambiguous, want)
		}
	}
}

// What a CSV writer writes is read as it is, whatever the outputs hold.
func TestOutputsAreReadAsTheyAre(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		outputs := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z,;"\n\t ]{0,12}`), 1, 8, rapid.ID[string]).Draw(t, "outputs")
		var b strings.Builder
		w := csv.NewWriter(&b)
		rows := [][]string{{"task", "output", "label"}}
		for _, output := range outputs {
			rows = append(rows, []string{"t", output, "1"})
		}
		if err := w.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		f, faults := calibrate.Read("l", []byte(b.String()), calibrate.Scale{})
		if len(faults) > 0 || len(f.Labels) != len(outputs) {
			t.Fatalf("%d labels, %v", len(f.Labels), faults)
		}
		for i, output := range outputs {
			if f.Labels[i].Output != output {
				t.Fatalf("%q became %q", output, f.Labels[i].Output)
			}
		}
	})
}

// Any bytes give labels whose worth is from 0 to 1, or faults that point into the file.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"run,label\na,1\n", "\ufeffrun;label\r\na;5\r\n", "task,output,label\na,\"b\"\"\n\",yes", "\xff,\x00", "run,label\n\"a\"x,1"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, scale := range []calibrate.Scale{{}, oneToFive, words} {
			file, faults := calibrate.Read("l", text, scale)
			for i := range file.Labels {
				if l := &file.Labels[i]; !(l.Value >= 0 && l.Value <= 1) || l.Second != nil && !(*l.Second >= 0 && *l.Second <= 1) {
					t.Fatalf("%+v", l)
				}
			}
			for _, fault := range faults {
				if lines := strings.Count(string(text), "\n") + 1; fault.Pos.Line > lines {
					t.Fatalf("%v in a file of %d lines", fault, lines)
				}
			}
			if faults.Print(&strings.Builder{}, nil); len(file.Labels) == 0 && len(faults) == 0 {
				t.Fatal("neither labels nor faults")
			}
		}
	})
}
