package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
)

func result(answer *sdk.CallToolResult, attempts int) (tool.Result, error) {
	r := tool.Result{Attempts: attempts}
	if answer.IsError {
		return r, record.Errorf(record.Tool, "%s", fault(answer))
	}
	var err error
	if r.Content, err = content(answer); err != nil {
		return r, record.Errorf(record.Tool, "the answer cannot be read: %v", err)
	}
	return r, nil
}

func fault(answer *sdk.CallToolResult) string {
	const most = 4 << 10
	text := strings.TrimSpace(strings.Join(texts(answer.Content), "\n"))
	if text == "" {
		return "the tool failed and did not say why"
	}
	return tool.Shorten(text, most)
}

// content is an answer as JSON: its structured content, else its text, else its
// parts.
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
		parts[i] = part(c)
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

// structured is the structured content. Servers give the same as text, too, which
// is preferred: numbers that were decoded have lost digits.
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

// part is a part as an agent can be told it: what is not text is only noted.
func part(c sdk.Content) any {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return note{Type: "image", MIME: c.MIMEType, Bytes: len(c.Data)}
	case *sdk.AudioContent:
		return note{Type: "audio", MIME: c.MIMEType, Bytes: len(c.Data)}
	case *sdk.ResourceLink:
		return note{Type: "resource_link", URI: c.URI, Name: c.Name, MIME: c.MIMEType}
	case *sdk.EmbeddedResource:
		if c.Resource == nil {
			return note{Type: "resource"}
		}
		return note{Type: "resource", URI: c.Resource.URI, MIME: c.Resource.MIMEType, Text: c.Resource.Text, Bytes: len(c.Resource.Blob)}
	}
	return note{Type: fmt.Sprintf("%T", c)}
}

type note struct {
	Type  string `json:"type"`
	Name  string `json:"name,omitempty"`
	URI   string `json:"uri,omitempty"`
	MIME  string `json:"mime,omitempty"`
	Text  string `json:"text,omitempty"`
	Bytes int    `json:"bytes,omitempty"`
}

// marshal leaves the characters of HTML as they are.
func marshal(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}
