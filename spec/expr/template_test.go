package expr

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestTemplatesRender(t *testing.T) {
	env, scope := testEnv(t, Options{}), testScope()
	for src, want := range map[string]string{
		"":                                "",
		"no expression":                   "no expression",
		"{{ text }}":                      "hello",
		"{{text}}{{ iteration }}":         "hello2",
		"a {{{{ b }} c":                   "a {{ b }} c",
		"{{{{{{ text }}":                  "{{hello",
		"{ {{ text }} }":                  "{ hello }",
		"{{ cost }} {{ confidence }}":     "1 0.7",
		"{{ 1e6 }} {{ 1e21 }} {{ -0.5 }}": "1000000 1e+21 -0.5",
		"{{ elapsed }}":                   "90s",
		"{{ passed }}":                    "true",
		"[{{ output.none }}]":             "[]",
		"[{{ best == null ? '' : best.output }}]": "[]",
		"{{ output.m }}":                          `{"q":1,"b":2,"c":3}`,
		"{{ output.a }}":                          "[3,1,2]",
		"{{ output.n }}":                          "3",
		"{{ checks }}":                            `{"first":{"passed":true}}`,
		`{{ {"a": {"b": text}}.a.b }}`:            "hello",
		`{{ {"a": "b"}}}`:                         `{"a":"b"}`,
		"{{ '}}' + \"}}\" }}":                     "}}}}",
		`{{ r'\' + '\'}}' }}`:                     `\'}}`,
		`{{ """ "}} """ }}`:                       ` "}} `,
		`{{ r'\' }} and {{ text }}'`:              `\ and hello'`,
		"{{ text // it's a comment\n }}":          "hello",
		"{{ text // it's one }}!":                 "hello!",
		"{{ tags.map(x, '- ' + x).join('\\n') }}": "- x\n- y",
		"ä {{ 'é' }} 😀":                           "ä é 😀",
		"{{ timestamp('2026-01-02T03:04:05Z') }}": "2026-01-02T03:04:05Z",
	} {
		template, faults := env.Template(src)
		if template == nil {
			t.Errorf("%q: %+v", src, faults)
			continue
		}
		if got, err := template.Render(t.Context(), scope); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", src, got, err, want)
		}
	}
}

func TestTemplateFaults(t *testing.T) {
	env := testEnv(t, Options{})
	for _, c := range []struct {
		src string
		Fault
	}{
		{"ä {{ txet }}", Fault{5, 4, `unknown name "txet"`, `did you mean "text"?`, false}},
		{"a\nb {{\n  iteratoin }}", Fault{9, 9, `unknown name "iteratoin"`, `did you mean "iteration"?`, false}},
		{"x {{ text", Fault{2, 2, "{{ without }}", "close it with }}; two braces in the text are written {{{{", false}},
		{"x {{ 'text }} {{ text }}", Fault{5, 0, "syntax error: a string is not closed", "end it with the quote that it starts with", false}},
		{"x {{ }}", Fault{2, 4, "the expression between {{ and }} is empty", "", false}},
		{"{{ tags }}", Fault{2, 0, "a list cannot be printed", `make it a text, for instance with .map(x, ...).join("\n"), or json(...)`, false}},
		{"{{ best }}", Fault{2, 0, "a record (step) cannot be printed", "print one of its fields", false}},
		{"{{ output.?a }}", Fault{2, 0, "this cannot be printed: it is of type optional_type(dyn)", "for an optional value, say .orValue(...)", false}},
		{"{{ text + 1 }}", Fault{8, 0, "+ does not take (string, int)", "make it a text first: string(...)", false}},
		{"{{ text } }}", Fault{8, 0, "syntax error: unexpected '}'", "", false}},
		{"\xff", Fault{0, 0, "the text is not valid UTF-8", "", false}},
	} {
		template, faults := env.Template(c.src)
		if template != nil || len(faults) != 1 || faults[0] != c.Fault {
			t.Errorf("%q: got %+v, want %+v", c.src, faults, c.Fault)
		}
	}
	if _, faults := env.Template("{{ txet }} {{ iteratoin }}"); len(faults) != 2 {
		t.Errorf("two faults became %+v", faults)
	}
	if template, faults := env.Template("{{ output.n + 1 }}"); template == nil || len(faults) != 1 || !faults[0].Warning {
		t.Errorf("a warning became %+v", faults)
	}
}

// F59: values are data: an expression in them is not evaluated.
func TestValuesAreNotCompiled(t *testing.T) {
	scope := testScope()
	scope["text"] = "{{ cost }}"
	template, _ := testEnv(t, Options{}).Template("{{ text }} {{ text + '{{' }}")
	if got, err := template.Render(t.Context(), scope); got != "{{ cost }} {{ cost }}{{" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTemplateErrorsNameThePlace(t *testing.T) {
	template, faults := testEnv(t, Options{}).Template("é {{ text }} {{ output.zzz }}")
	if template == nil {
		t.Fatal(faults)
	}
	_, err := template.Render(t.Context(), testScope())
	var failed *Error
	if !errors.As(err, &failed) || failed.What != `key "zzz" not found` || failed.Offset != 22 {
		t.Errorf("got %+v", err)
	}
}

// F59: a prompt has at most 1 MiB.
func TestTemplatesAreLimited(t *testing.T) {
	scope := testScope()
	scope["text"] = strings.Repeat("x", 600_000)
	template, _ := testEnv(t, Options{}).Template("{{ text }}")
	if _, err := template.Render(t.Context(), scope); err != nil {
		t.Error(err)
	}
	template, _ = testEnv(t, Options{}).Template("{{ text }}{{ text }}")
	_, err := template.Render(t.Context(), scope)
	wantKind(t, err, TooLarge)
}

func TestTemplateReads(t *testing.T) {
	template, _ := testEnv(t, Options{}).Template("{{ text }} {{ param.threshold }} {{ text + output.s }}")
	if got, want := template.Reads(), []string{"output.s", "param.threshold", "text"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"a {{ text }} b", "{{{{ {{ {'a': '}}'}.a }}", "{{ r\"\\\" }} {{ '''x}}''' }}", "{{", "}}", "{{ // }} {{ text }}", "é{{ output.m }}"} {
		f.Add(seed)
	}
	env := testEnv(f, Options{})
	scope := testScope()
	f.Fuzz(func(t *testing.T, src string) {
		template, faults := env.template(src)
		if (template == nil) != anyError(faults) {
			t.Fatalf("%q: template %v, faults %+v", src, template, faults)
		}
		for _, fault := range faults {
			if fault.Offset < 0 || fault.Offset > len([]rune(src)) {
				t.Fatalf("%q: %+v", src, fault)
			}
		}
		if template == nil {
			return
		}
		if text, err := template.Render(t.Context(), scope); err == nil && !strings.Contains(src, "{{") && text != src {
			t.Fatalf("%q became %q", src, text)
		}
	})
}
