package proxy

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/model"
)

// What a call of a program means is read by rules, one row for each program that is known. They are data: where a program
// changes what it sends, a row changes and its version with it.

// rules say how the calls of one program are read.
type rules struct {
	program string
	version int // of the row
	// A call is the program's if its header User-Agent begins so.
	agent string
	// thread are the headers that name a conversation, child those that tell that it is a sub-agent's.
	thread, child []string
	// kind is a header with an object whose member of that name is turn where the call is a step.
	kind, member string
	// toolless says that a call which offers no tools is no step.
	toolless bool
	// compaction is how the last text of a request begins that asks for a summary of the conversation, though it offers tools.
	compaction string
	// apart says that sub-agents always name their conversations, so that all other calls are the main one's.
	apart bool
	// opening says that a conversation that begins anew, as after compaction, is told by how the main one began.
	opening bool
	// masks are measured texts, which differ from run to run.
	masks []mask
}

// mask hides the characters that stand between two texts.
type mask struct{ before, characters, after string }

const (
	digits       = "0123456789."
	hexadecimals = "0123456789abcdef"
)

// unknown are the rules of all other programs: every call is a step.
var unknown = rules{thread: []string{"X-Session-Id"}, child: []string{"X-Parent-Session-Id"}}

// known are the rules of programs, as of codex 0.169, claude 2.1, qwen 0.24 and opencode 1.18.
var known = []rules{
	{
		program: "codex", version: 1, agent: "codex_", thread: []string{"Thread-Id"}, child: []string{"X-Openai-Subagent", "X-Codex-Parent-Thread-Id"},
		kind: "X-Codex-Turn-Metadata", member: "request_kind",
		masks: []mask{{"Chunk ID: ", hexadecimals, `\n`}, {"Wall time: ", digits, " seconds"}},
	},
	{
		program: "claude", version: 2, agent: "claude-cli/", thread: []string{"X-Claude-Code-Agent-Id"}, child: []string{"X-Claude-Code-Agent-Id"},
		toolless: true, apart: true, compaction: "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.",
	},
	{program: "qwen", version: 1, agent: "QwenCode/", toolless: true, opening: true},
	{
		program: "opencode", version: 1, agent: "opencode/", thread: []string{"X-Session-Id"}, child: []string{"X-Parent-Session-Id"},
		toolless: true,
	},
}

// rulesOf are the rules of a program, by the name that it is known under or else, as behind a shell script, by its User-Agent.
func rulesOf(program string, header http.Header) *rules {
	for _, is := range []func(r *rules) bool{
		func(r *rules) bool { return r.program == program },
		func(r *rules) bool { return strings.HasPrefix(header.Get("User-Agent"), r.agent) },
	} {
		if i := slices.IndexFunc(known, func(r rules) bool { return is(&r) }); i >= 0 {
			return &known[i]
		}
	}
	return &unknown
}

// first is the value of the first header that is set.
func first(header http.Header, names []string) string {
	for _, name := range names {
		if value := header.Get(name); value != "" {
			return value
		}
	}
	return ""
}

// isSide reports whether a call is no step: it has another purpose than a turn, compacts the conversation, or offers no tools.
func (r *rules) isSide(a *asked) bool {
	var told map[string]json.RawMessage
	if r.kind != "" && json.Unmarshal([]byte(a.header.Get(r.kind)), &told) == nil && told[r.member] != nil {
		return string(told[r.member]) != `"turn"`
	}
	return r.toolless && !a.tools || r.compaction != "" && strings.HasPrefix(a.lastText(), r.compaction)
}

// lastText is the last thing that the user of a conversation says, "" where that is no text.
func (a *asked) lastText() string {
	if len(a.items) == 0 {
		return ""
	}
	last, _ := decode(a.items[len(a.items)-1]).(map[string]any)
	content := last["content"]
	if parts, isList := content.([]any); isList && len(parts) > 0 {
		part, _ := parts[len(parts)-1].(map[string]any)
		content = part["text"]
	}
	text, _ := content.(string)
	return text
}

// mask hides what was measured in a canonical form, and texts that only belong to the run, such as its folder.
func (r *rules) mask(canonical []byte, ofRun []string) []byte {
	for _, text := range ofRun {
		canonical = bytes.ReplaceAll(canonical, []byte(text), []byte("*"))
	}
	for i := range r.masks {
		canonical = r.masks[i].hide(canonical)
	}
	return canonical
}

// ofRun are the texts that only belong to a run, longest first. Agents name the folder of a project by its path, with a dash for
// whatever is no letter or digit.
func ofRun(own []string) []string {
	var all []string
	for _, text := range own {
		dashed := strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
				return c
			}
			return '-'
		}, text)
		all = append(all, text, dashed)
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return slices.DeleteFunc(all, func(text string) bool { return text == "" })
}

// hide works in place: what is hidden is at least as long as the asterisk that stands for it.
func (m *mask) hide(text []byte) []byte {
	at := bytes.Index(text, []byte(m.before))
	if at < 0 {
		return text
	}
	kept, rest := text[:0], text
	for ; at >= 0; at = bytes.Index(rest, []byte(m.before)) {
		from := at + len(m.before)
		to := from
		for to < len(rest) && strings.IndexByte(m.characters, rest[to]) >= 0 {
			to++
		}
		kept = append(kept, rest[:from]...)
		if to > from && bytes.HasPrefix(rest[to:], []byte(m.after)) {
			kept = append(kept, '*')
			from = to
		}
		rest = rest[from:]
	}
	return append(kept, rest...)
}

// form is where a protocol says what.
type form struct {
	items   string   // the member that holds the conversation
	opening []string // those that hold what stands before it
	leftOut []string // members that name a session, a user or a place in a cache, or that the proxy itself decides
	ofItems []string // the same of the conversation's items
	body    string   // behind the address: where calls are sent to
	result  string   // the member of what a tool gave that names its call
}

var forms = map[model.Protocol]*form{
	model.Chat: {
		items: "messages", body: "/chat/completions", result: "tool_call_id",
		leftOut: []string{"model", "user", "safety_identifier", "metadata", "prompt_cache_key", "prompt_cache_retention"},
	},
	model.Responses: {
		items: "input", opening: []string{"instructions"}, body: "/responses", result: "call_id", ofItems: []string{"id", "status"},
		leftOut: []string{"model", "user", "safety_identifier", "metadata", "client_metadata", "prompt_cache_key", "prompt_cache_retention"},
	},
	model.Messages: {
		items: "messages", opening: []string{"system"}, body: "/messages", result: "tool_use_id", leftOut: []string{"model", "metadata", "cache_control"},
	},
}
