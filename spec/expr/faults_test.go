package expr

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"pgregory.net/rapid"
)

var plainEnv = sync.OnceValues(func() (*Env, error) { return newTestEnv(Options{}) })

// testEnv has one variable of every kind.
func testEnv(t testing.TB, options Options) *Env {
	t.Helper()
	env, err := plainEnv()
	if !reflect.DeepEqual(options, Options{}) {
		env, err = newTestEnv(options)
	}
	must(t, err)
	return env
}

func newTestEnv(options Options) (*Env, error) {
	step := Struct("step", Var{"confidence", Nullable(Double)}, Var{"output", String}, Var{"tags", ListOf(String)})
	return NewEnv([]Var{
		{"output", Any}, {"text", String}, {"iteration", Int}, {"confidence", Nullable(Double)}, {"cost", Double},
		{"passed", Bool}, {"elapsed", Duration}, {"best", step}, {"history", ListOf(step)}, {"param", MapOf(Any)},
		{"run", Struct("run", Var{"score", Double})}, {"checks", MapOf(Struct("check", Var{"passed", Bool}))}, {"tags", ListOf(String)},
	}, options)
}

func TestFaults(t *testing.T) {
	env := testEnv(t, Options{})
	for _, c := range []struct {
		src  string
		want Want
		Fault
	}{
		{"iteratoin > 1", WantBool, Fault{0, 9, `unknown name "iteratoin"`, `did you mean "iteration"?`, false}},
		{"passed &&\n  iteratoin > 1", WantBool, Fault{12, 9, `unknown name "iteratoin"`, `did you mean "iteration"?`, false}},
		{"'äöü' == text && txet == ''", WantBool, Fault{17, 4, `unknown name "txet"`, `did you mean "text"?`, false}},
		{"text.contians('x')", WantBool, Fault{13, 0, `unknown name "contians"`, `did you mean "contains"?`, false}},
		{"best.confidnce > 0.5", WantBool, Fault{5, 9, `unknown field "confidnce"`, `did you mean "confidence"?`, false}},
		{"history.exists(h, h.confidnce > 1.0)", WantBool, Fault{20, 9, `unknown field "confidnce"`, `did you mean "confidence"?`, false}},
		{"tags.exists(t, t == 'a') && score > 0.5", WantBool, Fault{28, 5, `unknown name "score"`, `did you mean "run.score"?`, false}},
		{"checks['a'].pased", WantBool, Fault{12, 5, `unknown field "pased"`, `did you mean "passed"?`, false}},
		{"checks['a'].tags", WantBool, Fault{12, 4, `unknown field "tags"`, "there are passed", false}},
		{"text.size", WantAny, Fault{4, 0, "a value of type string has no fields", "only objects have fields; the output of an agent is one under reply: json", false}},
		{"iteration + 0.5", WantNumber, Fault{10, 0, "+ does not take (int, double)", "numbers of different types do not mix in arithmetic: write 10.0, or double(...)", false}},
		{"elapsed > 60", WantBool, Fault{8, 0, "> does not take (duration, int)", `compare a duration with duration("60s")`, false}},
		{"text + 1", WantString, Fault{5, 0, "+ does not take (string, int)", "make it a text first: string(...)", false}},
		{"iteration", WantBool, Fault{0, 0, "this must be true or false, but it is of type int", "compare it with a number: ... > 0", false}},
		{"output.ok", WantBool, Fault{0, 0, "this must be true or false, but its type is known only at run time", "wrap it: bool(...)", false}},
		{"output.n", WantNumber, Fault{0, 0, "this must be a number, but its type is known only at run time", "wrap it: double(...)", false}},
		{"output.s", WantString, Fault{0, 0, "this must be a string, but its type is known only at run time", "wrap it: string(...)", false}},
		{"cost", WantString, Fault{0, 0, "this must be a string, but it is of type double", "wrap it: string(...)", false}},
		{"text", WantList, Fault{0, 0, "this must be a list, but it is of type string", "", false}},
		{"best", WantNumber, Fault{0, 0, "this must be a number, but it is a record (step)", "", false}},
		{"size(text", WantAny, Fault{9, 0, "syntax error: the expression ends too early", "close the parenthesis with )", false}},
		{"text text", WantAny, Fault{5, 0, "syntax error: unexpected 'text'", "", false}},
		{"text = 'abc'", WantAny, Fault{5, 0, "syntax error: unexpected '='", "write == to compare", false}},
		{"passed and passed", WantAny, Fault{7, 0, "syntax error: unexpected 'and'", "write && for and", false}},
		{"passed & passed", WantAny, Fault{7, 0, "syntax error: unexpected '&'", "write && for and", false}},
		{"passed | passed", WantAny, Fault{7, 0, "syntax error: unexpected '|'", "write || for or; what is a filter elsewhere is a function here: f(x)", false}},
		{"len(text) > 1", WantBool, Fault{3, 0, `unknown name "len"`, `did you mean "size"?`, false}},
		{"text.length() > 1", WantBool, Fault{11, 0, `unknown name "length"`, `did you mean "size"?`, false}},
		{"passed == True", WantBool, Fault{10, 4, `unknown name "True"`, `did you mean "true"?`, false}},
		{"not passed", WantBool, Fault{4, 0, "syntax error: unexpected 'passed'", "write ! for not: !(...)", false}},
		{"text matches 'a'", WantBool, Fault{5, 0, "syntax error: unexpected 'matches'", "write it as a call: output.matches(...)", false}},
		{"iteration =< 3", WantBool, Fault{10, 0, "syntax error: unexpected '=<'", "write <=", false}},
		{"run.score >= 50%", WantBool, Fault{16, 0, "syntax error: the expression ends too early", "write 0.5 for 50%", false}},
		{"{{ passed }}", WantBool, Fault{10, 0, "syntax error: unexpected '}'", "leave out {{ and }}: this is CEL already", false}},
		{"text.length > 3", WantBool, Fault{4, 0, "a value of type string has no fields", "write size(...)", false}},
		{"text == null", WantBool, Fault{5, 0, "== does not take (string, null)", `a text is never null: compare it with ""`, false}},
		{"iteration > '3'", WantBool, Fault{10, 0, "> does not take (int, string)", "a text and a number do not compare: remove the quotes, or convert with double(...)", false}},
		{"text.lower() == 'a'", WantBool, Fault{10, 0, `unknown name "lower"`, `did you mean "lowerAscii"?`, false}},
		{"answer == 'a'", WantBool, Fault{0, 6, `unknown name "answer"`, `did you mean "output"?`, false}},
		{"nosuch > 1", WantBool, Fault{0, 6, `unknown name "nosuch"`, "there are output, text, iteration, confidence, cost, passed, elapsed, best, history, param, run, checks, tags", false}},
		{"run.nosuch > 1", WantBool, Fault{4, 6, `unknown field "nosuch"`, "there are score", false}},
		{"text == 'abc", WantAny, Fault{8, 0, "syntax error: a string is not closed", "end it with the quote that it starts with", false}},
		{"", WantAny, Fault{0, 0, "syntax error: the expression ends too early", "", false}},
		{"{1: 2}", WantAny, Fault{1, 0, "the keys of an object are strings", `write "key": value`, false}},
		{"{'a': 1, 'a': 2}", WantAny, Fault{9, 0, `the key "a" appears twice`, "", false}},
		{"step{}", WantAny, Fault{4, 0, "a type name before {", `write an object as {"key": value}`, false}},
		{"json(history)", WantAny, Fault{5, 0, "a record cannot be written as JSON", `choose its fields: {"output": ...}`, false}},
		{"text.matches('(')", WantBool, Fault{13, 0, "error parsing regexp: missing closing ): `(`", "regular expressions are those of RE2: no look-around, no back references", false}},
		{"regex.replace(text, '(?=a)', '') == ''", WantBool, Fault{20, 0, "error parsing regexp: invalid or unsupported Perl syntax: `(?=`", "regular expressions are those of RE2: no look-around, no back references", false}},
		{"duration('5 minutes') > elapsed", WantBool, Fault{9, 0, "invalid duration argument", "", false}},
		{"text == '\xff'", WantBool, Fault{0, 0, "the expression is not valid UTF-8", "", false}},
	} {
		program, faults := env.Compile(c.src, c.want)
		if program != nil || len(faults) != 1 || faults[0] != c.Fault {
			t.Errorf("%q: got %+v, want %+v", c.src, faults, c.Fault)
		}
	}
}

