package command

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/reports/page"
)

func (p *program) pricesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "prices",
		Short:   "Make a price file for suites",
		GroupID: "write",
		Args:    arguments(0, 0, "import"),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	var out, asOf string
	var providers []string
	table := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a price file from LiteLLM's model_prices_and_context_window.json",
		Long: `Converts LiteLLM's model_prices_and_context_window.json into a price file, which a suite uses with
prices: FILE. Models have the names of their provider.`,
		Example: "  agentbench prices import model_prices_and_context_window.json --provider openai --out prices.yaml",
		Args:    arguments(1, 1, "the file of LiteLLM's table"),
		RunE: func(_ *cobra.Command, args []string) error {
			return p.importPrices(args[0], asOf, out, providers)
		},
	}
	table.Flags().StringVarP(&out, "out", "o", "", "write the prices to FILE (default: stdout)")
	table.Flags().StringVar(&asOf, "as-of", "", "date of the prices (default: the day FILE was last changed)")
	table.Flags().StringArrayVar(&providers, "provider", nil, "only models of this provider, as LiteLLM names it (repeatable)")
	c.AddCommand(table)
	return c
}

func (p *program) importPrices(name, asOf, out string, providers []string) error {
	if name == "-" {
		return exit.Usage("name a file", "stdin is not read")
	}
	if err := readableLogs([]string{name}); err != nil {
		return err
	}
	file, err := os.Open(name)
	if err != nil {
		return exit.Usage("", "%w", err)
	}
	defer file.Close()
	if asOf == "" {
		info, err := file.Stat()
		if err != nil {
			return exit.Usage("", "%w", err)
		}
		asOf = info.ModTime().UTC().Format(time.DateOnly)
	} else if _, err := time.Parse(time.DateOnly, asOf); err != nil {
		return exit.Usage("agentbench prices import FILE --as-of 2026-11-01", "--as-of %s: want a date", asOf)
	}
	made, err := imports.Prices(file, providers...)
	if err != nil {
		return exit.Usage("", "%s: %w", name, err)
	}
	if out == "" {
		_, err = io.WriteString(p.out, made.YAML(asOf))
	} else {
		err = os.WriteFile(out, []byte(made.YAML(asOf)), 0o666)
	}
	if err != nil {
		return exit.With(exit.NotMeasured, "", "writing the prices: %w", err)
	}
	fmt.Fprintf(p.err, "prices of %s as of %s\n", page.Plural(len(made.Models), "model", "models"), asOf)
	tell := func(what string, names []string) {
		if len(names) > 0 {
			fmt.Fprintf(p.err, "%s: %s\n", what, page.Visible(exit.Some(names)))
		}
	}
	tell("left out, the prices are 0 (a gap of the table, or free: write NAME: free)", made.Zero)
	tell("left out, providers charge differently (choose with --provider)", made.Ambiguous)
	var unused []string
	for _, field := range slices.Sorted(maps.Keys(made.Unknown)) {
		unused = append(unused, fmt.Sprintf("%s (%s)", field, page.Plural(made.Unknown[field], "model", "models")))
	}
	tell("fields that are not used", unused)
	return nil
}
