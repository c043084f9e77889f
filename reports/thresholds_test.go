package reports_test

import (
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/spec/expr"
)

func TestThresholds(t *testing.T) {
	f := one(2)
	f.manifest.Configurations[0].Aliases = []string{"also"}
	f.manifest.Configurations = append(f.manifest.Configurations, record.ConfigurationHead{Name: "empty"})
	f.scored(f.run("a", 1, 0.5), 0, 1)
	f.scored(f.run("b", 1, 0.5, 0.6), 0, 0)
	r := f.collect()
	for text, want := range map[string]string{
		`configurations["c"].scores["right"].mean >= 0.5`:                "ok",
		`configurations["also"].scores["right"].mean >= 0.5`:             "ok",
		`configurations["c"].scores["right"].mean > 0.5`:                 "no",
		`configurations["c"].cost_usd.mean <= 0.02`:                      "ok",
		`configurations["c"].n == 2 && configurations["c"].runs == 2`:    "ok",
		`configurations["c"].coverage == 1.0`:                            "ok",
		`configurations["c"].iterations.p95 < 2.0`:                       "ok",
		`configurations["c"].calls.total == 3.0`:                         "ok",
		`configurations["c"].latency.mean == 1.5`:                        "ok",
		`configurations["c"].tokens.mean >= 0.0`:                         "ok",
		`configurations["c"].scores["wrong"].mean >= 0.0`:                `no key "wrong"`,
		`configurations["d"].n >= 0`:                                     `no key "d"`,
		`configurations["empty"].n >= 0`:                                 `"empty" has no run`,
		`configurations.all(c, configurations[c].n >= 0)`:                `"empty" has no run`,
		`configurations["c"].scores["right"].maen >= 0.0`:                "maen",
		`!has(configurations["c"].success) || configurations["c"].n > 0`: "ok",
	} {
		v := reports.Thresholds(t.Context(), r, []string{text})[0]
		switch {
		case v.Err != nil && (v.OK || !strings.Contains(v.Err.Error(), want)):
			t.Errorf("%s: error %v, want %s", text, v.Err, want)
		case v.Err == nil && v.OK != (want == "ok"), v.Err == nil && want != "ok" && want != "no":
			t.Errorf("%s: %v, want %s", text, v.OK, want)
		}
	}
}

func TestThresholdsTellWhatTheyRead(t *testing.T) {
	f := one(1)
	s := f.run("a", 1, 0.5)
	s.Usage.Unpriced = 1
	f.scored(s, 0, 1)
	verdicts := reports.Thresholds(t.Context(), f.collect(), []string{
		`configurations["c"].scores["right"].mean < 0.5`, `configurations["c"].cost_usd.mean < 0.5`,
	})
	if want := `configurations["c"].scores["right"].mean is 1`; verdicts[0].Detail != want {
		t.Errorf("detail %q, want %q", verdicts[0].Detail, want)
	}
	if v := verdicts[1]; v.OK || v.Err == nil || !strings.Contains(v.Err.Error(), `configurations["c"].cost_usd.mean is missing: unpriced`) {
		t.Errorf("an unpriced cost: %+v", v)
	}
}

func TestNothingRunNeverPasses(t *testing.T) {
	for _, text := range []string{`true`, `configurations.all(c, false)`, `size(configurations) == 0`, `!("c" in configurations)`} {
		if v := reports.Thresholds(t.Context(), one(1).collect(), []string{text})[0]; v.OK || v.Err == nil {
			t.Errorf("%s: %+v, want an error", text, v)
		}
	}
}

func TestObjectiveSeesOneConfiguration(t *testing.T) {
	f := one(1)
	f.scored(f.run("a", 1, 0.5), 0, 1)
	program, faults := expr.Objective().Compile(`scores["right"].mean - cost_usd.mean`, expr.WantNumber)
	if program == nil {
		t.Fatal(faults)
	}
	got, err := program.Number(t.Context(), f.collect().Configurations[0].Metrics())
	if err != nil || got != 0.99 {
		t.Errorf("objective = %v, %v; want 0.99", got, err)
	}
}
