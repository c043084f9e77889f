package spec

import (
	"strings"

	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/spec/source"
)

// Headers are sent with every request to a server, in the order of the file.
type Headers source.Named[Header]

// Header is what a header holds: a text, or, where Env is set, the value of that environment variable with a text
// before it.
type Header struct {
	Text string
	Env  string
}

// DecodeNode takes a mapping of names to headers.
func (h *Headers) DecodeNode(n *source.Node, d *source.Decoder) {
	(*source.Named[Header])(h).DecodeNode(n, d)
	for _, header := range *h {
		if !isHeaderName(header.Key) {
			d.Add(n.KeyFault(header.Key, "write letters, digits and -", "this is no name of a header"))
		} else if header.Value.Env == "" && secret.Telling(header.Key) && header.Node.Kind == source.String {
			d.Fault(header.Node, "write {env: NAME}, or {env: NAME, prefix: \"Bearer \"}, and set the variable NAME",
				"keys come from the environment, and %s would stand in the file", shorten(header.Key))
		}
	}
}

// JSONSchema describes them.
func (h *Headers) JSONSchema(g *source.Generator) map[string]any {
	return (*source.Named[Header])(h).JSONSchema(g)
}

// fromEnvironment is the long form of a header.
type fromEnvironment struct {
	Env    string `yaml:"env" need:"required" minlen:"1" doc:"The environment variable that holds the value."`
	Prefix string `yaml:"prefix" doc:"What stands before it, such as Bearer and a space."`
}

// DecodeNode takes a text, or {env, prefix}.
func (h *Header) DecodeNode(n *source.Node, d *source.Decoder) {
	if n.Kind == source.Map {
		var long fromEnvironment
		d.Decode(n, &long)
		h.Text, h.Env = long.Prefix, long.Env
	} else {
		d.Decode(n, &h.Text)
	}
	if strings.ContainsAny(h.Text, "\r\n\x00") {
		d.Fault(n, "", "a header is one line")
	}
}

// JSONSchema describes both forms.
func (h *Header) JSONSchema(g *source.Generator) map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"type": "string"}, g.Struct(fromEnvironment{})}}
}

// Values are the headers as they are sent; one whose variable is not set is left out.
func (h Headers) Values(getenv func(string) string) map[string]string {
	values := make(map[string]string, len(h))
	for _, header := range h {
		value := header.Value.Text
		if env := header.Value.Env; env != "" {
			held := getenv(env)
			if held == "" {
				continue
			}
			value += held
		}
		values[header.Key] = value
	}
	return values
}

// isHeaderName says whether HTTP allows the name.
func isHeaderName(name string) bool {
	valid := func(c rune) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	}
	return name != "" && strings.IndexFunc(name, func(c rune) bool { return !valid(c) }) < 0
}
