package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
)

// result is what an agent gets of an answer; a failure that the server reports is an error.
func result(answer *sdk.CallToolResult) (r tool.Result, err error) {
	if answer.IsError {
		why := strings.TrimSpace(strings.Join(texts(answer.Content), "\n"))
		return r, record.Errorf(record.Tool, "%s", cmp.Or(why, "the tool failed and did not say why"))
	}
	if r.Content, err = content(answer); err != nil {
		return r, record.Errorf(record.Tool, "the answer cannot be read: %v", err)
	}
	return r, nil
}

// content is an answer as JSON: its structured content, else its text, else its parts.
func content(answer *sdk.CallToolResult) (json.RawMessage, error) {
	said := texts(answer.Content)
	switch {
	case answer.StructuredContent != nil:
		return structured(answer.StructuredContent, said)
	case len(said) == len(answer.Content):
		return marshal(strings.Join(said, "\n"))
	}
	parts := make([]any, len(answer.Content))
	for i, c := range answer.Content {
		var err error
		if parts[i], err = part(c); err != nil {
			return nil, err
		}
	}
	return marshal(parts)
}

func texts(parts []sdk.Content) []string {
	var said []string
	for _, c := range parts {
		if text, ok := c.(*sdk.TextContent); ok {
			said = append(said, text.Text)
		}
	}
	return said
}

// structured is the structured content. Servers give the same as text, too, which is preferred: decoded numbers have lost digits.
func structured(value any, said []string) (json.RawMessage, error) {
	for _, text := range said {
		var same any
		if json.Unmarshal([]byte(text), &same) == nil && reflect.DeepEqual(same, value) {
			var compact bytes.Buffer
			err := json.Compact(&compact, []byte(text))
			return compact.Bytes(), err
		}
	}
	return marshal(value)
}

// part is what a model is given of a part: its text, or the protocol's object with the size of its data in place of the data.
func part(c sdk.Content) (any, error) {
	if text, ok := c.(*sdk.TextContent); ok {
		return text.Text, nil
	}
	encoded, err := c.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(encoded, &object); err != nil {
		return nil, err
	}
	measure(object)
	if resource, ok := object["resource"].(map[string]any); ok {
		measure(resource)
	}
	return object, nil
}

// measure replaces data in base64 by the number of its bytes.
func measure(object map[string]any) {
	for _, key := range []string{"data", "blob"} {
		if data, ok := object[key].(string); ok {
			delete(object, key)
			object["bytes"] = len(strings.TrimRight(data, "=")) * 3 / 4
		}
	}
}

// marshal leaves the characters of HTML as they are.
func marshal(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}
