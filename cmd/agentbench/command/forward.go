package command

import (
	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/external"
)

// forwardCommand is what sandboxes start programs with. Nobody types it.
func (p *program) forwardCommand() *cobra.Command {
	var listen, socket string
	c := &cobra.Command{
		Use:    "forward [flags] -- PROGRAM [ARGUMENT...]",
		Short:  "Run a program in a sandbox, and connect it to a unix socket outside",
		Hidden: true,
		RunE: func(_ *cobra.Command, argv []string) error {
			status, err := external.Forward(listen, socket, argv)
			switch {
			case err != nil:
				return exit.With(status, "", "%w", err)
			case status != 0:
				return exit.Quiet(status) // the program has said why
			}
			return nil
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "address on which the program finds the socket")
	c.Flags().StringVar(&socket, "socket", "", "unix socket to which connections are connected")
	return c
}
