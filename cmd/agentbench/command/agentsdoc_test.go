package command

import "testing"

// Every example of the language of agents is run, with scripted models.
func TestAgentsDocument(t *testing.T) { runDocument(t, "../../../docs/agents.md", 20) }
