package expr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

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
	env, scope := testEnv(t, Options{NoEstimate: true}), testScope()
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
				program, faults := env.Compile(src, WantBool)
				if program == nil {
					t.Errorf("%s: %+v", src, faults)
					continue
				}
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

// All searches of one evaluation together may cost what one may.
func TestSearchesAreChargedBeforeTheyRun(t *testing.T) {
	env, scope := testEnv(t, Options{}), testScope()
	scope["text"] = strings.Repeat("a", MaxPatternSteps/1002/2)
	for src, exceeded := range map[string]bool{
		"text.matches('" + heavy + "') || text == ''":                                 false,
		strings.Repeat("text.matches('"+heavy+"') || ", 3) + "text == ''":             true,
		"[1, 2, 3, 4].exists(i, regex.extractAll(text, '" + heavy + "').size() == i)": true,
	} {
		program, faults := env.Compile(src, WantBool)
		if program == nil {
			t.Fatal(faults)
		}
		_, err := program.Bool(t.Context(), scope)
		var failed *Error
		if errors.As(err, &failed); (err != nil) != exceeded || exceeded && failed.Kind != CostExceeded {
			t.Errorf("%.60s: %v", src, err)
		}
	}
}

// A search ends with the evaluation's context, and that of an evaluation that has ended is no result.
func TestSearchesAreCancelled(t *testing.T) {
	env, scope := testEnv(t, Options{}), testScope()
	scope["text"] = strings.Repeat("a", 40_000)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name := range searches {
		for _, call := range calls[name] {
			program, faults := env.Compile(fmt.Sprintf(call, "'"+heavy+"'"), WantBool)
			if program == nil {
				t.Fatal(faults)
			}
			_, err := program.Bool(ctx, scope)
			var failed *Error
			if !errors.As(err, &failed) || failed.Kind != Cancelled || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", call, err)
			}
		}
	}
}

// What a search gives is what cel-go's function gives, errors included.
func TestSearchesGiveWhatCELGives(t *testing.T) {
	ours, err := NewEnv([]Var{{"text", String}, {"re", String}, {"by", String}, {"n", Int}}, Options{NoEstimate: true})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := cel.NewEnv(cel.OptionalTypes(), ext.Regex(), cel.Variable("text", cel.StringType),
		cel.Variable("re", cel.StringType), cel.Variable("by", cel.StringType), cel.Variable("n", cel.IntType))
	if err != nil {
		t.Fatal(err)
	}
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
			"by":   rapid.SampledFrom([]string{"", "é-", `<\0>`, `\1\2`, `a\\b`, `\`, `\x`, `a\`}).Draw(t, "by")}
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
		if err != nil {
			t.Fatal(err)
		}
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
