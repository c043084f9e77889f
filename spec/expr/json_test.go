package expr

import (
	"encoding/json"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

// plainValues draws any plain value that JSON can hold.
func plainValues() *rapid.Generator[any] {
	scalar := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Float64(), func(f float64) any { return f }), rapid.Map(rapid.String(), func(s string) any { return s }))
	return rapid.Map(rapid.SliceOfN(scalar, 1, 12), func(scalars []any) any {
		o := NewObject(0)
		for i, s := range scalars {
			o.Set(strings.Repeat("k", i%4)+string(rune('a'+i)), s)
		}
		o.Set("list", scalars)
		return o
	})
}

func TestJSONRoundTrip(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		value := plainValues().Draw(t, "value")
		text, err := AppendJSON(nil, value)
		must(t, err)
		back, err := ParseJSON(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(back, value) {
			t.Fatalf("%s came back different", text)
		}
	})
}

func TestParseJSONReads(t *testing.T) {
	for _, text := range []string{
		`null`, ` true `, `-0`, `-0.5e-3`, `1E+2`, `""`, `"a\"\\\/\b\f\n\r\tz"`, `"\u00e9\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`,
		`"\ude00\ud83d"`, "\"\xff\"", `"é😀"`, `[]`, `[1,[2,[3]]]`, `{}`, `{"a":1,"b":{"c":[]}}`, `{"a":1,"a":2}`, "\t{\r\n\"a\" : 1 }",
	} {
		got, err := ParseJSON([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var want any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(Maps(got), want) {
			t.Errorf("%s: got %#v, want %#v", text, Maps(got), want)
		}
	}
}

func TestParseJSONRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:            "at byte 1: the text ends too early",
		`[1,]`:        "at byte 3: invalid character ',' at start of value",
		`{"a":1 "b"}`: "at byte 8: invalid character '\"' after object value (expecting ',' or '}')",
		`{a: 1}`:      "at byte 2: invalid character 'a' at start of value",
		`"abc`:        "at byte 5: the text ends too early",
		`1 2`:         "at byte 3: invalid character '2' after top-level value",
		`1.`:          "at byte 3: the text ends too early",
		`"\x"`:        "at byte 2: invalid escape sequence `\\x` in string",
		`1e999`:       "at byte 6: number 1e999 is out of range",
		`NaN`:         "at byte 1: invalid character 'N' at start of value",
	} {
		_, err := ParseJSON([]byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if _, err := ParseUniqueJSON([]byte(`{"a": {"b": 1, "b": 2}}`)); err == nil || err.Error() != `at byte 16: duplicate key "b"` {
		t.Errorf("a key that stands twice: %v", err)
	}
}

func TestParseJSONLimitsDepth(t *testing.T) {
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	if _, err := ParseJSON(nested(maxJSONDepth)); err != nil {
		t.Errorf("%d levels: %v", maxJSONDepth, err)
	}
	if _, err := ParseJSON(nested(maxJSONDepth + 1)); err == nil {
		t.Errorf("%d levels were accepted", maxJSONDepth+1)
	}
	if _, err := ParseJSON([]byte(strings.Repeat(`{"a":`, maxJSONDepth+1))); err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("objects: %v", err)
	}
	wide := "[" + strings.Repeat("[],", 2*maxJSONDepth) + "{}]"
	if _, err := ParseJSON([]byte(wide)); err != nil {
		t.Errorf("a wide list: %v", err)
	}
}

func TestObjectKeepsOrder(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfDistinct(rapid.String(), rapid.ID[string]).Draw(t, "keys")
		o := NewObject(0)
		for i, key := range keys {
			o.Set(key, float64(i))
		}
		for i, key := range keys {
			o.Set(key, float64(i)+0.5)
		}
		if o.Len() != len(keys) {
			t.Fatalf("%d keys became %d", len(keys), o.Len())
		}
		for i, key := range keys {
			if value, ok := o.Get(key); !ok || value != float64(i)+0.5 || o.Keys()[i] != key {
				t.Fatalf("key %q: value %v, place %d holds %q", key, value, i, o.Keys()[i])
			}
		}
		if _, ok := o.Get("no" + strings.Join(keys, "such")); ok && len(keys) != 1 {
			t.Fatal("a key that was never set is there")
		}
	})
}

