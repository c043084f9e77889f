package scorers

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/spec"
)

// said is what a scorer says of one output. Targets and outputs are JSON.
type said struct{ scorer, target, output, want string }

var verdicts = []said{
	{`type: exact`, `"Paris"`, `"Paris"`, `1 (Paris)`},
	{`type: exact`, `"Paris"`, `"paris"`, `0 (paris): want Paris, got paris`},
	{`type: exact, ignore_case: true`, `"PARIS"`, `"paris"`, `1 (paris)`},
	{`type: exact, ignore_case: true`, `"Straße"`, `"STRAßE"`, `1 (STRAßE)`},
	{`type: exact`, `"Paris"`, `"\n Paris\t"`, `1 (Paris)`},
	{`type: exact, trim: false`, `"Paris"`, `" Paris"`, `0 (Paris): want Paris, got " Paris"`},
	{`type: exact`, `18`, `"18"`, `1 (18)`},
	{`type: exact`, `"18"`, `18`, `1 (18)`},
	{`type: exact`, `18`, `"18.0"`, `0 (18.0): want 18, got 18.0`},
	{`type: exact`, `1e21`, `1e21`, `1 (1e+21)`},
	{`type: exact`, `true`, `"true"`, `1 (true)`},
	{`type: exact`, `false`, `false`, `1 (false)`},
	{`type: exact`, `{"a":1}`, `{"a": 1}`, `1 ({"a":1})`},
	{`type: exact`, ``, `"Paris"`, `unscored: the target is missing`},
	{`type: exact`, `null`, `"Paris"`, `unscored: the target is missing`},
	{`type: exact`, `"Paris"`, ``, `0 (none)`},
	{`type: exact`, `"Paris"`, `null`, `0 (none)`},
	{`type: exact`, `"Paris"`, `" \n"`, `0 (none)`},
	{`type: exact`, `"\u00e9"`, `"e\u0301"`, "0 (e\u0301): want \u00e9, got e\u0301"}, // as texts stand, not as they look

	{`type: exact, not: true`, `"Paris"`, `"Paris"`, `0 (Paris): it holds, and not is set`},
	{`type: exact, not: true`, `"Paris"`, `"Rome"`, `1 (Rome)`},
	{`type: exact, not: true`, `"Paris"`, `""`, `0 (none)`},
	{`type: exact, not: true`, ``, `"Rome"`, `unscored: the target is missing`},

	{`type: exact, value: output.answer`, `"x"`, `{"answer": "x"}`, `1 (x)`},
	{`type: exact, value: output.answer`, `"x"`, `{"answer": ""}`, `0 (none)`},
	{`type: exact, value: output.answer`, `"x"`, `{"answer": null}`, `0 (none)`},
	{`type: exact, value: output.answer`, `"x"`, `{}`, `unscored: value: key "answer" not found`},
	{`type: exact, target: target.b`, `{"b": "x"}`, `"x"`, `1 (x)`},
	{`type: exact, target: target.b`, `{"b": null}`, `"x"`, `unscored: the target is missing`},
	{`type: exact, target: target.b`, `{}`, `"x"`, `unscored: target: key "b" not found`},
	{`type: exact, target: '"x"'`, ``, `"x"`, `1 (x)`},

	{`type: exact, extract: '(?m)^A: (.*)$'`, `18`, `"so\nA: 17\nno,\nA: 18\n"`, `1 (18)`},
	{`type: exact, extract: '\d+'`, `18`, `"17 and 18."`, `1 (18)`},
	{`type: exact, extract: 'A: (\d+)|#### (\d+)'`, `18`, `"A: 17 #### 18"`, `1 (18)`},
	{`type: exact, extract: '(x)?18'`, `18`, `"18"`, `1 (18)`},
	{`type: exact, extract: 'A: (.*)'`, `18`, `"18"`, `0 (none)`},
	{`type: exact, extract: 'A: (.*)'`, `18`, `"A:  "`, `0 (none)`},
	{`type: exact, extract: '"n":(\d+)'`, `18`, `{"n": 18}`, `1 (18)`},
	{`type: exact, extract: {expr: 'output.split("=")[1]'}`, `18`, `"n=18"`, `1 (18)`},
	{`type: exact, extract: {expr: 'output.n'}`, `18`, `{"n": 18}`, `1 (18)`},
	{`type: exact, extract: {expr: 'output.n'}`, `18`, `null`, `0 (none)`},
	{`type: exact, value: output.text, extract: {regex: '(\d+)$'}`, `18`, `{"text": "is 18"}`, `1 (18)`},

	{`type: exact, value: output.a, extract: '\w+'`, `"null"`, `{"a": null}`, `0 (none)`},

	{`type: contains`, `"aris"`, `"Paris"`, `1 (Paris)`},
	{`type: contains`, `"ARIS"`, `"Paris"`, `0 (Paris): ARIS is not in it`},
	{`type: contains, ignore_case: true`, `"\u212Aelvin"`, `"in kelvin"`, `1 (in kelvin)`},
	{`type: contains`, `["a", "b", "z"]`, `"abc"`, `0.6667 (abc): z is not in it`},
	{`type: contains`, `[1, 2]`, `"1 and 2"`, `1 (1 and 2)`},
	{`type: contains`, `[]`, `"abc"`, `unscored: the target is an empty list`},
	{`type: contains`, `""`, `"abc"`, `unscored: the target is empty, which every text contains`},
	{`type: contains, not: true`, `"secret"`, `"fine"`, `1 (fine)`},
	{`type: contains, not: true`, `"secret"`, `"a secret"`, `0 (a secret): it holds, and not is set`},

	{`type: regex, pattern: '^\d+$'`, ``, `"18"`, `1 (18)`},
	{`type: regex, pattern: '^\d+$'`, ``, `18`, `1 (18)`},
	{`type: regex, pattern: '^\d+$'`, ``, `"x"`, `0 (x): no match of ^\d+$`},
	{`type: regex, pattern: '^ok', ignore_case: true`, ``, `"OK!"`, `1 (OK!)`},
	{`type: regex, pattern: '^ok|^yes', ignore_case: true`, ``, `"YES"`, `1 (YES)`},
	{`type: regex, pattern: '.'`, ``, `""`, `0 (none)`},

	{`type: numeric`, `18`, `"$ 18.00"`, `1 ($ 18.00)`},
	{`type: numeric`, `"1,234.5"`, `1234.5`, `1 (1234.5)`},
	{`type: numeric`, `18`, `"26"`, `0 (26): want 18, got 26`},
	{`type: numeric`, `18`, `"about 18"`, `0 (about 18): it is not a number`},
	{`type: numeric`, `18`, `true`, `0 (true): it is not a number`},
	{`type: numeric`, `18`, `"NaN"`, `0 (NaN): it is not a number`},
	{`type: numeric`, `18`, `"1e999"`, `0 (1e999): it is not a number`},
	{`type: numeric`, `"many"`, `"18"`, `unscored: the target is not a number: many`},
	{`type: numeric`, `"inf"`, `"inf"`, `unscored: the target is not a number: inf`},
	{`type: numeric, tolerance: 0.1`, `1`, `1.1`, `1 (1.1)`},
	{`type: numeric, tolerance: 0.1`, `1`, `1.1001`, `0 (1.1001): want 1, got 1.1001`},
	{`type: numeric, tolerance: 0`, `1`, `1.0000000000000002`, `0 (1.0000000000000002): want 1, got 1.0000000000000002`},
	{`type: numeric, relative: 0.01`, `-200`, `-202`, `1 (-202)`},
	{`type: numeric, relative: 0.01`, `-200`, `-203`, `0 (-203): want -200, got -203`},
	{`type: numeric, relative: 0.5`, `0`, `0.1`, `0 (0.1): want 0, got 0.1`},
	{`type: numeric, relative: 0.01, tolerance: 5`, `100`, `104`, `1 (104)`},
	{`type: numeric, relative: 0.1, tolerance: 5`, `100`, `109`, `1 (109)`},
	{`type: numeric, value: size(output)`, `2`, `[1, 2]`, `1 (2)`},

	{`type: one_of, options: [yes it is, 1, true]`, ``, `"yes it is"`, `1 (yes it is)`},
	{`type: one_of, options: [yes it is, 1, true]`, ``, `" 1"`, `1 (1)`},
	{`type: one_of, options: [yes it is, 1, true]`, ``, `"no"`, `0 (no): want one of yes it is, 1, true, got no`},
	{`type: one_of, ignore_case: true`, `["A", "B"]`, `"b"`, `1 (b)`},
	{`type: one_of`, `"A"`, `"A"`, `1 (A)`},
	{`type: one_of`, `[]`, `"A"`, `unscored: the target is an empty list`},
	{`type: one_of`, ``, `"A"`, `unscored: the target is missing`},

	{`type: json_equal`, `{"a": 1, "b": [1, 2]}`, `{"b": [1.0, 2], "a": 1}`, `1 ({"b":[1,2],"a":1})`},
	{`type: json_equal`, `{"b": [1, 2]}`, `{"b": [2, 1]}`, `0 ({"b":[2,1]}): want {"b":[1,2]}, got {"b":[2,1]}`},
	{`type: json_equal`, `{"a": 1}`, `"{\"a\": 1e0}"`, `1 ({"a": 1e0})`},
	{`type: json_equal`, `{"a": 1}`, `"so: {}"`, `0 (so: {}): want {"a":1}, got so: {}`},
	{`type: json_equal`, `{"a": null}`, `{}`, `0 ({}): want {"a":null}, got {}`},
	{`type: json_equal`, `"abc"`, `"abc"`, `1 (abc)`},
	{`type: json_equal`, `false`, `0`, `0 (0): want false, got 0`},

	{`type: json_schema, schema: {type: object, required: [a]}`, ``, `{"a": 1}`, `1 ({"a":1})`},
	{`type: json_schema, schema: {type: object, required: [a]}`, ``, `"{\"a\": 1}"`, `1 ({"a": 1})`},
	{`type: json_schema, schema: {type: object, required: [a]}`, ``, `{}`, `0 ({}): missing property 'a'`},
	{`type: json_schema, schema: {properties: {a: {type: integer}}}`, ``, `{"a": 1.0}`, `1 ({"a":1})`},
	{`type: json_schema, schema: {properties: {a: {type: integer}}}`, ``, `{"a": "x"}`, `0 ({"a":"x"}): at /a: got string, want integer`},
	{`type: json_schema, schema: {type: object}`, ``, `"no JSON"`, `0 (no JSON): invalid JSON: at byte 2: invalid character 'o' in literal null (expecting 'u')`},
	{`type: json_schema, schema: {type: object}`, ``, ``, `0 (none)`},

	{`type: cel, expr: output.n >= 1 && output.n <= 10`, ``, `{"n": 3}`, `1`},
	{`type: cel, expr: output.n >= 1 && output.n <= 10`, ``, `{"n": 30}`, `0: output.n >= 1 && output.n <= 10 is false`},
	{`type: cel, expr: output.n >= 1 && output.n <= 10`, ``, `{}`, `unscored: key "n" not found`},
	{`type: cel, expr: output.n >= 1 && output.n <= 10`, ``, ``, `0 (none)`},
	{`type: cel, expr: double(output) / 4.0`, ``, `3`, `0.75`},
	{`type: cel, expr: double(output) / 4.0, not: true`, ``, `3`, `0.25`},
	{`type: cel, expr: size(output)`, ``, `["a"]`, `1`},
	{`type: cel, expr: double(output)`, ``, `1.5`, `unscored: scorer s gave 1.5, which is not between 0 and 1`},
	{`type: cel, expr: double(output)`, ``, `-0.5`, `unscored: scorer s gave -0.5, which is not between 0 and 1`},
	{`type: cel, expr: double(output) / 0.0`, ``, `1`, `unscored: scorer s gave +Inf, which is not between 0 and 1`},
	{`type: cel, expr: double(output) / 0.0`, ``, `0`, `unscored: scorer s gave NaN, which is not between 0 and 1`},
	{`type: cel, expr: double(output), not: true`, ``, `2`, `unscored: scorer s gave 2, which is not between 0 and 1`},
	{`type: cel, expr: output == target`, `[1, {"a": 2}]`, `[1, {"a": 2}]`, `1`},
	{`type: cel, expr: task.target == target && task.id == "t"`, `1`, `"x"`, `1`},
	{`type: cel, expr: string(output)`, ``, `"x"`, `unscored: the result is neither a number nor a boolean: x`},

	{`type: judge, model: m, rubric: good`, ``, `"x"`, `unscored: no model is configured`},
}

