package reports_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

// warned are the texts of the configuration's warnings of a kind.
func warned(c *reports.Configuration, kind reports.WarningKind) (texts []string) {
	for _, w := range c.Warnings {
		if w.Kind == kind {
			texts = append(texts, w.Text().Raw())
		}
	}
	return texts
}

func TestAnAgentThatFailsDoesNotOnlyScoreBadly(t *testing.T) {
	failed := func(s *record.Run) {
		s.Outcome = record.Outcome{Status: record.Failed, Class: record.ByFault, Reason: record.ReasonError, Error: &record.Error{Class: record.Program}}
	}
	for name, c := range map[string]struct {
		confidences []float64
		then        func(*record.Run)
		want        []string
	}{
		"an error ends the run":          {[]float64{0.5, -1}, failed, []string{"the agent failed in 1 of 2 runs (program 1), which count"}},
		"no iteration goes well":         {[]float64{-1, -1}, func(*record.Run) {}, []string{"the agent failed in 1 of 2 runs (no_answer 1), which count"}},
		"one iteration goes well":        {[]float64{-1, 0.5}, func(*record.Run) {}, nil},
		"a fault is not the agent's":     {[]float64{-1}, func(s *record.Run) { s.Outcome.Status = record.Faulted }, nil},
		"an agent that ended beforehand": {nil, func(*record.Run) {}, nil},
	} {
		f := one(2)
		f.scored(f.run("a", 1, 0.5), 0, 1)
		s := f.run("b", 1, c.confidences...)
		c.then(s)
		f.scored(s, 0, 0)
		r := f.collect()
		if got := warned(&r.Configurations[0], reports.AgentFailed); !slices.Equal(got, c.want) {
			t.Errorf("%s: warned of %q, want %q", name, got, c.want)
		}
		if text := pagetest.Written(t, r, page.Options{}); strings.Contains(text, "the agent failed") != (c.want != nil) {
			t.Errorf("%s: the footnotes are\n%s", name, text)
		}
	}
}

func TestRepliesThatAreNotJSONAreCounted(t *testing.T) {
	f := one(1)
	s := f.run("a", 1, 0.5, 0, 0)
	s.Iterations[1].Evaluation.Fault, s.Iterations[2].Evaluation.Fault = "no JSON", "no JSON"
	want := "2 of 3 replies were not JSON, which the loop expects, and have confidence 0"
	r := f.collect()
	if got := warned(&r.Configurations[0], reports.NotJSON); !slices.Equal(got, []string{want}) {
		t.Errorf("warned of %q", got)
	}
	if text := pagetest.Written(t, r, page.Options{Width: 100}); !strings.Contains(text, "¹ "+want) {
		t.Errorf("the footnotes are\n%s", text)
	}
}

// What a program used is unknown unless it says so: 0 would be a cost.
func TestAProgramThatDoesNotSayWhatItUsed(t *testing.T) {
	f := one(2)
	for _, task := range []string{"a", "b"} {
		s := f.run(task, 1, 0.5, 0.6)
		s.Usage = record.Usage{}
		for i := range s.Iterations {
			call := &s.Iterations[i].Calls[0]
			call.Role, call.Usage = record.RoleProgram, record.Usage{}
			if task == "b" {
				call.Usage.Unreported = 1
			}
			s.Usage = s.Usage.Plus(call.Usage)
		}
		f.scored(s, 0, 1)
	}
	r := f.collect()
	c := &r.Configurations[0]
	unknown := page.Value{Missing: "unknown"}
	for name, got := range map[string]page.Value{
		"mean": c.Cost.Mean.Value, "total": c.Cost.Total, "per success": c.Cost.PerSuccess.Value, "tokens": c.Tokens.Value, "input": c.InputTokens.Value,
		"output": c.OutputTokens.Value, "calls": c.Calls.Value, "curve": c.Curve[0].Cost.Value, "more": c.Curve[1].ExtraCost.Value,
	} {
		if got != unknown {
			t.Errorf("%s = %+v", name, got)
		}
	}
	if want := []string{"the usage of 2 calls was not reported: cost, tokens and calls are unknown"}; !slices.Equal(warned(c, reports.Unreported), want) {
		t.Errorf("warned of %q", warned(c, reports.Unreported))
	}
	for task := range r.Tasks() {
		if got := task.Results[0].Cost.Value; (got == unknown) != (task.ID == "b") || task.ID == "a" && got.Number != 0 {
			t.Errorf("the cost of task %s is %+v", task.ID, got)
		}
	}
	for _, v := range reports.Thresholds(t.Context(), r, reports.ThresholdOptions{}, []string{
		`configurations["c"].tokens.total < 5`, `configurations["c"].cost_usd.total < 5.0`, `configurations["c"].calls.mean < 5.0`,
	}) {
		if v.OK || v.Err == nil || !strings.Contains(v.Err.Error(), "is missing: unknown") {
			t.Errorf("%s: %v, %v", v.Text, v.OK, v.Err)
		}
	}
	var parsed struct {
		Configurations []struct{ Tokens any } `json:"configurations"`
	}
	if err := json.Unmarshal([]byte(pagetest.Written(t, r, page.Options{Format: "json"})), &parsed); err != nil || parsed.Configurations[0].Tokens != nil {
		t.Errorf("in JSON: %+v, %v", parsed, err)
	}
	if text := pagetest.Written(t, r, page.Options{Width: 120}); !strings.Contains(text, "unknown¹") || strings.Contains(text, "$0") {
		t.Errorf("the report is\n%s", text)
	}
}