func TestObjectInJSONOfOthers(t *testing.T) {
	var o Object
	must(t, json.Unmarshal([]byte(`{"z": 1, "a": {"y": 2, "b": 3.25}}`), &o))
	text, err := json.Marshal(map[string]any{"o": &o})
	if want := `{"o":{"z":1,"a":{"y":2,"b":3.25}}}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
	if err := json.Unmarshal([]byte(`[1]`), &o); err == nil {
		t.Error("a list became an object")
	}
}

func TestEqual(t *testing.T) {
	parse := func(text string) any {
		value, err := ParseJSON([]byte(text))
		must(t, err)
		return value
	}
	for _, c := range []struct {
		a, b any
		same bool
	}{
		{parse(`{"a":1,"b":[2]}`), parse(`{"b":[2],"a":1}`), true},
		{parse(`{"a":1}`), parse(`{"a":2}`), false},
		{parse(`{"a":1}`), parse(`{"a":1,"b":null}`), false},
		{parse(`[1,2]`), parse(`[2,1]`), false},
		{parse(`[1]`), parse(`[1,1]`), false},
		{int64(3), 3.0, true},
		{int64(3), "3", false},
		{"3", int64(3), false},
		{"a", parse(`[]`), false},
		{nil, nil, true},
		{nil, false, false},
	} {
		if Equal(c.a, c.b) != c.same {
			t.Errorf("Equal(%v, %v) is not %v", c.a, c.b, c.same)
		}
	}
}

func TestJSONRefusesWhatItCannotWrite(t *testing.T) {
	for _, value := range []any{[]any{record{}}, math.NaN(), []any{math.NaN()}, func() {}} {
		if text, err := AppendJSON(nil, value); err == nil {
			t.Errorf("%v became %s", value, text)
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5,"x\u00e9\ud83d\ude00",null,true]}`, `[[[]]]`, `"\ud83d"`, `-0e-0`, "{\"\xff\":1}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		value, err := ParseJSON(text)
		if valid := json.Valid(text); valid != (err == nil) && !excused(text, err) {
			t.Fatalf("%q: encoding/json says valid=%v, we say %v", text, valid, err)
		}
		if err != nil {
			return
		}
		again, err := AppendJSON(nil, value)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		back, err := ParseJSON(again)
		if err != nil || !reflect.DeepEqual(value, back) {
			t.Fatalf("%q came back as %q, %v", text, again, err)
		}
	})
}

// excused are the two limits that json.Valid does not have.
func excused(_ []byte, err error) bool {
	return err != nil && (strings.Contains(err.Error(), "out of range") || strings.Contains(err.Error(), "deeper than"))
}

// Maps have what objects have, lists and objects within them as well.
func TestMaps(t *testing.T) {
	value, err := ParseJSON([]byte(`{"b": [{"c": 1}, null], "a": {}}`))
	must(t, err)
	want := map[string]any{"b": []any{map[string]any{"c": 1.0}, nil}, "a": map[string]any{}}
	expect.Equal[any](t, "result", Maps(value), want)
}

// A line of 64 MiB may hold 22 million empty objects.
func TestEmptyObjectsTakeLittleMemory(t *testing.T) {
	const objects, times = 1000, 100
	text := []byte("[" + strings.Repeat("{},", objects) + "{}]")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		_, err := ParseJSON(text)
		must(t, err)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / times / objects; each > 160 {
		t.Errorf("%d bytes for each object", each)
	}
}

