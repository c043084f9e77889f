package proxy

import (
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// Calls are those that were let through so far.
func (s *Session) Calls() []record.Call {
	calls, _, _ := s.Made(time.Hour)
	return calls
}

// Steps are those of the iteration that were answered by a time.
func (s *Session) Steps(until time.Duration) ([]record.Step, []record.ToolCall) {
	_, steps, tools := s.Made(until)
	return steps, tools
}

// Followed are those that were followed.
func (s *Session) Followed() ([]record.Step, []record.ToolCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.iteration.steps, s.iteration.tools
}
