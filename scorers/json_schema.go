package scorers

import (
	"context"

	"github.com/agentbench/agentbench/spec/expr"
)

// jsonSchema validates the value, or the JSON that it holds as a text, against a schema (draft 2020-12 unless it names
// another). A text that is no JSON is worth 0.
func jsonSchema(c *compiler) comparison {
	schema := c.schema()
	return func(_ context.Context, s *subject) verdict {
		value := s.value
		if written, ok := value.(string); ok {
			if err := searchable(written); err != nil {
				return unscored("%v", err)
			}
			parsed, err := expr.ParseJSON([]byte(written))
			if err != nil {
				return verdict{explanation: "it is no JSON: " + err.Error()}
			}
			value = parsed
		}
		wrong, err := schema.Violations(value)
		if err != nil {
			return unscored("%v", err)
		}
		if len(wrong) > 0 {
			return verdict{explanation: short(expr.FirstViolation(wrong), maxAnswer)}
		}
		return verdict{value: 1}
	}
}

// schema compiles the schema; nil after a fault.
func (c *compiler) schema() *expr.JSONSchema {
	schema, err := expr.CompileSchema(c.spec.Schema)
	if err != nil {
		c.fault(c.schemaKey(), "the schema is wrong: %s", short(err.Error(), maxAnswer))
	}
	return schema
}

func (c *compiler) schemaKey() string {
	if c.spec.SchemaFile != "" {
		return "schema_file"
	}
	return "schema"
}
