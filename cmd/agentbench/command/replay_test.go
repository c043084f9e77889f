package command

import "testing"

// TestReplayDocument runs the examples of docs/replay.md.
func TestReplayDocument(t *testing.T) { runDocument(t, "../../../docs/replay.md", 7) }