func TestEveryFaultIsReported(t *testing.T) {
	_, faults := testEnv(t, Options{}).Compile("iteratoin > 1 && txet == ''", WantBool)
	if len(faults) != 2 || faults[0].Offset != 0 || faults[1].Offset != 17 {
		t.Errorf("got %+v", faults)
	}
}

func TestWarnings(t *testing.T) {
	env := testEnv(t, Options{})
	const mixed = "numbers of JSON are doubles, and arithmetic does not mix them with integers"
	for _, c := range []struct {
		src string
		Fault
	}{
		{"output.n + 10 > 3", Fault{11, 2, mixed, "write 10.0", true}},
		{"3 * output.n > 3", Fault{0, 1, mixed, "write 3.0", true}},
		{"output.n / iteration > 3", Fault{11, 0, mixed, "wrap it: double(...)", true}},
	} {
		program, faults := env.Compile(c.src, WantBool)
		if program == nil || len(faults) != 1 || faults[0] != c.Fault {
			t.Errorf("%q: got %+v, want %+v", c.src, faults, c.Fault)
		}
	}
	for _, src := range []string{"output.n == 3", "output.n > 3", "output.n + 10.0 > 3.0", "iteration + 1 > 2", "output.n in [1, 3]",
		"param.limit - 1 > 2", `param["limit"] - 1 > 2`} {
		if _, faults := env.Compile(src, WantBool); len(faults) != 0 {
			t.Errorf("%q: got %+v", src, faults)
		}
	}
}

