package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/spec"
)

// schemas are the kinds of files that have a schema.
var schemas = map[string]func() ([]byte, error){"suite": spec.SchemaSuite, "loop": spec.SchemaLoop}

func (p *program) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "schema suite|loop",
		Short:     "Print the JSON Schema of suites or loops, for editors",
		GroupID:   "write",
		ValidArgs: []string{"suite", "loop"},
		Args:      arguments(1, 1, "suite or loop"),
		RunE: func(_ *cobra.Command, args []string) error {
			schema := schemas[args[0]]
			if schema == nil {
				return usage(didYouMean(args[0], []string{"suite", "loop"}, "there are: suite, loop"), "there is no schema of %q", args[0])
			}
			text, err := schema()
			if err != nil {
				return fail(notMeasured, "", "making the schema: %w", err)
			}
			fmt.Fprintf(p.out, "%s\n", text)
			return nil
		},
	}
}

// writeSchemas puts the schemas where the editor line of a suite looks for them.
func writeSchemas(dir string) error {
	for kind, schema := range schemas {
		text, err := schema()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, kind+".schema.json"), append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}
