package main

import "testing"

// The examples of scorers that ask others are run.
func TestProgramScorersDocument(t *testing.T) { runDocument(t, "../../docs/program-scorers.md", 3) }

func TestJudgesDocument(t *testing.T) { runDocument(t, "../../docs/judges.md", 3) }
