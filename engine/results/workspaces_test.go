package results

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/workspace"
	"github.com/agentbench/agentbench/spec/spectest"
)

// The states of a run are those of its calls, iterations and delegates, each once; what a run
// began with is a seed wherever else it is named.
func TestStatesOf(t *testing.T) {
	name := func(digit string) string { return strings.Repeat(digit, 64) }
	id := func(digit string) workspace.ID {
		id, err := workspace.ParseID(name(digit))
		spectest.Must(t, err)
		return id
	}
	run := &record.Run{ID: "a/mail@example/1", Seed: name("1"), Iterations: []record.Iteration{
		{N: 1, Calls: []record.Call{{Step: 1, Tree: name("1")}, {Step: 2, Tree: name("2")}, {Step: 3}}, Workspace: &record.Workspace{Tree: name("3")}},
		{N: 2, Workspace: &record.Workspace{Tree: name("3")}, ToolCalls: []record.ToolCall{{}, {Delegated: &record.Run{
			Seed: name("4"), Iterations: []record.Iteration{{N: 1, Workspace: &record.Workspace{Tree: name("5")}}},
		}}}},
	}}
	seeds, others, err := StatesOf(run)
	if want := []workspace.ID{id("1"), id("4")}; err != nil || !reflect.DeepEqual(seeds, want) {
		t.Errorf("seeds %v, %v", seeds, err)
	}
	if want := []workspace.ID{id("2"), id("3"), id("5")}; !reflect.DeepEqual(others, want) {
		t.Errorf("others %v", others)
	}
	run.Iterations[0].Calls[1].Tree = "none"
	if _, _, err := StatesOf(run); err == nil || !strings.Contains(err.Error(), `a/mail@example/1@1.2: "none" is no id`) {
		t.Errorf("a state of no name: %v", err)
	}
}

// A folder that is removed meanwhile has no bytes.
func TestTheSizeOfNoFolder(t *testing.T) {
	if size := sizeOf(filepath.Join(t.TempDir(), "none")); size != 0 {
		t.Errorf("%d bytes", size)
	}
}