// F80, P19 among others: what is no number between 0 and 1 is no score, and says whose it is.
func TestVerdicts(t *testing.T) {
	for _, c := range slices.Concat(verdicts, forms, similarities, maths) {
		t.Run(c.scorer+" "+c.output, func(t *testing.T) {
			if got := shown(scored(t, c.scorer, c.target, c.output)); got != c.want {
				t.Errorf("target %s, output %s:\n got %s\nwant %s", c.target, c.output, got, c.want)
			}
		})
	}
}

// Validation visits keys at random; what is said of a value must not.
func TestViolationIsTheSameEveryTime(t *testing.T) {
	s := set(t, `- {name: s, type: json_schema, schema: {properties: {b: {type: integer}, a: {allOf: [{minLength: 9}, {pattern: z}]}}, additionalProperties: false}}`)
	r := run(`{"a": "x", "b": "x"}`, `{"z": 1, "y": 2, "x": 3, "w": 4}`)
	want := "s 1 0 ({\"a\":\"x\",\"b\":\"x\"}): at /a: 'x' does not match pattern 'z'\n" +
		`s 2 0 ({"z":1,"y":2,"x":3,"w":4}): additional properties 'w', 'x', 'y', 'z' not allowed`
	for range 50 {
		if got := shownAll(s.Score(context.Background(), task(t, ""), r)[1:]); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// Every type that a suite may name can be made, and no other.
func TestTheTableHasTheTypesOfTheLanguage(t *testing.T) {
	types, made := spec.ScorerType("").Words(), slices.Collect(maps.Keys(makers()))
	for _, name := range types {
		if at := slices.Index(made, spec.ScorerType(name)); at < 0 {
			t.Errorf("scorers makes no %s", name)
		} else {
			made = slices.Delete(made, at, at+1)
		}
	}
	if len(made) > 0 || len(types) < 40 {
		t.Errorf("of %d types, spec lacks %v", len(types), made)
	}
}
