package mockserver

import (
	"reflect"
	"strings"
	"testing"
)

func TestFilesOfReplies(t *testing.T) {
	got, faults := ParseRules("r.yaml", []byte(`- {match: weather, tools: [{name: lookup, arguments: {b: [1, null], a: x}}, {name: none}]}`))
	want := []Reply{{Tools: []Tool{{Name: "lookup", Arguments: `{"b":[1,null],"a":"x"}`}, {Name: "none", Arguments: "{}"}}}}
	if faults.Err() != nil || !reflect.DeepEqual(got[0].Replies, want) || got[0].Match.String() != "weather" {
		t.Errorf("got %+v (%v)", got, faults)
	}
}

func TestFilesOfSteps(t *testing.T) {
	got, faults := ParseRules("r.yaml", []byte(`
- match: weather
  steps:
  - {thinking: hm, tools: [{id: mine, name: lookup, arguments: "not JSON"}]}
  - reply: {rain: true}
  - done
- else
`))
	want := []Reply{{Thinking: "hm", Tools: []Tool{{"mine", "lookup", "not JSON"}}}, {Text: `{"rain":true}`}, {Text: "done"}}
	if faults.Err() != nil || len(got) != 2 || !got[0].Steps || got[1].Steps || !reflect.DeepEqual(got[0].Replies, want) {
		t.Errorf("got %+v (%v)", got, faults)
	}
}

func TestFilesOfRepliesWithFaults(t *testing.T) {
	for text, says := range map[string]string{
		`text`:                        "r.yaml:1:1",
		`- {match: "(", reply: x}`:    "missing closing )",
		`- {match: x}`:                "want something to reply",
		`- {replay: x}`:               `did you mean "reply"?`,
		`- {reply: []}`:               "r.yaml:1:11",
		`- {tools: [{arguments: 1}]}`: "name",
		`- {steps: []}`:               "r.yaml:1:11",
		`- {steps: [{finish: stop}]}`: "want something to reply",
		`- {steps: [a], reply: b}`:    "want steps or a reply, not both",
		`- {steps: [a], finish: b}`:   "want steps or a reply, not both",
	} {
		_, faults := ParseRules("r.yaml", []byte(text))
		if faults.Err() == nil {
			t.Errorf("%s: no fault", text)
			continue
		}
		var told strings.Builder
		faults.Print(&told)
		if !strings.Contains(told.String(), says) {
			t.Errorf("%s: %s", text, told.String())
		}
	}
}
