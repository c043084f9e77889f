package source

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/expect"
)

// badValues stand alone in a sample that is otherwise fine.
var badValues = []struct{ text, want string }{
	{"note: 5", `1:7: want text, got 5; put it in quotes: "5"`},
	{"note: 0.5", `1:7: want text, got 0.5; put it in quotes: "0.5"`},
	{"note: true", `1:7: want text, got true; put it in quotes: "true"`},
	{"note: 2026-01-31", `1:7: want text, got the date 2026-01-31; put it in quotes: "2026-01-31"`},
	{"note: [a]", `1:7: want text, got a list; put text that starts with [ in quotes`},
	{"note: {a: b}", `1:7: want text, got a mapping; write the text alone: b`},
	{"note: {{ feedback }}", `1:8: want a key, got a mapping; put text that starts with {{ in quotes`},
	{"note:\n  a: b", `2:3: want text, got a mapping`},
	{"note:", `1:6: want text, got nothing; give a value or delete the key`},
	{"note: ~", `1:7: want text, got ~; give a value or delete the key`},
	{"reply: jsn", `1:8: want one of text, json, got jsn; did you mean "json"?`},
	{"reply: " + strings.Repeat("x", 50), "1:8: want one of text, json, got " + strings.Repeat("x", longText) + "..."},
	{"reply: 'x l'", `1:8: want one of text, json, got "x l"`},
	{"max_iterations: 1.5", `1:17: want a whole number from 1 to 100, got 1.5; write it without a fraction or exponent`},
	{"max_iterations: 1.0", `1:17: want a whole number from 1 to 100, got 1.0; write it without a fraction or exponent`},
	{"max_iterations: 1e3", `1:17: want a whole number from 1 to 100, got 1e3; write it without a fraction or exponent`},
	{"max_iterations: 010", `1:17: want a whole number from 1 to 100, got 010; write it in decimal digits, without a leading 0`},
	{"max_iterations: 0x10", `1:17: want a whole number from 1 to 100, got 0x10; write it in decimal digits, without a leading 0`},
	{"max_iterations: 0o17", `1:17: want a whole number from 1 to 100, got 0o17; write it in decimal digits, without a leading 0`},
	{"max_iterations: 0b11", `1:17: want a whole number from 1 to 100, got 0b11; write it in decimal digits, without a leading 0`},
	{"max_iterations: 1_0", `1:17: want a whole number from 1 to 100, got 1_0; write it in decimal digits, without a leading 0`},
	{"max_iterations: '5'", `1:17: want a whole number from 1 to 100, got "5"; remove the quotes`},
	{"max_iterations: ten", `1:17: want a whole number from 1 to 100, got ten`},
	{"max_iterations: .nan", `1:17: want a whole number from 1 to 100, got .nan; write a finite number in decimal digits`},
	{"max_iterations: 0", `1:17: want a whole number from 1 to 100, got 0`},
	{"max_iterations: 101", `1:17: want a whole number from 1 to 100, got 101`},
	{"max_iterations: -3", `1:17: want a whole number from 1 to 100, got -3`},
	{"max_iterations: no", `1:17: want a whole number from 1 to 100, got no`},
	{"max_iterations:", `1:16: want a whole number from 1 to 100, got nothing; give a value or delete the key`},
	{"max_iterations: [1]", `1:17: want a whole number from 1 to 100, got a list`},
	{"seed: 9223372036854775808", `1:7: want a whole number, got 9223372036854775808; at most 9223372036854775807 fits; put longer digits in quotes where text is wanted`},
	{"seed: 99999999999999999999", `1:7: want a whole number, got 99999999999999999999; at most 9223372036854775807 fits; put longer digits in quotes where text is wanted`},
	{"threshold: .nan", `1:12: want a number from 0 to 1, got .nan; write a finite number in decimal digits`},
	{"threshold: -.inf", `1:12: want a number from 0 to 1, got -.inf; write a finite number in decimal digits`},
	{"threshold: 1.5", `1:12: want a number from 0 to 1, got 1.5`},
	{"threshold: '0.5'", `1:12: want a number from 0 to 1, got "0.5"; remove the quotes`},
	{"threshold: 010", `1:12: want a number from 0 to 1, got 010; write it in decimal digits, without a leading 0`},
	{"threshold: 1_0.5", `1:12: want a number from 0 to 1, got 1_0.5; write a finite number in decimal digits`},
	{"threshold: 85%", `1:12: want a number from 0 to 1, got 85%; write 0.85`},
	{"price: 0", `1:8: want a number above 0, got 0`},
	{"price: 1e999", `1:8: want a number above 0, got 1e999`},
	{"strict: yes", `1:9: want true or false, got yes; write true`},
	{"strict: on", `1:9: want true or false, got on; write true`},
	{"strict: no", `1:9: want true or false, got no; write false`},
	{"strict: 1", `1:9: want true or false, got 1; write true`},
	{"strict: 'true'", `1:9: want true or false, got "true"; remove the quotes`},
	{"strict: maybe", `1:9: want true or false, got maybe`},
	{"timeout: 30", `1:10: want a duration above 0s, such as 30s, got 30; write a unit: 30s`},
	{"timeout: 1.5", `1:10: want a duration above 0s, such as 30s, got 1.5; write a unit: 1.5s`},
	{"timeout: -5s", `1:10: want a duration above 0s, such as 30s, got -5s; write numbers with units: 500ms, 30s, 5m, 1h30m`},
	{"timeout: 0s", `1:10: want a duration above 0s, such as 30s, got 0s; write numbers with units: 500ms, 30s, 5m, 1h30m`},
	{"timeout: 1 min", `1:10: want a duration above 0s, such as 30s, got 1 min; write numbers with units: 500ms, 30s, 5m, 1h30m`},
	{"timeout: ''", `1:10: want a duration above 0s, such as 30s, got ""; write numbers with units: 500ms, 30s, 5m, 1h30m`},
	{"wait: '0'", `1:7: want a duration such as 30s, got "0"; write numbers with units: 500ms, 30s, 5m, 1h30m`},
	{"wait: +5s", `1:7: want a duration such as 30s, got +5s; write numbers with units: 500ms, 30s, 5m, 1h30m`},
	{"tags: a", `1:7: want a list, got a; write a list: [a]`},
	{"tags: []", `1:7: want at least 1 item, got 0`},
	{"tags: {a: b}", `1:7: want a list, got a mapping; write a list: [first, second]`},
	{"tags:\n  a: b", `2:3: want a list, got a mapping; start each item with "- "`},
	{"tags: [a, ~, 1]", "1:11: want text, got ~; give a value or delete the item\n" + `1:14: want text, got 1; put it in quotes: "1"`},
	{"limits: [1, -1, 1.5]", "1:13: want a whole number of at least 0, got -1\n" +
		"1:17: want a whole number of at least 0, got 1.5; write it without a fraction or exponent"},
	{"phases: [a]", `1:10: want a mapping, got a; write {name: …}`},
	{"phases: [{max_iterations: 1}]", `1:10: key "name" is missing`},
	{"phase: name:x", `1:8: want a mapping, got name:x; put a space after the colon`},
	{"phase: {nme: a}", `1:9: unknown key "nme"; did you mean "name"?`},
	{"phase: {name: max(a, b)}", `1:22: unknown key "b)"; put text that holds one of , : [ ] { } # ? " in quotes`},
	{"phase: {name: a, colour: b}", `1:18: unknown key "colour"; known keys: name, max_iterations, inner`},
	{"phase: {name: a, inner: [{name: b, inner: [{}]}]}", `1:44: key "name" is missing`},
	{"env: [a]", `1:6: want a mapping, got a list`},
	{"env: {A: 1, B: }", `1:10: want text, got 1; put it in quotes: "1"` + "\n1:16: want text, got nothing; give a value or delete the key"},
	{"weights: {}", `1:10: want at least 1 key, got 0`},
	{"weights: {a: 0}", `1:14: want a number above 0, got 0`},
	{"vars: 010", `1:7: want a plain decimal number or text in quotes, got 010; write it in decimal digits, without a leading 0`},
	{"vars: {a: [.nan, 12345678901234567890]}", "1:12: want a plain decimal number or text in quotes, got .nan; write a finite number in decimal digits\n" +
		"1:18: want a plain decimal number or text in quotes, got 12345678901234567890; at most 9223372036854775807 fits; put longer digits in quotes where text is wanted"},
	{"vars: 99999999999999999999", `1:7: want a plain decimal number or text in quotes, got 99999999999999999999; at most 9223372036854775807 fits; put longer digits in quotes where text is wanted`},
	{"patience: 0", `1:11: want a whole number of at least 1 or off, got 0`},
	{"patience: false", `1:11: want a whole number of at least 1 or off, got false; write off`},
	{"patience: none", `1:11: want a whole number of at least 1 or off, got none; write off`},
	{"patience: Off", `1:11: want a whole number of at least 1 or off, got Off; write off`},
	{"patience: ~", `1:11: want a whole number of at least 1 or off, got ~; give a value or delete the key`},
	{"after: x", `1:8: want a mapping or off, got x; write {name: …}`},
	{"after: {}", `1:8: key "name" is missing`},
	{"command: 5", `1:10: want a list, got 5; write a list: [5]`},
	{"tags: python score.py", `1:7: want a list, got python score.py; write a list: [python, score.py], or [python score.py] if it is one item`},
	{"tags: a, b", `1:7: want a list, got a, b; write a list: [a, b], or ["a, b"] if it is one item`},
	{"tags: sh -c 'a b'", `1:7: want a list, got sh -c 'a b'; write a list: [sh -c 'a b']`},
	{"command: [a, 5]", `1:14: want text, got 5; put it in quotes: "5"`},
	{"command:", `1:9: want a value, got nothing; give a value or delete the key`},
	{"Ignored: x", `1:1: unknown key "Ignored"; known keys: name, reply, max_iterations, seed, threshold, price, strict, timeout, wait, phase, tags, limits, phases, env, vars, raw, patience, after, command, weights, note`},
	{"threshhold: 3", `1:1: unknown key "threshhold"; did you mean "threshold"?`},
	{"Max-Iterations: 3", `1:1: unknown key "Max-Iterations"; did you mean "max_iterations"?`},
}

