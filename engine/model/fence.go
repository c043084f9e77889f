// Package fence decides how data are told from instructions in what a model is
// sent: each text stands between two lines with its name and a mark that none of
// the texts has in it. Whatever a text says, it can neither end its own part nor
// begin another one.

package model

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
)

// Part is a text with a name, which is of the one who asks.
type Fenced struct{ Name, Text string }

// Mark is one that no text has in it, 16 digits. It follows from the texts, so
// that equal requests stay equal.
func FenceMark(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	for {
		mark := hex.EncodeToString(sum[:8])
		if !within(texts, mark) {
			return mark
		}
		sum = sha256.Sum256(sum[:])
	}
}

func within(texts []string, mark string) bool {
	for _, text := range texts {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

// Write writes the parts one after the other, with an empty line after each. The
// mark is that of their texts, among others perhaps.
func WriteFenced(b *strings.Builder, mark string, parts ...Fenced) {
	for _, p := range parts {
		b.WriteString("=== " + p.Name + " " + mark + " ===\n")
		b.WriteString(p.Text)
		b.WriteString("\n=== end of " + p.Name + " " + mark + " ===\n\n")
	}
}

// Shown is a text as it is, and anything else as JSON.
func FencedText(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	encoded, err := expr.AppendJSON(nil, value)
	return string(encoded), err
}
