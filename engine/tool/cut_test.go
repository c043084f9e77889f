package tool

import (
	"testing"

	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/engine/secret/cuttest"
)

func TestF70_NoCutLeavesAPartOfAKey(t *testing.T) {
	cuttest.LeavesNoPart(t, 500, map[string]func(string) string{
		"a name": func(text string) string { return secret.Shorten(text, mostOfName) },
	})
}
