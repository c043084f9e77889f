// Command agentbench-temporal is agentbench with one more executor: run --executor temporal
// has the runs of a suite made by workers on other machines, and worker is one of these.
package main

import (
	"os"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
	"github.com/agentbench/agentbench/engine/temporal"
)

func main() { os.Exit(command.Main(temporal.Place())) }
