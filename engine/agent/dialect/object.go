package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
)

// firstValue reads the JSON value that a text begins with, and says where it
// ends; or what is wrong with it.
func firstValue(text string) (value json.RawMessage, end int, fault string) {
	decoder := json.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&value); err != nil {
		return nil, 0, notJSON(text, err)
	}
	return compact(value), int(decoder.InputOffset()), ""
}

// wholeValue is the JSON value that a text is, nil for a blank text.
func wholeValue(text string) (value json.RawMessage, fault string) {
	if strings.TrimSpace(text) == "" {
		return nil, ""
	}
	value, end, fault := firstValue(text)
	if rest := strings.TrimSpace(text[end:]); fault == "" && rest != "" {
		return nil, fmt.Sprintf("not JSON: %q stands behind the value", short(rest))
	}
	return value, fault
}

func notJSON(text string, err error) string {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return "not JSON: it ends too early"
	}
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return "not JSON: " + err.Error()
	}
	read := text[:min(max(int(syntax.Offset)-1, 0), len(text))]
	line, column := strings.Count(read, "\n")+1, len(read)-strings.LastIndexByte(read, '\n')
	return fmt.Sprintf("not JSON: %v (line %d, column %d)", err, line, column)
}

// arguments is the object that arguments are: none are an empty one, and a string
// may hold one. Beside a fault they are as they were written.
func arguments(written json.RawMessage) (json.RawMessage, string) {
	switch kind(written) {
	case "nothing":
		return json.RawMessage("{}"), ""
	case "an object":
		return written, ""
	case "a string":
		var text string
		if json.Unmarshal(written, &text) != nil {
			break
		}
		inner, fault := wholeValue(text)
		if k := kind(inner); fault == "" && (k == "an object" || k == "nothing") {
			return arguments(inner)
		}
	}
	return written, fmt.Sprintf("the arguments are %s, not an object", kind(written))
}

// kind says what a JSON value is.
func kind(value json.RawMessage) string {
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 'n':
		return "nothing"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

// compact is JSON without white space, as records keep it.
func compact(value json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return value
	}
	return b.Bytes()
}

// quoted is a text as a JSON string.
func quoted(text string) json.RawMessage {
	value, _ := expr.AppendJSON(make([]byte, 0, len(text)+2), text) // a string always is JSON
	return value
}

// short keeps a message short.
func short(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}
