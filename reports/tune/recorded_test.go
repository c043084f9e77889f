package tune

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record/recordingtest"
)

// verifiedAndFinetuned are the recorded solutions of GSM8K by two models of 6B, as
// arms in the order of the file, and what is known of their race.
func verifiedAndFinetuned(t *testing.T) (arms []Arm, first map[string]int) {
	t.Helper()
	var expected struct {
		GSM8K struct {
			Sequential []struct {
				First map[string]int `json:"first_task_with_E_at_least"`
			}
		}
	}
	if err := json.Unmarshal(recordingtest.Read(t, "expected.json"), &expected); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(recordingtest.File(t, "gsm8k/model_solutions_6b.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	scores := [2][]float64{}
	for line := range strings.Lines(string(text)) {
		var task struct {
			Verified, Finetuned struct {
				Correct bool `json:"is_correct"`
			}
		}
		line = strings.NewReplacer(`"6b_verification"`, `"Verified"`, `"6b_finetuning"`, `"Finetuned"`).Replace(line)
		if err := json.Unmarshal([]byte(line), &task); err != nil {
			t.Fatal(err)
		}
		for i, correct := range []bool{task.Verified.Correct, task.Finetuned.Correct} {
			if correct {
				scores[i] = append(scores[i], 1)
			} else {
				scores[i] = append(scores[i], 0)
			}
		}
	}
	return []Arm{armOf(scores[0]...), armOf(scores[1]...)}, expected.GSM8K.Sequential[0].First
}

// The race of two recorded models of GSM8K is decided after as many of the 1319
// tasks as expected.json says: two arms alone at an evidence of 20, beside two
// others at one of 60.
func TestTheRaceOfTwoRecordedModels(t *testing.T) {
	if testing.Short() {
		t.Skip("one thing at a time, for long; it runs without -short")
	}
	arms, first := verifiedAndFinetuned(t)
	tasks := len(arms[0].Scores[0])
	if tasks != 1319 {
		t.Fatalf("%d tasks", tasks)
	}
	for _, c := range []struct {
		others int
		bound  string
	}{{0, "20"}, {1, "40"}, {2, "60"}, {4, "100"}} {
		all := arms
		for range c.others {
			all = append(all[:len(all):len(all)], arms[0]) // as good as the better one
		}
		out := raced(NewRace(len(all), tasks, RaceOptions{Block: 1}), all).Outs()
		if out[1].After != first[c.bound] || first[c.bound] == 0 || !out[1].Shown || out[0].After != 0 {
			t.Errorf("with %d others: %+v, want the second out after %d tasks", c.others, out, first[c.bound])
		}
	}
}
