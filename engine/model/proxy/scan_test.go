package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
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

// readBody reads a body that is valid JSON.
func readBody(t testing.TB, p model.Protocol, header http.Header, body string, r *rules, own ...string) (*asked, string) {
	t.Helper()
	made, err := parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return read(p, header, made, r, own)
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

// Whichever of two names a server takes, it is the one that was read.
func TestNamesThatAreReadInTwoWays(t *testing.T) {
	for _, body := range []string{
		`{"model":"cheap","model":"dear"}`, `{"model":"cheap","mod\u0065l":"dear"}`, `{"MODEL":"cheap","model":"dear"}`,
		`{"model":"m","stream":false,"STREAM":true}`, `{"model":"m","stream":false,"\u017ftream":true}`, `{"model":"m","ſtream":true,"stream":false}`,
	} {
		if a, wrong := readBody(t, model.Chat, nil, body, &unknown); a != nil || !strings.Contains(wrong, "twice") {
			t.Errorf("%s: %s", body, wrong)
		}
	}
	a, wrong := readBody(t, model.Chat, nil, `{"Mod\u0065l":"m","STREAM":true,"metadata":{"a":1,"A":2}}`, &unknown)
	if a == nil || a.model != "m" || !a.stream || string(a.before) != `{"Mod\u0065l":` {
		t.Errorf("got %+v, %s", a, wrong)
	}
}

// What a body costs to read is bounded by its values, too: two bytes may be one.
func TestManyValues(t *testing.T) {
	body := []byte(`{"model":"m","messages":[0` + strings.Repeat(",0", 16<<20) + `]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := parse(body)
	runtime.ReadMemStats(&after)
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; !errors.Is(err, errValues) || made > 300 {
		t.Errorf("%v, %d MB were made", err, made)
	}
	if _, err := parse([]byte(`[` + strings.Repeat("0,", mostValues-2) + `0]`)); err != nil {
		t.Error(err)
	}
}

// Results find their calls in a time that grows as their number does.
func TestManyResults(t *testing.T) {
	took := func(n int) time.Duration {
		calls := make([]record.ToolCall, n)
		items := make([]string, n)
		for i := range n {
			calls[i].ID = fmt.Sprintf("c%d", i)
			items[n-1-i] = fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":"%d"}`, i, i)
		}
		a, wrong := readBody(t, model.Chat, nil, `{"model":"m","messages":[`+strings.Join(items, ",")+`]}`, &unknown)
		if a == nil {
			t.Fatal(wrong)
		}
		begun := time.Now()
		a.results(calls, 0)
		spent := time.Since(begun)
		for i, c := range calls {
			if string(c.Result) != fmt.Sprintf(`"%d"`, i) {
				t.Fatalf("call %d has %s", i, c.Result)
			}
		}
		return spent
	}
	few, many := time.Hour, time.Hour
	for range 3 {
		few, many = min(few, took(3_000)), min(many, took(30_000))
	}
	if many > 50*few {
		t.Errorf("%v for 3,000, %v for 30,000", few, many)
	}
}
