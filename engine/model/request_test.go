package model

import (
	"maps"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

func number(n float64) *float64 { return &n }

// What is sent decides the hash, every part of it in its own way, of requests with and without tools; which draw it is does not.
func TestHashOfRequests(t *testing.T) {
	seed, png := int64(0), Image{Type: "image/png", Sum: "1"}
	last := func(r *Request) *Message { return &r.Messages[len(r.Messages)-1] }
	changes := map[string]func(*Request){
		"text":            func(r *Request) { last(r).Text = "c" },
		"role":            func(r *Request) { last(r).Role = "system" },
		"border":          func(r *Request) { r.Messages[len(r.Messages)-2].Text, last(r).Text = "ab", "" },
		"fewer":           func(r *Request) { r.Messages = r.Messages[1:] },
		"no temperature":  func(r *Request) { r.Temperature = nil },
		"temperature 0":   func(r *Request) { r.Temperature = number(0) },
		"temperature 0.5": func(r *Request) { r.Temperature = number(0.5) },
		"no top_p":        func(r *Request) { r.TopP = nil },
		"top_p 0":         func(r *Request) { r.TopP = number(0) },
		"seed 0":          func(r *Request) { r.Seed = &seed },
		"maximum":         func(r *Request) { r.MaxOutputTokens = 1 },
		"JSON":            func(r *Request) { r.JSON = true },
		"blocks":          func(r *Request) { last(r).Blocks = []byte(`[{"type":"thinking"}]`) },
		"other blocks":    func(r *Request) { last(r).Blocks = []byte(`[{"type":"text"}]`) },
		"an image":        func(r *Request) { last(r).Images = []Image{png} },
		"its bytes":       func(r *Request) { last(r).Images = []Image{{Type: png.Type, Sum: "2"}} },
		"its type":        func(r *Request) { last(r).Images = []Image{{Type: "image/gif", Sum: png.Sum}} },
		"two images":      func(r *Request) { last(r).Images = []Image{png, png} },
	}
	allDiffer(t, func() *Request { return &Request{} }, changes)
	maps.Copy(changes, map[string]func(*Request){
		"no tools":          func(r *Request) { r.Tools = nil },
		"fewer tools":       func(r *Request) { r.Tools = r.Tools[:1] },
		"the tools' order":  func(r *Request) { r.Tools[0], r.Tools[1] = r.Tools[1], r.Tools[0] },
		"tool":              func(r *Request) { r.Tools[1].Name = "h" },
		"description":       func(r *Request) { r.Tools[0].Description = "" },
		"parameters":        func(r *Request) { r.Tools[0].Parameters = nil },
		"choice":            func(r *Request) { r.ToolChoice = "" },
		"call id":           func(r *Request) { r.Messages[1].ToolCalls[0].ID = "3" },
		"call name":         func(r *Request) { r.Messages[1].ToolCalls[0].Name = "g" },
		"arguments":         func(r *Request) { r.Messages[1].ToolCalls[0].Arguments = "{ }" },
		"fewer calls":       func(r *Request) { r.Messages[1].ToolCalls = r.Messages[1].ToolCalls[:1] },
		"answered":          func(r *Request) { r.Messages[2].ToolCallID = "2" },
		"result":            func(r *Request) { r.Messages[2].Text = "" },
		"border of results": func(r *Request) { r.Messages[2].Text, r.Messages[2].ToolCallID = "c1", "" },
	})
	allDiffer(t, conversation, changes)
}

// allDiffer makes each change to a request with two more messages. All come to different hashes.
func allDiffer(t *testing.T, begun func() *Request, changes map[string]func(*Request)) {
	t.Helper()
	base := func() *Request {
		r := begun()
		r.Messages = append(r.Messages, Message{Role: "system", Text: "a"}, Message{Role: "user", Text: "b"})
		r.Temperature, r.TopP = number(1), number(1)
		return r
	}
	drawn := base()
	drawn.Draw = Draw{Task: "y", Trial: 2, Call: 3}
	want := base().Hash("m")
	if len(want) != 16 || want != base().Hash("m") || want != drawn.Hash("m") {
		t.Fatalf("hash %q has not 16 digits, or the same request or another draw of it has another one", want)
	}
	seen := map[string]string{want: "nothing", base().Hash("n"): "the model's name"}
	for name, change := range changes {
		changed := base()
		change(changed)
		if other, taken := seen[changed.Hash("m")]; taken {
			t.Errorf("%s has the hash of %s changed", name, other)
		}
		seen[changed.Hash("m")] = name
	}
}

// Records and caches hold hashes of before there were tools.
func TestRequestsWithoutToolsKeepTheirHashes(t *testing.T) {
	half, seed := 0.5, int64(7)
	for want, request := range map[string]*Request{
		"6ad54e5dd5cf1d2c": {Messages: []Message{{Role: "system", Text: "a"}, {Role: "user", Text: "b"}}},
		"e0514c9fc8cf8ddd": {
			Messages: []Message{{Role: "user", Text: "b"}}, Temperature: &half, TopP: &half, Seed: &seed, MaxOutputTokens: 9, JSON: true,
		},
	} {
		if got := request.Hash("m"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// conversation is a request with everything of tools in it.
func conversation() *Request {
	return &Request{
		Messages: []Message{
			{Role: "user", Text: "b"},
			{Role: "assistant", ToolCalls: []ToolCall{{ID: "1", Name: "f", Arguments: "{}"}, {ID: "2", Name: "g", Arguments: "{}"}}},
			{Role: "tool", Text: "c", ToolCallID: "1"},
			{Role: "tool", Text: "d", ToolCallID: "2"},
		},
		Tools:      []Tool{{Name: "f", Description: "does f", Parameters: []byte(`{"type":"object"}`)}, {Name: "g"}},
		ToolChoice: "auto",
	}
}

// What a model reads of a request is more with every part of it.
func TestBytesOfRequestsWithTools(t *testing.T) {
	if got := conversation().Bytes(); got != 38 {
		t.Errorf("got %d bytes", got)
	}
	plain := &Request{Messages: []Message{{Role: "system", Text: "abc"}, {Role: "user", Text: "de"}}}
	if got := plain.Bytes(); got != 5 {
		t.Errorf("got %d bytes of a request without tools", got)
	}
	before := plain.InputTokens()
	plain.Messages[0].Images = []Image{{Type: "image/png", Data: make([]byte, 1<<20)}}
	if got := plain.InputTokens() - before; got != 1600 {
		t.Errorf("an image counts as %d tokens", got)
	}
}

func TestDifferentSettingsHaveDifferentHashes(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		draw := func() *Request {
			r := &Request{MaxOutputTokens: rapid.IntRange(0, 2).Draw(t, "max")}
			if rapid.Bool().Draw(t, "has temperature") {
				r.Temperature = number(rapid.Float64Range(0, 2).Draw(t, "temperature"))
			}
			if rapid.Bool().Draw(t, "has top_p") {
				r.TopP = number(rapid.Float64Range(0, 2).Draw(t, "top_p"))
			}
			return r
		}
		a, b := draw(), draw()
		same := a.MaxOutputTokens == b.MaxOutputTokens && equal(a.Temperature, b.Temperature) && equal(a.TopP, b.TopP)
		if same != (a.Hash("m") == b.Hash("m")) {
			t.Fatalf("same settings: %v, same hash: %v", same, !same)
		}
	})
}

func equal(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }

func TestEstimateTokens(t *testing.T) {
	for bytes, want := range map[int]int64{0: 0, 1: 1, 4: 1, 5: 2, 400: 100} {
		if got := EstimateTokens(bytes); got != want {
			t.Errorf("EstimateTokens(%d) = %d, want %d", bytes, got, want)
		}
	}
}
