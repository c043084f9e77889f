package model

import (
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

func TestCallsGetIDs(t *testing.T) {
	for name, c := range map[string]struct{ had, want []string }{
		"none":              {[]string{"", ""}, []string{"call_1", "call_2"}},
		"their own":         {[]string{"a", "b"}, []string{"a", "b"}},
		"the same":          {[]string{"a", "a", "a"}, []string{"a", "a_2", "a_3"}},
		"taken by a later":  {[]string{"", "call_1"}, []string{"call_1_2", "call_1"}},
		"taken by a number": {[]string{"a", "a", "a_2"}, []string{"a", "a_3", "a_2"}},
	} {
		t.Run(name, func(t *testing.T) {
			calls := make([]ToolCall, len(c.had))
			for i, id := range c.had {
				calls[i].ID = id
			}
			Identify(calls)
			for i, want := range c.want {
				if calls[i].ID != want {
					t.Errorf("call %d: %q, want %q", i+1, calls[i].ID, want)
				}
			}
		})
	}
}

// Whatever a server sends, every call can be told from the others, and those
// that could be told already stay as they are.
func TestIDsAreDistinct(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "a_2", "call_1", "call_2", "call_1_2"}), 0, 6).Draw(t, "ids")
		calls, count := make([]ToolCall, len(ids)), map[string]int{}
		for i, id := range ids {
			calls[i].ID = id
			count[id]++
		}
		Identify(calls)
		seen := map[string]bool{}
		for i, call := range calls {
			if call.ID == "" || seen[call.ID] {
				t.Fatalf("%q of %q", call.ID, ids)
			}
			seen[call.ID] = true
			if ids[i] != "" && count[ids[i]] == 1 && call.ID != ids[i] {
				t.Fatalf("%q became %q", ids[i], call.ID)
			}
		}
	})
}