// badFiles are whole files.
var badFiles = []struct{ text, want string }{
	{"{}", `1:1: key "name" is missing; what it is called`},
	{"name: ''", `1:7: want text that is not empty, got ""`},
	{"nam: a", `1:1: unknown key "nam"; did you mean "name"?`},
	{"- a", `1:1: want a mapping, got a list; write {name: …}`},
	{"hello", `1:1: want a mapping, got hello; write {name: …}`},
	{"~", `1:1: want a mapping, got ~; give a value or delete the key`},
}

func TestDecodeRefusesValues(t *testing.T) {
	refused := func(text, of, want string) {
		if _, faults := read(text + of); inShort(faults) != want {
			t.Errorf("%q\n got %s\nwant %s", text, inShort(faults), want)
		}
	}
	for _, c := range badValues {
		refused(c.text, "\nname: a\n", c.want)
	}
	for _, c := range badFiles {
		refused(c.text, "", c.want)
	}
}

func TestDecodeReportsEverythingAtOnce(t *testing.T) {
	_, faults := read("strict: yes\nname: 5\nname: x\nphase: {nme: 1}\nvars: 0x1\nmax_iterations: 0\n")
	want := []string{"1:9", "2:7", "3:1", "4:9", "5:7", "6:17"}
	faults.Sort()
	for i, f := range faults {
		if i >= len(want) || !strings.HasPrefix(f.Error(), "f:"+want[i]+":") {
			t.Errorf("fault %d is %v", i, f)
		}
	}
	if len(faults) != len(want) {
		t.Errorf("%d faults, want %d", len(faults), len(want))
	}
}