func TestIntervalsOfGradedScores(t *testing.T) {
	for name, c := range map[string]struct {
		scores []float64
		want   string
		note   bool
	}{
		"their own":             {[]float64{0.2, 0.4, 0.6}, "0.00–0.90", false},
		"shown within 0 and 1":  {[]float64{0.5, 0.9, 0.99}, "0.15–1.00", false},
		"of another scale":      {[]float64{5, 7, 9}, "2.03–11.97", false},
		"all are equal":         {[]float64{0.5, 0.5, 0.5}, "", true},
		"one alone":             {[]float64{0.5}, "", true},
		"nothing could be said": {nil, "", false},
	} {
		f := one(max(1, len(c.scores)))
		f.run("d", 1, 0.5)
		for i, value := range c.scores {
			f.scored(f.run(string(rune('a'+i)), 1, 0.5), 0, value)
		}
		r := f.collect()
		text := pagetest.Written(t, r, page.Options{Tables: []string{"configurations"}, Width: 120})
		if strings.Contains(text, "95%") != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: want %q in\n%s", name, c.want, text)
		}
		if (warned(&r.Configurations[0], reports.NoInterval) != nil) != c.note {
			t.Errorf("%s: warnings %+v", name, r.Configurations[0].Warnings)
		}
	}
}

// An interval that is missing beside others has a footnote.
func TestMissingIntervalsAreExplained(t *testing.T) {
	f := small(3)
	for i := range f.scores {
		f.scores[i].Value = 0.5
		if f.scores[i].Run == record.RunID("twice", "a", 1) {
			f.scores[i].Value = 0.7
		}
	}
	text := pagetest.Written(t, f.collect(), page.Options{Tables: []string{"configurations"}, Width: 160})
	if !strings.Contains(text, "-¹") || !strings.Contains(text, "¹ no interval of right: it takes scores of two tasks that differ") {
		t.Errorf("the report is\n%s", text)
	}
}

// A configuration is called the same in all tables; its other names are told once.
func TestAliasesAreToldAlikeInAllTables(t *testing.T) {
	f := small(3)
	f.manifest.Configurations[1].Aliases = []string{"default", "sweep@max_iterations=2"}
	r := f.collect()
	for _, name := range reports.TableNames {
		text := pagetest.Written(t, r, page.Options{Tables: []string{name}, Width: 160})
		if strings.Contains(text, "twice¹") != strings.Contains(text, "¹ twice is also default, sweep@max_iterations=2: equal configurations run once") ||
			strings.Contains(text, "twice") != strings.Contains(text, "twice¹") || strings.Contains(text, " = ") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

func TestF25_OtherModelsAreTold(t *testing.T) {
	for want, names := range map[string][]string{
		"": {"", "", ""},
		"1 of 3 calls of m were answered by another model, as the server calls it: n":                     {"", "n", ""},
		"3 of 3 calls of m were answered by another model, as the server calls it: n, o":                  {"o", "n", "o"},
		"6 of 6 calls of m were answered by another model, as the server calls it: 0, 1, 2, 3 and others": {"5", "4", "0", "2", "3", "1"},
	} {
		f := one(len(names))
		for i, name := range names {
			s := f.run(fmt.Sprint(i), 1, 0.5)
			s.Iterations[0].Calls[0].Model, s.Iterations[0].Calls[0].Answered = "m", name
		}
		r := f.collect()
		if got := warned(&r.Configurations[0], reports.OtherModel); strings.Join(got, "") != want || len(got) > 1 {
			t.Errorf("%q: warned of %q", names, got)
		}
		if text := pagetest.Written(t, r, page.Options{Width: 200}); strings.Contains(text, "answered by another model") != slices.ContainsFunc(names, func(n string) bool { return n != "" }) {
			t.Errorf("the footnotes are\n%s", text)
		}
	}
}
