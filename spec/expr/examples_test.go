package expr

import (
	"testing"
)

type vars map[string]any

func (v vars) Lookup(name string) (any, bool) { value, ok := v[name]; return value, ok }

type record map[string]any

func (r record) Field(name string) any { return r[name] }

// The expressions of the language's examples, each in its place.
func TestExamplesCompile(t *testing.T) {
	cases := []struct {
		env  *Env
		want Want
		src  string
	}{
		{Evaluate(Any), WantBool, `output.name != ""`},
		{Evaluate(Any), WantBool, `output.email.matches("^[^@]+@[^@]+[.][^@]+$")`},
		{Evaluate(Any), WantBool, `output.years >= 0 && output.years < 60`},
		{Evaluate(Any), WantBool, `size(output.skills) >= 3`},
		{Evaluate(Any), WantBool, `has(output.name) && has(output.date) && has(output.amount)`},
		{Evaluate(Any), WantBool, `output.date.matches("^[0-9]{4}-[0-9]{2}-[0-9]{2}$")`},
		{Evaluate(Any), WantNumber, `has(output.confidence) ? double(output.confidence) : 0.0`},
		{Evaluate(Any), WantBool, `size(output.detailed_feedback) >= 200`},
		{Evaluate(Any), WantNumber, `double(output.reward)`},
		{Loop(String), WantBool, `iteration_tool_calls == 0`},
		{Loop(String), WantBool, `usage.cost_usd > 0.05`},
		{Loop(String), WantBool, `best != null && best.confidence > 0.5`},
		{Loop(String), WantBool, `confidence >= 0.9 && iteration >= 2`},
		{Loop(String), WantBool, `confidence != null && confidence > 1`},
		{Loop(Any), WantAny, `output.action`},
		{Loop(Any), WantAny, `output.observation`},
		{Loop(Any), WantAny, `output.valid == false ? output.observation : null`},
		{Loop(Any), WantBool, `output.valid == false`},
		{Mapping(), WantList, `doc.map(key, doc[key])`},
		{Mapping(), WantList, `doc`},
		{Mapping(), WantString, `string(int(row.task_id))`},
		{Mapping(), WantAny, `row.query`},
		{Mapping(), WantAny, `row.hardness`},
		{Mapping(), WantList, `row.turn_history.actions.transformList(i, action, {
        "action": action,
        "observation": row.turn_history.observations[i],
        "reward": row.turn_history.rewards[i],
        "valid": i < size(row.turn_history.valid_action) ? row.turn_history.valid_action[i] : null})`},
		{Scorer(Any), WantBool, `double(best.output.reward) >= 1.0`},
		{Scorer(Any), WantBool, `output.overall_score >= 1 && output.overall_score <= 10`},
		{Scorer(Any), WantAny, `output.overall_score`},
		{Threshold(), WantBool, `configurations["default"].scores["close"].mean >= 0.7`},
		{Threshold(), WantBool, `configurations["default"].cost_usd.mean <= 0.02`},
		{Objective(), WantNumber, `scores["close"].mean`},
		{Objective(), WantBool, `cost_usd.mean <= 0.02`},
		{Fold(), WantAny, `task.metadata.database`},
	}
	for _, c := range cases {
		if _, faults := c.env.Compile(c.src, c.want); len(faults) > 0 {
			t.Errorf("%s: %+v", c.src, faults)
		}
	}
}

func TestExamplePromptsCompile(t *testing.T) {
	cases := []struct {
		env *Env
		src string
	}{
		{Loop(Any), "Fill in this job application as JSON: {{ task.input }}\n{{ failing.map(c, \"- \" + c.name + \": \" + c.feedback).join(\"\\n\") }}"},
		{Loop(Any), "Earlier attempts said: {{ feedback }}\n{{ task.input }}"},
		{Loop(String), "Carry out the plan. {{ feedback }}"},
		{Loop(Any), "Analyse this {{ task.vars.interview_type }} interview.\n{{ task.input }}\n{{ feedback == \"\" ? \"\" : \"Improve on the previous attempt: \" + feedback }}"},
		{Loop(String), `{{ iteration == 0
     ? "Write a roadmap for: " + task.input
     : "Improve this roadmap.\n\n" + best.output + "\n\nWhat to improve: " + feedback }}`},
	}
	for _, c := range cases {
		if _, faults := c.env.Template(c.src); len(faults) > 0 {
			t.Errorf("%s: %+v", c.src, faults)
		}
	}
}