func TestDecodeFillsEveryKind(t *testing.T) {
	got, faults := read(`
name: a
reply: json
max_iterations: 3
seed: -7
threshold: 1
price: 1.5e-3
strict: true
timeout: 1m30s
phase: {name: p, max_iterations: 2, inner: [{name: q}]}
tags: ["1", two]
limits: [1, 2]
phases: [{name: x}, {name: y}]
env: {A: b}
vars: {day: 2026-01-31, n: 1, x: 1.5, on: on, none: ~, list: [true]}
raw: [1]
patience: 2
after: "off"
command: ls
weights: {a: 1}
note: |
  text
`)
	if faults != nil {
		t.Fatal(faults)
	}
	if got.Here.Get("raw") != got.Raw || got.Raw.Len() != 1 {
		t.Errorf("nodes: here %v, raw %v", got.Here, got.Raw)
	}
	got.Here, got.Raw = nil, nil
	want := sample{Name: "a", Reply: "json", Max: 3, Seed: -7, Threshold: 1, Price: 0.0015, Strict: true, Timeout: 90 * time.Second,
		Phase: &phase{Name: "p", Max: 2, Inner: []phase{{Name: "q"}}}, Tags: []string{"1", "two"}, Limits: []int{1, 2},
		Phases: []phase{{Name: "x"}, {Name: "y"}}, Env: map[string]string{"A": "b"},
		Vars: &Object{Keys: []string{"day", "n", "x", "on", "none", "list"},
			Values: []any{"2026-01-31", int64(1), 1.5, "on", nil, []any{true}}},
		Patience: Maybe[int]{Value: 2, Set: true}, After: Maybe[*phase]{Set: true, Off: true}, Command: words{"ls"},
		Weights: map[string]float64{"a": 1}, shared: shared{Note: "text\n"}}
	expect.Equal(t, "result", got, want)
}

