package expr

import (
	"strings"
	"testing"
)

// testEnv has one variable of every kind.
func testEnv(t testing.TB, options Options) *Env {
	t.Helper()
	step := Struct("step", Var{"confidence", Nullable(Double)}, Var{"output", String}, Var{"tags", ListOf(String)})
	env, err := NewEnv([]Var{
		{"output", Any}, {"text", String}, {"iteration", Int}, {"confidence", Nullable(Double)}, {"cost", Double},
		{"passed", Bool}, {"elapsed", Duration}, {"best", step}, {"history", ListOf(step)}, {"param", MapOf(Any)},
		{"run", Struct("run", Var{"score", Double})}, {"checks", MapOf(Struct("check", Var{"passed", Bool}))}, {"tags", ListOf(String)},
	}, options)
	if err != nil {
		t.Fatal(err)
	}
	return env
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
		{"checks['a'].score > 0.5", WantBool, Fault{12, 5, `unknown field "score"`, "", false}},
		{"checks['a'].pased", WantBool, Fault{12, 5, `unknown field "pased"`, `did you mean "passed"?`, false}},
		{"checks['a'].tags", WantBool, Fault{12, 4, `unknown field "tags"`, "", false}},
		{"text.size", WantAny, Fault{4, 0, "a value of type string has no fields", "only objects have fields; the output of an agent is one under reply: json", false}},
		{"iteration + 0.5", WantNumber, Fault{10, 0, "+ does not take (int, double)", "numbers of different types do not mix in arithmetic: write 10.0, or double(...)", false}},
		{"elapsed > 60", WantBool, Fault{8, 0, "> does not take (duration, int)", `compare a duration with duration("60s")`, false}},
		{"text + 1", WantString, Fault{5, 0, "+ does not take (string, int)", "make it a text first: string(...)", false}},
		{"iteration", WantBool, Fault{0, 0, "this must be true or false, but it is of type int", "", false}},
		{"output.ok", WantBool, Fault{0, 0, "this must be true or false, but its type is known only at run time", "wrap it: bool(...)", false}},
		{"output.n", WantNumber, Fault{0, 0, "this must be a number, but its type is known only at run time", "wrap it: double(...)", false}},
		{"output.s", WantString, Fault{0, 0, "this must be a string, but its type is known only at run time", "wrap it: string(...)", false}},
		{"cost", WantString, Fault{0, 0, "this must be a string, but it is of type double", "wrap it: string(...)", false}},
		{"text", WantList, Fault{0, 0, "this must be a list, but it is of type string", "", false}},
		{"best", WantNumber, Fault{0, 0, "this must be a number, but it is a record (step)", "", false}},
		{"size(text", WantAny, Fault{9, 0, "syntax error: the expression ends too early", "", false}},
		{"text text", WantAny, Fault{5, 0, "syntax error: unexpected 'text'", "", false}},
		{"text = 'abc'", WantAny, Fault{5, 0, "syntax error: unexpected '='", "write == to compare", false}},
		{"passed and passed", WantAny, Fault{7, 0, "syntax error: unexpected 'and'", "write && for and", false}},
		{"passed & passed", WantAny, Fault{7, 0, "syntax error: unexpected '&'", "write && for and", false}},
		{"passed | passed", WantAny, Fault{7, 0, "syntax error: unexpected '|'", "write || for or", false}},
		{"len(text) > 1", WantBool, Fault{3, 0, `unknown name "len"`, `did you mean "size"?`, false}},
		{"text.length() > 1", WantBool, Fault{11, 0, `unknown name "length"`, `did you mean "size"?`, false}},
		{"passed == True", WantBool, Fault{10, 4, `unknown name "True"`, `did you mean "true"?`, false}},
		{"text == 'abc", WantAny, Fault{8, 0, "syntax error: a string is not closed", "", false}},
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
		if program, faults := env.Compile(src, want); program == nil {
			t.Errorf("%q: %+v", src, faults)
		}
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
