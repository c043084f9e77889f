package reports_test

import (
	"encoding/json"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

func TestReportsKeepToTheirSchema(t *testing.T) {
	schema := pagetest.Schema(t, reports.JSONSchema)
	all := map[string]*reports.Report{
		"coach": judged(coach(24).simulated("default")), "nothing": (&fixture{manifest: record.Manifest{Status: record.StateStopped}}).collect(), "hostile": infested("\x1b[31m\xff"),
	}
	for name, f := range edges() {
		all[name] = f.collect()
	}
	for name, r := range all {
		pagetest.Validate(t, schema, name, pagetest.Written(t, r, page.Options{Format: "json"}))
	}
}

func TestComparisonsKeepToTheirSchema(t *testing.T) {
	schema := pagetest.Schema(t, reports.DiffJSONSchema)
	c := worse(t)
	c.Thresholds = judged(coach(1)).Thresholds
	c.Spec = append(c.Spec, reports.SpecDifference{Path: "a", Base: "1"})
	pagetest.Validate(t, schema, "coach", pagetest.Written(t, c, page.Options{Format: "json"}))
	small, other := small(3), small(3)
	other.scores = nil
	pagetest.Validate(t, schema, "without scores", pagetest.Written(t, gatedDiff(t, small.collect(), other.collect(), reports.DiffOptions{}), page.Options{Format: "json"}))
}

// What is required is there, and has its type.
func TestSchemasRefuse(t *testing.T) {
	schema := pagetest.Schema(t, reports.JSONSchema)
	text := pagetest.Written(t, small(2).collect(), page.Options{Format: "json"})
	for name, change := range map[string]func(map[string]any){
		"another schema":   func(r map[string]any) { r["schema"] = "agentbench/report/2" },
		"no tasks":         func(r map[string]any) { delete(r, "tasks") },
		"an unknown state": func(r map[string]any) { r["status"] = "fine" },
		"a count in words": func(r map[string]any) { r["task_count"] = "two" },
		"no list":          func(r map[string]any) { r["configurations"] = nil },
	} {
		var report map[string]any
		if err := json.Unmarshal([]byte(text), &report); err != nil {
			t.Fatal(err)
		}
		change(report)
		if schema.Validate(report) == nil {
			t.Errorf("%s is fine", name)
		}
	}
}