func TestAbsentKeysKeepTheirValue(t *testing.T) {
	n, _ := Parse(NewFile("f", []byte("name: a")))
	p := phase{Max: 7}
	if faults := Decode(n, &p); faults != nil || p.Max != 7 || p.Name != "a" {
		t.Errorf("%+v %v", p, faults)
	}
}

func TestOffForgetsTheValue(t *testing.T) {
	m := Maybe[int]{Value: 4, Set: true}
	if faults := Decode(New(nil, "off"), &m); faults != nil || m != (Maybe[int]{Set: true, Off: true}) {
		t.Errorf("%+v %v", m, faults)
	}
	if faults := Decode(New(nil, 3), &m); faults != nil || m != (Maybe[int]{Set: true, Value: 3}) {
		t.Errorf("%+v %v", m, faults)
	}
}

func TestManyFaultsAreCutShort(t *testing.T) {
	_, faults := read("name: a\nlimits: [" + strings.Repeat("x, ", 5000) + "]")
	if len(faults) != maxFaults+1 {
		t.Errorf("%d faults", len(faults))
	}
	if last := faults[maxFaults]; last.What != "more than 100 faults; the others are not shown" {
		t.Error(last)
	}
}

// tagged is decoded and described with the tags that it holds.
type tagged struct {
	tag   reflect.StructTag
	value float64
}

func (x *tagged) DecodeNode(n *Node, d *Decoder) { d.DecodeTagged(n, &x.value, x.tag) }

func TestWantedSaysTheLimits(t *testing.T) {
	for tag, want := range map[reflect.StructTag]string{
		``:                    "want a number, got a list",
		`min:"1"`:             "want a number of at least 1, got a list",
		`max:"1"`:             "want a number of at most 1, got a list",
		`min:"0" max:"1"`:     "want a number from 0 to 1, got a list",
		`above:"0"`:           "want a number above 0, got a list",
		`above:"0" max:"100"`: "want a number above 0, at most 100, got a list",
	} {
		x := tagged{tag: tag}
		if faults := Decode(New(nil, []any{}), &x); faults.Error() != want {
			t.Errorf("%s: %v", tag, faults)
		}
	}
}

