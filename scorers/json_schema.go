package scorers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/santhosh-tekuri/jsonschema/v6"
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
		if err := schema.Validate(expr.Maps(value)); err != nil {
			return verdict{explanation: firstViolation(err)}
		}
		return verdict{value: 1}
	}
}

// schemaURL is the place that references of a schema are relative to. Nothing can be loaded from there.
const (
	schemaBase = "scorer:///"
	schemaURL  = schemaBase + "schema"
)

// schema compiles the schema; nil after a fault.
func (c *compiler) schema() *jsonschema.Schema {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.spec.Schema))
	if err != nil {
		c.fault(c.schemaKey(), "the schema is no JSON: %v", err)
		return nil
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // knows no scheme, so nothing is loaded
	if err := compiler.AddResource(schemaURL, document); err != nil {
		c.fault(c.schemaKey(), "the schema is wrong: %v", err)
		return nil
	}
	schema, err := compiler.Compile(schemaURL)
	if err != nil {
		c.fault(c.schemaKey(), "the schema is wrong: %s", whatIsWrong(err))
	}
	return schema
}

func (c *compiler) schemaKey() string {
	if c.spec.SchemaFile != "" {
		return "schema_file"
	}
	return "schema"
}

func whatIsWrong(err error) string {
	if outside, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return fmt.Sprintf("it refers to %s, and only what stands in the schema itself is read", strings.TrimPrefix(outside.URL, schemaBase))
	}
	if wrong, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		return firstViolation(wrong.Err)
	}
	return strings.ReplaceAll(err.Error(), schemaURL, "")
}
