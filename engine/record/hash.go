package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// OutputHash tells equal outputs from different ones: 16 hexadecimal digits of
// the SHA-256 of the output as compact JSON. It is "" for no output.
func OutputHash(output json.RawMessage) string {
	if len(output) == 0 {
		return ""
	}
	return hash(compact(output))
}

// OutputHash is that of the output, of its bytes where they are not UTF-8: texts
// with different bytes look the same.
func (it *Iteration) OutputHash() string {
	if it.NotUTF8 {
		return hash(it.OutputB64)
	}
	return OutputHash(it.Output)
}

// ToolSet tells equal sets of tool calls from different ones, whatever their
// order and that of the keys in their arguments: a hash of the sorted (tool,
// arguments) pairs. It is "" for no calls.
func ToolSet(calls []ToolCall) string {
	if len(calls) == 0 {
		return ""
	}
	pairs := make([][]byte, len(calls))
	for i := range calls {
		pairs[i] = appendString(nil, calls[i].Tool)
		pairs[i] = append(pairs[i], Canonical(calls[i].Arguments)...)
	}
	slices.SortFunc(pairs, bytes.Compare)
	return hash(bytes.Join(pairs, []byte{'\n'}))
}

// compact is JSON as records hold it; what is no JSON stays as it is.
func compact(text json.RawMessage) []byte {
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] == '"' || !bytes.ContainsAny(text, " \n\r\t") {
		return text
	}
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}

// Canonical is JSON with sorted keys and without white space; what is no JSON
// stays as it is.
func Canonical(text json.RawMessage) []byte {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return text
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		return text
	}
	return sorted
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
