package command

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/record/recordingtest"
)

// documentedEvents are the rows of the table in docs/events.md, in their order,
// with their fields.
func documentedEvents(t *testing.T) (names []record.EventType, fields map[record.EventType][]string) {
	t.Helper()
	fields = map[record.EventType][]string{}
	for line := range strings.Lines(readDoc(t, "events.md")) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		name := record.EventType(strings.Trim(cells[1], " `"))
		names = append(names, name)
		for i, part := range strings.Split(cells[3], "`") {
			if i%2 == 1 {
				fields[name] = append(fields[name], part)
			}
		}
	}
	return names, fields
}

func TestS2_7_EventsDocumentHasEveryEvent(t *testing.T) {
	names, _ := documentedEvents(t)
	if !slices.Equal(names, record.EventTypes()) {
		t.Errorf("docs/events.md has the events\n%v, there are\n%v", names, record.EventTypes())
	}
}

// Every event of a run, and of one that went wrong, has the fields that the
// document says, and no others; every field of an event is documented somewhere.
func TestS2_7_EventsDocumentHasEveryField(t *testing.T) {
	_, fields := documentedEvents(t)
	common := []string{"event", "run", "at_ns", "iteration", "phase", "strategy"}
	everywhere := slices.Concat(append(slices.Collect(maps.Values(fields)), common)...)
	wrong := recordingtest.Conversation()
	wrong.Outcome.Error = &record.Error{Class: record.Server, Message: "500"}
	wrong.Iterations[0].Error, wrong.Iterations[0].Cut = wrong.Outcome.Error, "timeout"
	wrong.Iterations[0].Evaluation = &record.Evaluation{Confidence: 0.5, Feedback: "no"}
	plain := recordingtest.Conversation()
	plain.Iterations[0].Prompt, plain.Iterations[0].Steps = "", nil
	for _, run := range []*record.Run{recordingtest.Conversation(), wrong, plain} {
		for event := range record.Events(run) {
			for _, key := range slices.Sorted(maps.Keys(membersOf(t, event))) {
				if !slices.Contains(common, key) && !slices.Contains(fields[event.Type], key) {
					t.Errorf("docs/events.md does not say that %s has %s", event.Type, key)
				}
			}
		}
	}
	for i := range reflect.TypeFor[record.Event]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[record.Event]().Field(i).Tag.Get("json"), ",")
		if !slices.Contains(everywhere, name) {
			t.Errorf("docs/events.md does not name %s", name)
		}
	}
}

func membersOf(t *testing.T, event record.Event) map[string]json.RawMessage {
	t.Helper()
	line, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		t.Fatal(err)
	}
	return members
}

// TestEventsDocument plays the document.
func TestEventsDocument(t *testing.T) { runDocument(t, "../../../docs/events.md", 2) }
