package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
)

// charactersPerToken is the usual rule of thumb for English text.
const charactersPerToken = 4

// EstimateTokens is how many tokens so many bytes of text are about.
func EstimateTokens(bytes int) int64 {
	return int64(bytes+charactersPerToken-1) / charactersPerToken
}

// InputTokens estimates the tokens of what is sent.
func (r *Request) InputTokens() int64 { return EstimateTokens(int(r.Bytes())) }

// Bytes is the length of what a model reads of the request: the texts of its
// messages, the calls in them, and its tools.
func (r *Request) Bytes() int64 {
	bytes := 0
	for i := range r.Messages {
		bytes += r.Messages[i].Bytes()
	}
	for i := range r.Tools {
		bytes += r.Tools[i].Bytes()
	}
	return int64(bytes)
}

// Sum identifies what is sent to the model of that name: messages, tools and
// settings, but not the draw.
func (r *Request) Sum(name string) [sha256.Size]byte {
	withTools := r.withTools()
	b := make([]byte, 0, r.sumSize(name))
	if withTools {
		b = appendText(b, "agentbench request 2")
	} else {
		b = appendText(b, "agentbench request 1")
	}
	b = appendText(b, name)
	b = appendNumber(b, r.Temperature)
	b = appendNumber(b, r.TopP)
	if r.Seed != nil {
		b = binary.LittleEndian.AppendUint64(append(b, 1), uint64(*r.Seed))
	} else {
		b = append(b, 0)
	}
	b = appendLength(b, r.MaxOutputTokens)
	if r.JSON {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	if withTools {
		return sha256.Sum256(r.appendConversation(b))
	}
	for i := range r.Messages {
		b = appendText(b, r.Messages[i].Role)
		b = appendText(b, r.Messages[i].Text)
	}
	return sha256.Sum256(b)
}

// withTools says whether there is anything of tools in the request. Requests
// without are summed as they were before there were tools, so that their hashes
// in records and caches stay valid.
func (r *Request) withTools() bool {
	if r.Tools != nil || r.ToolChoice != "" {
		return true
	}
	for i := range r.Messages {
		if r.Messages[i].ToolCalls != nil || r.Messages[i].ToolCallID != "" {
			return true
		}
	}
	return false
}

// sumSize is about how many bytes are summed.
func (r *Request) sumSize(name string) int {
	size := 128 + len(name) + len(r.ToolChoice)
	for i := range r.Messages {
		m := &r.Messages[i]
		size += 32 + len(m.Role) + m.Bytes() + 24*len(m.ToolCalls)
	}
	for i := range r.Tools {
		size += 24 + r.Tools[i].Bytes()
	}
	return size
}

func (r *Request) appendConversation(b []byte) []byte {
	b = appendText(b, r.ToolChoice)
	b = appendLength(b, len(r.Tools))
	for i := range r.Tools {
		b = appendText(b, r.Tools[i].Name)
		b = appendText(b, r.Tools[i].Description)
		b = appendText(b, string(r.Tools[i].Parameters))
	}
	b = appendLength(b, len(r.Messages))
	for i := range r.Messages {
		b = r.Messages[i].append(b)
	}
	return b
}

func (m *Message) append(b []byte) []byte {
	b = appendText(b, m.Role)
	b = appendText(b, m.Text)
	b = appendText(b, m.ToolCallID)
	b = appendLength(b, len(m.ToolCalls))
	for i := range m.ToolCalls {
		b = appendText(b, m.ToolCalls[i].ID)
		b = appendText(b, m.ToolCalls[i].Name)
		b = appendText(b, m.ToolCalls[i].Arguments)
	}
	return b
}

// Hash is the start of Sum in hexadecimal, 16 digits: how records name a request.
func (r *Request) Hash(name string) string {
	sum := r.Sum(name)
	return hex.EncodeToString(sum[:8])
}

func appendText(b []byte, text string) []byte {
	return append(appendLength(b, len(text)), text...)
}

func appendLength(b []byte, n int) []byte {
	return binary.LittleEndian.AppendUint64(b, uint64(n))
}

func appendNumber(b []byte, n *float64) []byte {
	if n == nil {
		return append(b, 0)
	}
	return binary.LittleEndian.AppendUint64(append(b, 1), math.Float64bits(*n))
}
