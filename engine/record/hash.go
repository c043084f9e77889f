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

// ToolSet tells equal sets of tool calls from different ones, whatever their
// order: a hash of the sorted (tool, arguments) pairs. It is "" for no calls.
func ToolSet(calls []ToolCall) string {
	if len(calls) == 0 {
		return ""
	}
	pairs := make([][]byte, len(calls))
	for i := range calls {
		pairs[i] = appendString(nil, calls[i].Tool)
		pairs[i] = append(pairs[i], compact(calls[i].Arguments)...)
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

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
