package mockserver

import (
	"reflect"
	"strings"
	"testing"
)

func TestFilesOfReplies(t *testing.T) {
	got, faults := ParseRules("r.yaml", []byte(`- {match: weather, tools: [{name: lookup, arguments: {b: [1, null], a: x}}, {name: none}]}`))
	want := []Reply{{Tools: []Tool{{"lookup", `{"b":[1,null],"a":"x"}`}, {"none", "{}"}}}}
	if faults.Err() != nil || !reflect.DeepEqual(got[0].Replies, want) || got[0].Match.String() != "weather" {
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
