package main

import "github.com/spf13/cobra"

// helpCommand explains a command; unlike cobra's own it fails where there is
// none of that name.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(_ *cobra.Command, args []string) error {
			found, _, err := root.Find(args)
			if err != nil || found == root && len(args) > 0 {
				return unknownCommand(root, args)
			}
			return found.Help()
		},
	}
}
