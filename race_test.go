//go:build race

package agentbench

const raceEnabled = true
