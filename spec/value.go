package spec

import (
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// JSON is the JSON text of a value that was written as YAML.
type JSON []byte

// DecodeNode takes a mapping.
func (j *JSON) DecodeNode(n *source.Node, d *source.Decoder) {
	var plain any
	if n.Kind != source.Map {
		d.Fault(n, "", "want a mapping")
		return
	}
	d.Decode(n, &plain)
	text, err := expr.AppendJSON(nil, valueOf(plain))
	if err != nil {
		d.Fault(n, "", "%v", err)
	}
	*j = text
}

// JSONSchema describes any mapping.
func (j *JSON) JSONSchema(*source.Generator) map[string]any { return map[string]any{"type": "object"} }

// valueOf turns a plain value of YAML into one of expressions: every number is a double there, as in JSON.
func valueOf(plain any) any {
	switch v := plain.(type) {
	case int64:
		return float64(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = valueOf(v[i])
		}
		return list
	case *source.Object:
		object := expr.NewObject(len(v.Keys))
		for i, key := range v.Keys {
			object.Set(key, valueOf(v.Values[i]))
		}
		return object
	}
	return plain
}
