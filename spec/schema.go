package spec

import (
	"encoding/json"

	"github.com/agentbench/agentbench/spec/source"
)

// SchemaSuite is the JSON Schema of suite files.
func SchemaSuite() ([]byte, error) { return schemaOf(Suite{}, "An agentbench suite") }

// SchemaLoop is the JSON Schema of loop files.
func SchemaLoop() ([]byte, error) { return schemaOf(Loop{}, "An agentbench loop") }

// SchemaImport is the JSON Schema of mappings, which import reads logs by.
func SchemaImport() ([]byte, error) { return schemaOf(Import{}, "An agentbench import mapping") }

func schemaOf(kind any, title string) ([]byte, error) {
	schema := source.Schema(kind)
	schema["title"] = title
	return json.MarshalIndent(schema, "", "  ")
}
