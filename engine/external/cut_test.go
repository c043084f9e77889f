package external

import (
	"testing"

	"github.com/agentbench/agentbench/engine/secret/cuttest"
)

func TestF70_NoCutLeavesAPartOfAKey(t *testing.T) {
	cuttest.LeavesNoPart(t, 500, map[string]func(string) string{"short": short})
}