// tool is a mapping, or one of its short forms.
type tool struct {
	Argv    []string `yaml:"command" short:"list" minlen:"1"`
	Paths   []string `short:"text" minlen:"2"`
	Free    bool     `short:"free"`
	Timeout int      `yaml:"timeout" min:"1"`
	Node    *Node    `yaml:",here"`
}

func TestShortForms(t *testing.T) {
	for text, want := range map[string]tool{
		"[a, b]":            {Argv: []string{"a", "b"}},
		"abc":               {Paths: []string{"abc"}},
		"{command: [a]}":    {Argv: []string{"a"}},
		"{timeout: 3}":      {Timeout: 3},
		"{command: [free]}": {Argv: []string{"free"}},
	} {
		var got tool
		if faults := Decode(parsed(t, text), &got); faults != nil || got.Node == nil {
			t.Errorf("%s: %v, %v", text, faults, got.Node)
		}
		if got.Node = nil; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", text, got)
		}
	}
	for text, want := range map[string]string{
		"[]":           "1:1: want at least 1 item, got 0",
		"a":            "1:1: want text of at least 2 characters, got a",
		"{paths: abc}": `1:2: unknown key "paths"; known keys: command, timeout`,
		"{timeout: 0}": "1:11: want a whole number of at least 1, got 0",
	} {
		expect.Equal(t, text, inShort(Decode(parsed(t, text), &tool{})), want)
	}
	type priced struct {
		Free  bool    `short:"free"`
		Input float64 `yaml:"input" need:"required"`
	}
	var p priced
	if faults := Decode(parsed(t, "free"), &p); faults != nil || !p.Free {
		t.Error(faults)
	}
	if got := inShort(Decode(parsed(t, "fre"), &p)); got != "1:1: want free or a mapping, got fre; write {input: …}" {
		t.Error(got)
	}
	schema := compiled(t, Schema(priced{}))
	for text, want := range map[string]bool{"free": true, "fre": false, "{input: 1}": true, "{}": false, "[]": false} {
		expect.Equal(t, text, schema.Validate(jsonOf(parsed(t, text))) == nil, want)
	}
}

func TestKeysInTheWrongPlace(t *testing.T) {
	type below struct {
		Rate int     `yaml:"rate"`
		Each []phase `yaml:"each"`
	}
	type loop struct {
		Limit *below        `yaml:"limit"`
		Named Named[tagged] `yaml:"named"`
		More  Named[below]  `yaml:"more"`
	}
	type suite struct {
		Trials int `yaml:"trials"`
	}
	for key, want := range map[string]string{
		"rate": "write limit: {rate: …}", "each": "write limit: {each: …}", "inner": "known keys: limit, named, more", "trials": "it belongs to the suite", "colour": "known keys: limit, named, more",
	} {
		d := Decoder{Language: []Part{{"the suite", suite{}}}}
		faults := d.Whole(parsed(t, key+": 1"), &loop{})
		if len(faults) != 1 || faults[0].Hint != want {
			t.Errorf("%s: %v", key, faults)
		}
	}
}

func TestLengthsOfTextAreCountedInRunes(t *testing.T) {
	x := struct {
		Code string         `yaml:"code" minlen:"3"`
		Map  map[string]any `yaml:"map" minlen:"2"`
	}{}
	n, _ := Parse(NewFile("f", []byte("code: äö\nmap: {a: 1}\n")))
	expect.Equal(t, "result", inShort(Decode(n, &x)), "1:7: want text of at least 3 characters, got äö\n2:6: want at least 2 keys, got 1")
	n, _ = Parse(NewFile("f", []byte("code: äöü\nmap: {a: ~, b: 1}\n")))
	if faults := Decode(n, &x); faults != nil {
		t.Error(faults)
	}
}