// What is wrong with a value is told by its place, and at one place what tells
// more before a type that another alternative wanted.
func TestViolations(t *testing.T) {
	s, err := CompileSchema([]byte(`{"type": "object", "required": ["z"], "additionalProperties": false, "properties": {
		"a": {"items": {"anyOf": [{"type": "integer"}, {"type": "string", "minLength": 2}]}}, "b": {"type": "boolean"}}}`))
	must(t, err)
	for text, want := range map[string][]string{
		`{"z": 1, "y": 2, "b": 0}`: {": additional properties 'y', 'z' not allowed", "/b: got number, want boolean"},
		`{"a": [1, "x"]}`:          {": missing property 'z'", "/a/1: minLength: got 1, want 2", "/a/1: got string, want integer"},
		`[]`:                       {": got array, want object"},
	} {
		value, err := ParseJSON([]byte(text))
		must(t, err)
		for range 20 { // validation visits keys at random
			var got []string
			found, err := s.Violations(value)
			must(t, err)
			for _, v := range found {
				got = append(got, v.Where()+": "+v.What)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %q, want %q", text, got, want)
			}
		}
	}
	value, _ := ParseJSON([]byte(`{}`))
	anything, err := CompileSchema([]byte(`true`))
	must(t, err)
	if found, err := anything.Violations(value); err != nil || found != nil {
		t.Errorf("a schema that allows everything: %v, %v", found, err)
	}
}

// Nothing outside of the schema is read, and what is wrong with it stands where it
// is.
func TestWhatIsNoSchema(t *testing.T) {
	for text, want := range map[string]string{
		`{"type": "objekt"}`:               "at /type: value must be one of",
		`{"$ref": "file:///etc/hostname"}`: "it refers to file:///etc/hostname, but only the schema itself is read",
		`{"$ref": "other.json"}`:           "it refers to other.json, but only",
		`{"type": `:                        "invalid JSON: ",
		`{"$ref": "#/$defs/x"}`:            "",
	} {
		s, err := CompileSchema([]byte(text))
		if s != nil || err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), base) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// C.22: the regular expressions of a schema are bounded one by one, wherever they stand.
func TestRegularExpressionsOfSchemasAreBounded(t *testing.T) {
	const heavy = "(.*?,){200}"
	long := `"` + strings.Repeat("a", 1_000_000) + `"`
	many := "[" + strings.Repeat(`"`+strings.Repeat("a", 10_000)+`",`, 100) + `"a"]`
	for _, c := range []struct{ schema, value, want string }{
		{`{"pattern": "` + heavy + `"}`, long, "1002 instructions x 1000000 bytes"},
		{`{"patternProperties": {"` + heavy + `": {}}}`, `{` + long + `: 1}`, "1002 instructions x 1000000 bytes"},
		{`{"propertyNames": {"pattern": "` + heavy + `"}}`, `{` + long + `: 1}`, "1002 instructions x 1000000 bytes"},
		{`{"items": {"pattern": "^a+$"}}`, many, ""},
		{`{"anyOf": [{"pattern": "` + heavy + `"}, {"type": "string"}]}`, `"a"`, ""},
	} {
		s, err := CompileSchema([]byte(c.schema))
		must(t, err)
		value, err := ParseJSON([]byte(c.value))
		must(t, err)
		for range 2 { // what one validation took is not taken from the next
			found, err := s.Violations(value)
			if len(found) > 0 || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, %v; want %q", c.schema, found, err, c.want)
			}
		}
	}
	if _, err := CompileSchema([]byte(`{"pattern": "(?:a{1000}b){1000}"}`)); err == nil || !strings.Contains(err.Error(), "/pattern") {
		t.Errorf("a huge expression: %v", err)
	}
	if s, err := CompileSchema([]byte(`{"type": "object", "$id": "x", "properties": {"a": {"minLength": 1}}}`)); err != nil {
		t.Errorf("a schema without expressions: %v, %v", s, err)
	}
}
