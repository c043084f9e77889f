package replay

import (
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Recorded is a run and its task. The run may be light: see [record.Run.Light].
type Recorded struct {
	Run  *record.Run
	Task *spec.Task
}

// Room is memory in which runs are walked, one after the other.
type Room struct {
	walk     walk
	made     []record.Iteration
	spent    []spent
	reserved []Reservation
}