func TestWantsAccept(t *testing.T) {
	env := testEnv(t, Options{})
	for src, want := range map[string]Want{
		"passed": WantBool, "bool(output.ok)": WantBool, "confidence": WantNumber, "iteration": WantNumber, "double(output.n)": WantNumber,
		"text": WantString, "output.list": WantList, "history": WantList, "best": WantAny, "text.matches('[a-z]+')": WantBool,
		"confidence >= 1": WantBool, "iteration > 1.5": WantBool, "best == null": WantBool, "confidence != null": WantBool,
	} {
		programOf(t, env, src, want)
	}
}

func TestOneStructNameHasOneSetOfFields(t *testing.T) {
	_, err := NewEnv([]Var{{"a", Struct("x", Var{"p", Int})}, {"b", ListOf(Struct("x", Var{"p", String}))}}, Options{})
	if err == nil || !strings.Contains(err.Error(), "declaring variable b: struct x is declared with different fields") {
		t.Errorf("got %v", err)
	}
}

func TestProgramsAreCompiledOnce(t *testing.T) {
	env := testEnv(t, Options{})
	first, _ := env.Compile("iteration > 1", WantBool)
	again, _ := env.Compile("iteration > 1", WantBool)
	other, faults := env.Compile("iteration > 1", WantNumber)
	if first == nil || first != again {
		t.Error("the same expression was compiled twice")
	}
	if other != nil || len(faults) != 1 {
		t.Error("the wish for another type was answered from the cache")
	}
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{"iteration > 1 && confidence >= 0.9", "history.exists(h, h.output == text)", `{"a": [1, 2.0]}.transformMap(k, v, v)`,
		"output.?a.orValue(1)", "cel.bind(x, text + text, x.size())", "'%s'.format([text])", "text.replace('a', text)", "r'''\\''' + b'x'", "a.b{c: 1}", "[[["} {
		f.Add(seed)
	}
	env := testEnv(f, Options{})
	scope := testScope()
	f.Fuzz(func(t *testing.T, src string) {
		program, faults := env.compile(src, func(*Program) []Fault { return nil })
		if (program == nil) != anyError(faults) {
			t.Fatalf("%q: program %v, faults %+v", src, program, faults)
		}
		for _, fault := range faults {
			if fault.Offset < 0 || fault.Offset > len([]rune(src)) || fault.What == "" || strings.Contains(fault.What, "cannot be compiled") {
				t.Fatalf("%q: %+v", src, fault)
			}
		}
		if program != nil {
			value, err := program.Value(t.Context(), scope)
			if err == nil && value != nil && program.Reads() == nil {
				t.Fatalf("%q: no list of what it reads", src)
			}
		}
	})
}

func TestVerdictsAreComparedWithVerdictsOnly(t *testing.T) {
	for src, want := range map[string]string{
		`diff.scores["a"].verdict != "worse"`:                      "",
		`"same" == diff.cost_usd.verdict`:                          "",
		`diff.tokens.verdict in ["better", "cannot_tell"]`:         "",
		`diff.scores.all(s, diff.scores[s].verdict != "worse")`:    "",
		`diff.configuration == "wrose"`:                            "",
		`diff.scores["a"].verdict != "wrose"`:                      `verdict is never "wrose"`,
		`"equal" == diff.cost_usd.verdict`:                         `verdict is never "equal"`,
		`diff.tokens.verdict in ["better", "cannot tell"]`:         `verdict is never "cannot tell"`,
		`diff.scores.exists(s, diff.scores[s].verdict == "shown")`: `verdict is never "shown"`,
	} {
		program, faults := Threshold().Compile(src, WantBool)
		if (program == nil) != (want != "") || want != "" && faults[0].What != want {
			t.Errorf("%s: %+v, want %q", src, faults, want)
		}
	}
}

// heavy has 1002 instructions.
const heavy = "(.*?,){200}"

