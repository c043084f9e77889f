package record

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
)

// OutputHash tells equal outputs from different ones: 16 hexadecimal digits of
// the SHA-256 of the output as JSON, whatever the order of its keys, its white
// space and how its numbers and characters are written. It is "" for no output.
func OutputHash(output json.RawMessage) string {
	if output = bytes.TrimSpace(output); len(output) == 0 {
		return ""
	}
	escaped := bytes.IndexByte(output, '\\') >= 0 || bytes.Contains(output, []byte("\u2028")) || bytes.Contains(output, []byte("\u2029"))
	if output[0] == '"' && !escaped {
		return hash(output) // a string that can be written in this way only
	}
	return hash(canonical(output, false))
}

// OutputHash is that of the output, of its bytes where they are not UTF-8: texts
// with different bytes look the same.
func (it *Iteration) OutputHash() string {
	if it.NotUTF8 {
		return hash(it.OutputB64)
	}
	return OutputHash(it.Output)
}

// Canonical is JSON with sorted keys, without white space, and with one form for
// equal numbers; what is no JSON stays as it is.
func Canonical(text json.RawMessage) []byte { return canonical(text, true) }

func canonical(text json.RawMessage, escapeHTML bool) []byte {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return text
	}
	if _, err := decoder.Token(); err != io.EOF { // more follows: the JSON is invalid
		return text
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapeHTML)
	if encoder.Encode(withPlainNumbers(value)) != nil {
		return text
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// withPlainNumbers writes equal numbers of a value alike: 1, 1.0 and 10e-1.
func withPlainNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		return plainNumber(v)
	case []any:
		for i := range v {
			v[i] = withPlainNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = withPlainNumbers(v[key])
		}
	}
	return value
}

// plainNumber is a number without an exponent and without zeros that mean
// nothing, at any length: no digit is rounded. One that would need many zeros
// keeps an exponent.
func plainNumber(n json.Number) json.Number {
	text, negative := strings.CutPrefix(string(n), "-")
	mantissa, power, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exponent, err := strconv.Atoi(cmp.Or(power, "0"))
	digits := strings.TrimLeft(whole+fraction, "0")
	switch {
	case digits == "":
		return "0"
	case err != nil:
		return n
	}
	significant := strings.TrimRight(digits, "0")
	plain := positional(significant, exponent+len(digits)-len(significant)-len(fraction))
	if negative {
		plain = "-" + plain
	}
	return json.Number(plain)
}

// mostZeros that are written in place of an exponent.
const mostZeros = 20

// positional writes digits times a power of ten.
func positional(digits string, exponent int) string {
	switch point := len(digits) + exponent; {
	case exponent > mostZeros || point < -mostZeros:
		return digits + "e" + strconv.Itoa(exponent)
	case exponent >= 0:
		return digits + strings.Repeat("0", exponent)
	case point > 0:
		return digits[:point] + "." + digits[point:]
	default:
		return "0." + strings.Repeat("0", -point) + digits
	}
}

// toolSet tells equal sets of tool calls from different ones, whatever their
// order and that of the keys in their arguments: a hash of the sorted (tool,
// arguments) pairs. It is "" for no calls.
func toolSet(calls []ToolCall) string {
	if len(calls) == 0 {
		return ""
	}
	pairs := make([][]byte, len(calls))
	for i := range calls {
		pairs[i] = strconv.AppendQuote(nil, calls[i].Tool)
		pairs[i] = append(pairs[i], Canonical(calls[i].Arguments)...)
	}
	slices.SortFunc(pairs, bytes.Compare)
	return hash(bytes.Join(pairs, []byte{'\n'}))
}

// textHash tells equal texts from different ones, "" is "".
func textHash(text string) string {
	if text == "" {
		return ""
	}
	return hash([]byte(text))
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
