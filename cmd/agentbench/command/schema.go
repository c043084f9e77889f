package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/calibrate"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
)

// schemas are what has a schema: files that people write, and what --format json
// writes.
var schemas = map[string]func() ([]byte, error){
	"suite": spec.SchemaSuite, "loop": spec.SchemaLoop, "import": spec.SchemaImport, "report": reports.JSONSchema, "diff": reports.DiffJSONSchema,
	"replay": tune.ReplayJSONSchema, "tune": tune.JSONSchema, "calibrate": calibrate.JSONSchema,
}

var schemaNames = []string{"suite", "loop", "import", "report", "diff", "replay", "tune", "calibrate"}

func (p *program) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema suite|loop|import|report|diff|replay|tune|calibrate",
		Short:   "Print JSON Schemas: of suites, loops and mappings, and of JSON output",
		GroupID: "write",
		Long: `Prints a JSON Schema (draft 2020-12): of suites, loops or mappings, for editors; or of the output
of report, diff, replay, tune or calibrate with --format json, for programs.`,
		ValidArgs: schemaNames,
		Args:      arguments(1, 1, "suite, loop, import, report, diff, replay, tune or calibrate"),
		RunE: func(_ *cobra.Command, args []string) error {
			schema := schemas[args[0]]
			if schema == nil {
				return exit.Usage(exit.DidYouMean(args[0], schemaNames, "there are: "+strings.Join(schemaNames, ", ")), "unknown schema %q", args[0])
			}
			text, err := schema()
			if err != nil {
				return exit.With(exit.NotMeasured, "", "making the schema: %w", err)
			}
			fmt.Fprintf(p.out, "%s\n", text)
			return nil
		},
	}
}
