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

// InputTokens estimates the tokens of the messages.
func (r *Request) InputTokens() int64 { return EstimateTokens(int(r.Bytes())) }

// Bytes is the length of the messages' texts.
func (r *Request) Bytes() int64 {
	bytes := 0
	for i := range r.Messages {
		bytes += len(r.Messages[i].Text)
	}
	return int64(bytes)
}

// Sum identifies what is sent to the model of that name: messages and settings,
// but not the draw.
func (r *Request) Sum(name string) [sha256.Size]byte {
	size := 96 + len(name)
	for i := range r.Messages {
		size += 16 + len(r.Messages[i].Role) + len(r.Messages[i].Text)
	}
	b := make([]byte, 0, size)
	b = appendText(b, "agentbench request 1")
	b = appendText(b, name)
	b = appendNumber(b, r.Temperature)
	b = appendNumber(b, r.TopP)
	if r.Seed != nil {
		b = binary.LittleEndian.AppendUint64(append(b, 1), uint64(*r.Seed))
	} else {
		b = append(b, 0)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(r.MaxOutputTokens))
	if r.JSON {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	for i := range r.Messages {
		b = appendText(b, r.Messages[i].Role)
		b = appendText(b, r.Messages[i].Text)
	}
	return sha256.Sum256(b)
}

// Hash is the start of Sum in hexadecimal, 16 digits: how records name a request.
func (r *Request) Hash(name string) string {
	sum := r.Sum(name)
	return hex.EncodeToString(sum[:8])
}

func appendText(b []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(text))), text...)
}

func appendNumber(b []byte, n *float64) []byte {
	if n == nil {
		return append(b, 0)
	}
	return binary.LittleEndian.AppendUint64(append(b, 1), math.Float64bits(*n))
}
