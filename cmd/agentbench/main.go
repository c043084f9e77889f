// Command agentbench finds which agent loop, with which iteration limits, gives
// the most quality per dollar and second.
package main

import (
	"os"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
)

func main() { os.Exit(command.Main()) }
