package proxy

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/propertytest"
)

// What is taken for JSON is JSON, and its canonical form means the same.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-2.5e+3,true,false,null,"x\n\u00e9\"",{}],"b":{"c":[]}}`, ` [ ] `, `{"a":1,}`, `[1 2]`, `"\x"`, `"\u12g4"`, `01`, `1.`, "\"\x01\"", `{"a"}`, `{`, ``, `nul`, `[[[[`, `"a`, `1 1`, `{"a":1}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		read, err := parse([]byte(text))
		if valid := json.Valid([]byte(text)); (err == nil) != valid {
			t.Fatalf("%q: valid %v, got %v", text, valid, err)
		}
		if err != nil {
			return
		}
		var before, after any
		form := read.canonical(nil, 0, nil)
		if err := json.Unmarshal(form, &after); err != nil {
			t.Fatalf("%q became %s: %v", text, form, err)
		}
		if _ = json.Unmarshal([]byte(text), &before); strings.Contains(text, "cache_control") {
			return
		}
		was, _ := json.Marshal(before) // of JSON
		is, _ := json.Marshal(after)
		if string(was) != string(is) {
			t.Errorf("%q became %s", text, form)
		}
	})
}

// anyValue draws a JSON value.
func anyValue(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 6).Draw(t, "kind"); {
	case kind < 2 && depth > 0:
		object := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			object[rapid.String().Draw(t, "key")] = anyValue(t, depth-1)
		}
		return object
	case kind < 4 && depth > 0:
		list := make([]any, rapid.IntRange(0, 4).Draw(t, "items"))
		for i := range list {
			list[i] = anyValue(t, depth-1)
		}
		return list
	case kind == 4:
		return rapid.Int().Draw(t, "number")
	}
	return rapid.String().Draw(t, "text")
}

// reordered writes a value with the members of its objects in another order, and with spaces.
func reordered(value any) string {
	switch v := value.(type) {
	case map[string]any:
		text := ""
		for _, key := range slices.Backward(slices.Sorted(maps.Keys(v))) {
			quoted, _ := json.Marshal(key) // a text
			text += " ," + string(quoted) + " : " + reordered(v[key])
		}
		return "{" + strings.TrimPrefix(text, " ,") + "\n}"
	case []any:
		text := ""
		for _, inner := range v {
			text += ", " + reordered(inner)
		}
		return "[" + strings.TrimPrefix(text, ", ") + "]"
	}
	text, _ := json.Marshal(value) // plain data
	return string(text)
}

// Order and spaces do not matter, anything else does.
func TestTheCanonicalForm(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		value := anyValue(t, 4)
		text, _ := json.Marshal(value) // plain data
		form := func(text string) string {
			read, err := parse([]byte(text))
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return string(read.canonical(nil, 0, nil))
		}
		if a, b := form(string(text)), form(reordered(value)); a != b {
			t.Fatalf("%s\nand %s", a, b)
		}
		if form(form(string(text))) != form(string(text)) {
			t.Fatalf("%s is not its own form", form(string(text)))
		}
	})
}

// sumOf is the sum of a body, as codex sends it.
func sumOf(t *testing.T, p model.Protocol, body string) sum {
	t.Helper()
	a, wrong := read(p, http.Header{}, []byte(body), &known[0], ofRun([]string{"/tmp", "/tmp/run-7"}))
	if a == nil {
		t.Fatal(wrong)
	}
	return a.sum
}

func TestEqualRequests(t *testing.T) {
	const usual = `{"model":"m","input":[{"type":"message","id":"msg_1","role":"user","content":"in /tmp/run-7"},` +
		`{"type":"function_call_output","call_id":"c1","output":"Chunk ID: 1c9c0c\nWall time: 0.9607 seconds\nok"}],"store":false,"prompt_cache_key":"k1","client_metadata":{"turn":"1"}}`
	for name, c := range map[string]struct {
		old, new string
		equal    bool
	}{
		"name of the model":      {`"model":"m"`, `"model":"other"`, true},
		"id of an item":          {`"id":"msg_1",`, `"id":"msg_2",`, true},
		"no id":                  {`"id":"msg_1",`, ``, true},
		"prompt_cache_key":       {`"k1"`, `"k2"`, true},
		"client_metadata":        {`{"turn":"1"}`, `{"turn":"2"}`, true},
		"measured time":          {`0.9607 seconds`, `12.1 seconds`, true},
		"a chunk's id":           {`1c9c0c`, `ffee00`, true},
		"cache_control":          {`"role":"user"`, `"cache_control":{"type":"ephemeral"},"role":"user"`, true},
		"the run's folder":       {`in /tmp/run-7`, `in -tmp-run-7`, true},
		"another folder":         {`/tmp/run-7`, `/var/other`, false},
		"no time":                {`0.9607 seconds`, `long`, false},
		"what was said":          {`\nok`, `\nno`, false},
		"a setting":              {`"store":false`, `"store":true`, false},
		"id of a call":           {`"call_id":"c1"`, `"call_id":"c2"`, false},
		"a stream":               {`"store":false`, `"store":false,"stream":true`, false},
		"an id that is no one's": {`"role":"user"`, `"role":"user","metadata":{"id":"x"}`, false},
	} {
		changed := strings.Replace(usual, c.old, c.new, 1)
		if changed == usual {
			t.Fatalf("%s: nothing was changed", name)
		}
		if equal := sumOf(t, model.Responses, usual) == sumOf(t, model.Responses, changed); equal != c.equal {
			t.Errorf("%s: equal %v", name, equal)
		}
	}
	if sumOf(t, model.Chat, `{"model":"m"}`) == sumOf(t, model.Messages, `{"model":"m"}`) {
		t.Error("two protocols are one")
	}
}

func TestAnImageIsNoText(t *testing.T) {
	image := strings.Repeat("iVBORw0K", 100_000)
	for _, part := range []string{`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + image + `"}}`, `{"type":"image","source":{"type":"base64","data":"` + image + `"}}`} {
		a, _ := read(model.Chat, http.Header{}, []byte(`{"model":"m","messages":[{"role":"user","content":[`+part+`]}]}`), &unknown, nil)
		if a.bytes < imageBytes || a.bytes > imageBytes+300 {
			t.Errorf("%d bytes", a.bytes)
		}
	}
	text := strings.Repeat("a word ", 100_000)
	a, _ := read(model.Chat, http.Header{}, []byte(`{"model":"m","messages":[{"role":"user","content":[{"data":"`+text+`"}]}]}`), &unknown, nil)
	if a.bytes < int64(len(text)) {
		t.Errorf("a text has %d bytes", a.bytes)
	}
}
