package command_test

import (
	"fmt"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
)

// The tree has every subcommand with its flags, for example to write man pages.
func ExampleTree() {
	report, _, err := command.Tree().Find([]string{"report"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Use)
	fmt.Println(report.Flags().Lookup("all").Usage)
	// Output:
	// report DIR | FILE
	// show all tables instead of the summary
}
