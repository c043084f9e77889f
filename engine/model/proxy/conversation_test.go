package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
)

// arriving is a call as a program sends it: its headers, whether it offers tools, and what was said.
type arriving struct {
	headers string // "Name: value" lines
	tools   bool
	said    []string
	fails   bool   // it gets no complete answer
	want    string // conversation, kind, step, n
}

const turn, compaction = `X-Codex-Turn-Metadata: {"request_kind":"turn"}`, `X-Codex-Turn-Metadata: {"request_kind":"compaction"}`

// compact is what claude says last where it compacts a conversation.
const compact = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."

func TestConversations(t *testing.T) {
	for name, calls := range map[string][]arriving{
		"codex": {
			{"Thread-Id: a\n" + turn, true, []string{"x"}, false, "main main 1 0"},
			{"Thread-Id: a\n" + compaction, true, []string{"x", "y", "sum up"}, false, "main side 0 0"},
			{"Thread-Id: b\nX-Openai-Subagent: collab_spawn\n" + turn, true, []string{"find"}, false, "sub1 agent 2 0"},
			{"Thread-Id: a\n" + turn, true, []string{"a summary"}, false, "main main 3 0"},
			{"Thread-Id: c\nX-Openai-Subagent: review\n" + turn, true, []string{"find"}, false, "sub2 agent 4 1"},
			{"Thread-Id: b\nX-Openai-Subagent: collab_spawn\n" + turn, true, []string{"find", "y", "z"}, false, "sub1 agent 5 0"},
		},
		"codex again": {
			{"Thread-Id: a\n" + turn, true, []string{"x"}, true, "main main 1 0"},
			{"Thread-Id: a\n" + turn, true, []string{"x"}, true, "main retry 0 0"},
			{"Thread-Id: a\n" + turn, true, []string{"x"}, false, "main retry 0 0"},
			{"Thread-Id: a\n" + turn, true, []string{"x"}, false, "main main 2 1"},
			{"Thread-Id: a\n" + compaction, true, []string{"x"}, true, "main side 0 2"},
			{"Thread-Id: a\n" + compaction, true, []string{"x"}, false, "main retry 0 2"},
		},
		"claude": {
			{"", false, []string{"a title"}, false, "main side 0 0"},
			{"", true, []string{"x"}, false, "main main 1 0"},
			{"X-Claude-Code-Agent-Id: 7", true, []string{"find"}, false, "sub1 agent 2 0"},
			{"", true, []string{"a summary"}, false, "main main 3 0"},
			{"X-Claude-Code-Agent-Id: 8", true, []string{"find"}, false, "sub2 agent 4 1"},
			{"", true, []string{"a summary", "y", compact}, false, "main side 0 0"},
			{"X-Claude-Code-Agent-Id: 8", true, []string{"find", compact}, false, "sub2 side 0 0"},
			{"", true, []string{compact + " That is what it said.", "y"}, false, "main main 5 0"},
		},
		"qwen": {
			{"", true, []string{"you are qwen", "x"}, false, "main main 1 0"},
			{"", true, []string{"you are qwen", "x", "y"}, false, "main main 2 0"},
			{"", true, []string{"you are a finder", "x"}, false, "sub1 agent 3 0"},
			{"", false, []string{"you are qwen", "x", "y", "what next"}, false, "main side 0 0"},
			{"", false, []string{"sum up", "x"}, false, "side1 side 0 0"},
			{"", true, []string{"you are qwen", "a summary"}, false, "main main 4 0"},
		},
		"opencode": {
			{"X-Session-Id: a", false, []string{"a title"}, false, "main side 0 0"},
			{"X-Session-Id: a", true, []string{"x"}, false, "main main 1 0"},
			{"X-Session-Id: b\nX-Parent-Session-Id: a", true, []string{"find"}, false, "sub1 agent 2 0"},
		},
		"own": {
			{"", false, []string{"x"}, false, "main main 1 0"},
			{"", false, []string{"other"}, false, "main2 main 2 0"},
			{"", false, []string{"x", "y"}, false, "main main 3 0"},
			{"", false, []string{"x", "y", "z"}, false, "main main 4 0"},
			{"", false, []string{"x", "z"}, false, "main main 5 0"},
			{"X-Session-Id: s\nX-Parent-Session-Id: a", false, []string{"x"}, false, "sub1 agent 6 1"},
		},
	} {
		c := newConversations()
		program, _, _ := strings.Cut(name, " ")
		for i, call := range calls {
			header := http.Header{}
			for line := range strings.SplitSeq(call.headers, "\n") {
				if key, value, ok := strings.Cut(line, ": "); ok {
					header.Set(key, value)
				}
			}
			asked := body(model.Chat, "m", false, call.said...)
			if call.tools {
				asked = strings.Replace(asked, `"model"`, `"tools":[{"type":"function"}],"model"`, 1)
			}
			a, wrong := readBody(t, model.Chat, header, asked, rulesOf(program, header))
			if a == nil {
				t.Fatal(wrong)
			}
			p := c.arrive(a)
			p.over, p.complete = true, !call.fails
			if got := fmt.Sprint(p.conversation.name, " ", p.kind, " ", p.step, " ", p.nth); got != call.want {
				t.Errorf("%s, call %d: got %s, want %s", name, i+1, got, call.want)
			}
		}
	}
}

// While a call is in flight, an equal one is another call: a program may ask the same twice.
func TestAnEqualCallInFlightIsNoRetry(t *testing.T) {
	c := newConversations()
	a, _ := readBody(t, model.Chat, http.Header{}, body(model.Chat, "m", false, "x"), &unknown)
	one, two := c.arrive(a), c.arrive(a)
	if one.nth != 0 || two.nth != 1 || two.step != 2 {
		t.Errorf("got %+v", two)
	}
}
