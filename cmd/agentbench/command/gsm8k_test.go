package command

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/reports/compare"
)

// gsm8k is what is known of two recorded models.
type gsm8k struct {
	Models map[string]struct{ Accuracy float64 }
	Pairs  []struct {
		N           int
		OnlyFirst   int `json:"only_first"`
		OnlySecond  int `json:"only_second"`
		Diff        float64
		BonettPrice [2]float64 `json:"ci95_bonett_price"`
		McNemar     float64    `json:"mcnemar_exact_p"`
	}
	Sequential []struct {
		First map[string]int `json:"first_task_with_E_at_least"`
		LogE  float64        `json:"final_log_E"`
	}
}

func knownOfGSM8K(t *testing.T, data string) (known gsm8k) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ GSM8K *gsm8k }
	if err := json.Unmarshal(text, &all); err != nil || all.GSM8K == nil || len(all.GSM8K.Pairs) != 1 {
		t.Fatalf("expected.json: %v", err)
	}
	return *all.GSM8K
}

// commands runs the program in a folder of its own and gives what it printed.
type commands struct {
	t   *testing.T
	env func(string) string
}

func (c commands) run(code int, args ...string) string {
	c.t.Helper()
	var out, errs strings.Builder
	if got := run(context.Background(), args, c.env, strings.NewReader(""), &out, &errs); got != code {
		c.t.Fatalf("agentbench %s: exit code %d, want %d: %s", strings.Join(args, " "), got, code, errs.String())
	}
	return out.String()
}

// Two models' recorded solutions of GSM8K, run into two folders, give exactly the
// numbers of expected.json, from the folders and from a baseline.
func TestDiffOfRecordedGSM8K(t *testing.T) {
	data := recordingtest.Folder(t)
	known := knownOfGSM8K(t, data)
	suite, err := filepath.Abs(filepath.Join("..", "..", "..", "testdata", "recorded", "gsm8k.suite.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	c := commands{t, func(name string) string {
		if name == "AGENTBENCH_DATA" {
			return data
		}
		return ""
	}}
	for _, name := range []string{"finetuning", "verification"} {
		c.run(0, "run", suite, "-q", "--configuration", name, "--out", name)
	}
	c.run(0, "baseline", "set", "main", "finetuning")
	for _, args := range [][]string{{"finetuning", "verification"}, {"--baseline", "main", "verification"}} {
		checkGSM8K(t, &known, c.run(0, append([]string{"diff", "--format", "json"}, args...)...))
		table := c.run(0, append([]string{"diff", "--table", "differences"}, args...)...)
		if want := "correct     better"; !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
		for _, number := range []string{"0.217", "0.390", "+0.174", "+0.147…0.200", "<0.001", "293/64/962"} {
			if !strings.Contains(table, number) {
				t.Errorf("no %s in\n%s", number, table)
			}
		}
	}
	c.run(1, "diff", "verification", "finetuning")
	checkSequentialGSM8K(t, &known, c)
}

// checkSequentialGSM8K holds the evidence that may be looked at at any time to what
// is known: after how many tasks it is enough, and how much it is in the end.
func checkSequentialGSM8K(t *testing.T, known *gsm8k, c commands) {
	t.Helper()
	if len(known.Sequential) != 1 || len(known.Sequential[0].First) < 4 {
		t.Fatalf("expected.json has %+v", known.Sequential)
	}
	for bound, after := range known.Sequential[0].First {
		needed, err := strconv.ParseFloat(bound, 64)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Pairs []struct {
				Differences []struct {
					Quantity   string
					Sequential *struct {
						Evidence, Needed float64
						Units, After     int
						Verdict          compare.Verdict
					}
				}
			}
		}
		text := c.run(0, "diff", "finetuning", "verification", "--sequential", "--alpha", fmt.Sprint(1/needed), "--format", "json")
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		d := got.Pairs[0].Differences[0]
		s := d.Sequential
		if d.Quantity != "correct" || s == nil || s.After != after || s.Units != 1319 || s.Verdict != compare.Better || math.Abs(s.Needed-needed) > 1e-9 ||
			math.Abs(math.Log(s.Evidence)-known.Sequential[0].LogE) > 1e-6 {
			t.Errorf("at %s: %s %+v, want it after %d tasks and a logarithm of %v in the end", bound, d.Quantity, s, after, known.Sequential[0].LogE)
		}
		if amount := got.Pairs[0].Differences[2]; amount.Sequential != nil {
			t.Errorf("%s has evidence: %+v", amount.Quantity, amount.Sequential)
		}
	}
	if text := c.run(0, "diff", "finetuning", "verification", "--format", "json"); strings.Contains(text, "sequential") {
		t.Error("there is evidence that nobody asked for")
	}
}

// checkGSM8K holds a comparison as JSON to what is known.
func checkGSM8K(t *testing.T, known *gsm8k, text string) {
	t.Helper()
	var got struct {
		Pairs []struct {
			Differences []struct {
				Quantity                     string
				Base, New, Change, Low, High float64
				P, Adjusted                  float64
				Test                         compare.Test
				Tasks, Wins, Losses, Ties    int
				Verdict                      compare.Verdict
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Pairs) != 1 {
		t.Fatalf("%v in %s", err, text)
	}
	d, want := got.Pairs[0].Differences[0], known.Pairs[0]
	for what, numbers := range map[string][2]float64{
		"base": {d.Base, known.Models["6b_finetuning"].Accuracy}, "new": {d.New, known.Models["6b_verification"].Accuracy},
		"change": {d.Change, want.Diff}, "low": {d.Low, want.BonettPrice[0]}, "high": {d.High, want.BonettPrice[1]}, "p": {d.P, want.McNemar},
	} {
		if !(math.Abs(numbers[0]-numbers[1]) <= 1e-11*math.Abs(numbers[1])) {
			t.Errorf("%s is %v, want %v", what, numbers[0], numbers[1])
		}
	}
	if d.Quantity != "correct" || d.Test != compare.McNemar || d.Verdict != compare.Better ||
		d.Tasks != want.N || d.Wins != want.OnlyFirst || d.Losses != want.OnlySecond || d.Ties != want.N-want.OnlyFirst-want.OnlySecond {
		t.Errorf("%+v, want %+v", d, want)
	}
}
