//go:build !race

package agentbench

const raceEnabled = false