// calls are a call of every function that takes a regular expression, given as %s; each gives a boolean.
var calls = map[string][]string{
	"matches":          {"text.matches(%s)", "matches(text, %s)"},
	"regex.extract":    {"regex.extract(text, %s).orValue('') == ''"},
	"regex.extractAll": {"regex.extractAll(text, %s).size() == 0"},
	"regex.replace":    {"regex.replace(text, %s, 'x') == text", "regex.replace(text, %s, 'x', 1) == text"},
}

// C.22: every function of the language that takes a regular expression refuses a search that would take too long before
// it begins, names both numbers, and searches a text that is short enough.
func TestEveryFunctionBoundsItsSearches(t *testing.T) {
	env, scope := testEnv(t, Options{}), testScope()
	for name, function := range env.cel.Functions() {
		for _, overload := range function.OverloadDecls() {
			if id := strings.ToLower(name + " " + overload.ID()); (strings.Contains(id, "regex") || strings.Contains(id, "match")) && (searches[name] == nil || calls[name] == nil) {
				t.Errorf("%s takes a regular expression, and nothing bounds it", overload.ID())
			}
		}
	}
	param := NewObject(1)
	param.Set("heavy", heavy)
	scope["param"] = param
	for name := range searches {
		for _, call := range calls[name] {
			for _, source := range []string{"'" + heavy + "'", "string(param.heavy)"} {
				src := fmt.Sprintf(call, source)
				program := programOf(t, env, src, WantBool)
				scope["text"] = strings.Repeat("a", 1_000_000)
				_, err := program.Bool(t.Context(), scope)
				if err == nil || !strings.Contains(err.Error(), "1002 instructions x 1000000 bytes") {
					t.Errorf("%s: %v", src, err)
				}
				scope["text"] = "a"
				if _, err := program.Bool(t.Context(), scope); err != nil {
					t.Errorf("%s on a short text: %v", src, err)
				}
			}
		}
	}
}

// What a search gives is what cel-go's function gives, errors included.
func TestSearchesGiveWhatCELGives(t *testing.T) {
	ours, err := NewEnv([]Var{{"text", String}, {"re", String}, {"by", String}, {"n", Int}}, Options{})
	must(t, err)
	theirs, err := cel.NewEnv(cel.OptionalTypes(), ext.Regex(), cel.Variable("text", cel.StringType),
		cel.Variable("re", cel.StringType), cel.Variable("by", cel.StringType), cel.Variable("n", cel.IntType))
	must(t, err)
	propertytest.Check(t, func(t *rapid.T) {
		re := rapid.SampledFrom([]string{"a", "a*", "(a)b?", "(a)(b)?", "(b)|a", "x", "", "^a", `\bab`, "[ab]+", "(", "é?"}).Draw(t, "re")
		src := rapid.SampledFrom([]string{"text.matches(RE)", "matches(text, RE)", "regex.extract(text, RE).orValue('none')",
			"regex.extractAll(text, RE)", "regex.replace(text, RE, by)", "regex.replace(text, RE, by, n)"}).Draw(t, "call")
		written := "re"
		if re != "(" && rapid.Bool().Draw(t, "literal") {
			written = fmt.Sprintf("r'%s'", re)
		}
		src = strings.ReplaceAll(src, "RE", written)
		n := rapid.IntRange(-1, 3).Draw(t, "n")
		if re == "(" && n == 0 {
			n = 1 // cel-go does not look at an expression that replaces nothing
		}
		scope := map[string]any{"re": re, "n": int64(n),
			"text": strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "ab", " ", "é"})).Draw(t, "text"), ""),
			"by":   rapid.SampledFrom([]string{"", "é-", `<\0>`, `a\\b`, "$1"}).Draw(t, "by")}
		program, faults := ours.Compile(src, WantAny)
		if program == nil {
			t.Fatal(src, faults)
		}
		got, gotErr := program.Value(context.Background(), vars(scope))
		tree, issues := theirs.Compile(src)
		if issues.Err() != nil {
			t.Fatal(src, issues.Err())
		}
		peer, err := theirs.Program(tree)
		must(t, err)
		want, _, wantErr := peer.Eval(scope)
		switch {
		case wantErr != nil:
			if gotErr == nil || gotErr.Error() != wantErr.Error() {
				t.Fatalf("%s of %v: %v, %v; want the error %v", src, scope, got, gotErr, wantErr)
			}
		case gotErr != nil || ours.cel.CELTypeAdapter().NativeToValue(got).Equal(want).Value() != true:
			t.Fatalf("%s of %v: %v, %v; want %v", src, scope, got, gotErr, want)
		}
	})
}
