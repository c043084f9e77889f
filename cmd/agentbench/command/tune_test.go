package command

import "testing"

// TestTuneDocument runs the commands of docs/tune.md.
func TestTuneDocument(t *testing.T) { runDocument(t, "../../../docs/tune.md", 6) }
