package command

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write docs/commands.md")

// docs/commands.md has every command and flag, in the words of their help.
func TestCommandsDocument(t *testing.T) {
	const file = "../../../docs/commands.md"
	want := reference(Tree())
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := readDoc(t, "commands.md"); got != want {
		t.Errorf("docs/commands.md is not what --help says: go test ./cmd/agentbench/command -run TestCommandsDocument -update\n%s", want)
	}
}

func reference(root *cobra.Command) string {
	var text strings.Builder
	text.WriteString("# Commands and flags\n\nWhat `agentbench COMMAND --help` says, generated from it. Every command also takes `--color auto|always|never` and `--help`.\n")
	var add func(c *cobra.Command)
	add = func(c *cobra.Command) {
		if c.IsAvailableCommand() && c.Name() != "completion" && c.Name() != "help" {
			fmt.Fprintf(&text, "\n## %s\n\n%s: `%s`\n", strings.TrimPrefix(c.CommandPath(), "agentbench "), c.Short, strings.TrimSuffix(strings.TrimPrefix(c.UseLine(), "agentbench "), " [flags]"))
			text.WriteString(flagTable(c.NonInheritedFlags()))
			for _, below := range c.Commands() {
				add(below)
			}
		}
	}
	for _, c := range root.Commands() {
		add(c)
	}
	return text.String()
}

func flagTable(flags *pflag.FlagSet) string {
	rows := ""
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, use := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + strings.TrimPrefix(kind, f.Value.Type()))
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value := f.DefValue; value != "" && value != "0" && value != "false" && value != "[]" && !strings.Contains(use, "default") {
			use += " (default " + value + ")"
		}
		rows += fmt.Sprintf("| `%s` | %s |\n", name, strings.ReplaceAll(use, "|", `\|`))
	})
	if rows == "" {
		return ""
	}
	return "\n| flag | |\n|---|---|\n" + rows
}
