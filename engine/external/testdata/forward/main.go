// Command forward is what sandboxes start, as small as it can be, for tests in containers.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/agentbench/agentbench/engine/external"
)

func main() {
	flags := flag.NewFlagSet("forward", flag.ExitOnError)
	listen, socket := flags.String("listen", "", ""), flags.String("socket", "", "")
	_ = flags.Parse(os.Args[2:])
	status, err := external.Forward(*listen, *socket, flags.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "agentbench:", err)
	}
	os.Exit(status)
}