func TestEnormousMessagesAreCut(t *testing.T) {
	var printed strings.Builder
	Faults{{What: "begin" + strings.Repeat("x", 1_000_000) + "end", Hint: strings.Repeat("y", 1_000_000)}}.Print(&printed, nil)
	if text := printed.String(); len(text) > 5000 || !strings.HasPrefix(text, "begin") || !strings.Contains(text, "end\n") {
		t.Errorf("%d bytes: %.100s", len(text), text)
	}
}

func TestNamedKeepsTheOrder(t *testing.T) {
	var limits Named[int]
	if faults := Decode(parsed(t, "z: 1\na: 2\nm: 3\n"), &limits); faults != nil {
		t.Fatal(faults)
	}
	expect.Equal(t, "result", limits.Keys(), []string{"z", "a", "m"})
	if value, ok := limits.Get("m"); value != 3 || !ok {
		t.Error(value, ok)
	}
	if _, ok := limits.Get("x"); ok || limits[1].KeyPos != (Pos{2, 1}) || limits[1].Node.Text != "2" {
		t.Errorf("%+v", limits)
	}
	expect.Equal(t, "result", inShort(Decode(parsed(t, "[1]"), &limits)), "1:1: want a mapping, got a list; write name: value")
	if got := inShort(Decode(parsed(t, "{a: x, b: }"), &limits)); got != "1:5: want a whole number, got x\n1:11: want a whole number, got nothing; give a value or delete the key" {
		t.Error(got)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1000": 1000, "12B": 12, "1kB": 1000, "1KB": 1000, "1.5KiB": 1536, "500MB": 500e6, "2 GiB": 2 << 30, "1tb": 1e12,
	} {
		if got, err := Size(text); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "many", "-1", "NaN", "Inf", "1e30", "MB", "1PB"} {
		if got, err := Size(text); err == nil {
			t.Errorf("%s: %d", text, got)
		}
	}
}

// Keys that need, exclude or replace each other are tags of their struct. Where a key is misspelt, one may be meant by it.
func TestKeysBesideEachOther(t *testing.T) {
	type peer struct {
		Command string `yaml:"command"`
		URL     string `yaml:"url"`
		Pipe    string `yaml:"pipe"`
		Env     string `yaml:"env" with:"command pipe"`
		Most    int    `yaml:"most" without:"env least"`
		Least   int    `yaml:"least"`
		_       any    `one:"command url pipe" hint:"one server"`
		_       any    `some:"env most"`
	}
	for text, want := range map[string]string{
		"{command: a, env: b}":                    "",
		"{pipe: a, most: 1}":                      "",
		"{most: 1}":                               "1:1: want one of command, url and pipe, got none of them; one server",
		"{command: a, url: b, most: 1, env: c}":   "1:1: want one of command, url and pipe, got command and url; one server",
		"{url: a}":                                "1:1: want at least one of env and most",
		"{url: a, env: b}":                        `1:10: "env" needs command or pipe; write command or pipe, or delete env`,
		"{command: a, env: b, most: 1, least: 2}": `1:22: "most" excludes env and least; keep one of them`,
		"{comand: a, env: b}":                     `1:2: unknown key "comand"; did you mean "command"?`,
		"{url: a, env: b, most: 1}":               `1:10: "env" needs command or pipe; write command or pipe, or delete env` + "\n" + `1:18: "most" excludes env; keep one of them`,
	} {
		tree, faults := Parse(NewFile("f", []byte(text)))
		faults = append(faults, Decode(tree, &peer{})...)
		var got []string
		for _, f := range faults {
			got = append(got, strings.TrimPrefix(strings.TrimSuffix(f.Error()+"; "+f.Hint, "; "), "f:"))
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%s: %s", text, strings.Join(got, "\n"))
		}
	}
}
