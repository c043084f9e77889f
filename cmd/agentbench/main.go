// Command agentbench decides what its user meets: it reads the command line,
// wires the packages that do the work, prints what they found, and turns the
// way it ended into an exit code.
//
// Each subcommand is a file of its name. Results go to stdout, everything else
// (progress, warnings, errors) to stderr. The exit codes:
//
//	0  fine
//	1  it ran, and the answer is no: a threshold does not hold, something is worse
//	2  wrong usage
//	3  the spec is wrong
//	4  stopped before the end: the suite's budget, or a signal
//	5  could not measure: infrastructure, coverage, missing shards, results not
//	   writable
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}
