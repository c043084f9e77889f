package proxy

import (
	"encoding/json"
	"maps"
	"net/http"
	"pgregory.net/rapid"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
)

// Whatever comes, a body is read or refused, and the text around the model's name is that of the body.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`{"model":"m","messages":[1,{"role":"tool","content":[{"text":"x"}]}]}`, ` {"a":1, "model" : "x\u00e9" ,"b":[]} `, `{"model":7}`, `[1]`, `{`, ``, `{"model":"a","Model":"b"}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, wrong := read(model.Chat, nil, []byte(text), &known[0], nil)
		if (a == nil) == (wrong == "") || a != nil && !json.Valid([]byte(text)) {
			t.Fatalf("%q: %+v, %s", text, a, wrong)
		}
		if a == nil {
			return
		}
		name, _ := json.Marshal("other") // a text
		var other struct{ Model string }
		if err := json.Unmarshal(slices.Concat(a.before, name, a.after), &other); err != nil || other.Model != "other" {
			t.Fatalf("%q with another model: %v, %+v", text, err, other)
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
		form := func(text string) string { return string(canonical(nil, []byte(text), nil)) }
		if a, b := form(string(text)), form(reordered(value)); a != b {
			t.Fatalf("%s\nand %s", a, b)
		}
		if form(form(string(text))) != form(string(text)) {
			t.Fatalf("%s is not its own form", form(string(text)))
		}
	})
}

// readBody reads a body that is valid JSON.
func readBody(t testing.TB, p model.Protocol, header http.Header, body string, r *rules, own ...string) (*asked, string) {
	t.Helper()
	return read(p, header, []byte(body), r, own)
}

// sumOf is the sum of a body, as codex sends it.
func sumOf(t *testing.T, p model.Protocol, body string) sum {
	t.Helper()
	a, wrong := readBody(t, p, nil, body, &known[0], ofRun([]string{"/tmp", "/tmp/run-7"})...)
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
	const marked = `{"model":"m","system":[{"text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"content":[{"text":"<x>","cache_control":{}}]}]}`
	if sumOf(t, model.Messages, marked) != sumOf(t, model.Messages, `{"model":"m","system":[{"text":"s"}],"messages":[{"content":[{"text":"<x>"}]}]}`) {
		t.Error("marks of the provider's cache make another request")
	}
}

// Only what the protocol has as an image or a file counts as one.
func TestAnImageIsNoText(t *testing.T) {
	image, text := strings.Repeat("iVBORw0K", 100_000), strings.Repeat("a word ", 100_000)
	for name, c := range map[string]struct {
		protocol model.Protocol
		items    string
		image    bool
	}{
		"an address":        {model.Chat, `{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,%image"}}]}`, true},
		"a sound":           {model.Chat, `{"content":[{"type":"input_audio","input_audio":{"data":"%image"}}]}`, true},
		"of Responses":      {model.Responses, `{"type":"function_call_output","output":[{"type":"input_image","image_url":"data:%image"}]}`, true},
		"a screen":          {model.Responses, `{"type":"computer_call_output","output":{"type":"computer_screenshot","image_url":"data:%image"}}`, true},
		"of Messages":       {model.Messages, `{"content":[{"type":"image","source":{"type":"base64","data":"%image"}}]}`, true},
		"of a tool":         {model.Messages, `{"content":[{"type":"tool_result","content":[{"type":"image","source":{"type":"base64","data":"%image"}}]}]}`, true},
		"a text":            {model.Chat, `{"content":"data:%text"}`, false},
		"a part":            {model.Chat, `{"content":[{"type":"text","text":"data:%image"}]}`, false},
		"data":              {model.Chat, `{"content":[{"data":"%image"}]}`, false},
		"two types":         {model.Chat, `{"content":[{"type":"image_url","image_url":{"url":"data:%image"},"Type":"text"}]}`, false},
		"a source's text":   {model.Messages, `{"content":[{"type":"document","source":{"type":"text","data":"%text"}}]}`, false},
		"a call's argument": {model.Messages, `{"content":[{"type":"tool_use","input":{"type":"image","source":{"type":"base64","data":"%image"}}}]}`, false},
	} {
		body := strings.NewReplacer("%image", image, "%text", text).Replace(`{"model":"m","` + forms[c.protocol].items + `":[` + c.items + `]}`)
		want := int64(len(body))
		if c.image {
			want = int64(imageBytes + len(`{"model":"m","":[]}`) + len(forms[c.protocol].items) + len(c.items))
		}
		if a, wrong := readBody(t, c.protocol, nil, body, &unknown); a == nil || a.bytes < want-30 || a.bytes > want {
			t.Errorf("%s: %s, %d bytes of %d", name, wrong, a.bytes, want)
		}
	}
}

// What a body costs to read is bounded by its values, too: two bytes may be one.
func TestManyValues(t *testing.T) {
	s := behindOf(t, model.Chat, http.NotFound)
	many := `{"model":"x","messages":[0` + strings.Repeat(",0", 15<<20) + `]}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	response, said := s.post(t, model.Chat, many)
	runtime.ReadMemStats(&after)
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; response.StatusCode != http.StatusRequestEntityTooLarge || made > 300 {
		t.Errorf("%d, %s, %d MB were made", response.StatusCode, said, made)
	}
	for text, want := range map[string]int{`{"a":"\\\",[{"}`: 1, `[0,0,{"a":"x,[{\\","b":[]}]`: 6, `"a,b"`: 0, `{}`: 1} {
		if n := values([]byte(text)); n != want {
			t.Errorf("%s has %d values, got %d", text, want, n)
		}
	}
}

// A conversation that began anew has its results from its first item on.
func TestResultsOfAConversationThatBeganAnew(t *testing.T) {
	a, _ := readBody(t, model.Chat, nil, `{"model":"m","messages":[{"role":"tool","tool_call_id":"c","content":"x"}]}`, &unknown)
	calls := []record.ToolCall{{ID: "c"}}
	if a.results(calls, 7); string(calls[0].Result) != `"x"` {
		t.Errorf("got %s", calls[0].Result)
	}
}
