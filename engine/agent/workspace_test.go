package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/workspace"
)

// Where the home of the programs cannot be removed, the folder stays as they left it.
func TestAFolderIsKeptWhereItsHomeCannotBeRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("r", 255)) // the name of its home is too long
	propertytest.Must(t, os.Mkdir(dir, 0o755))
	kept := filepath.Join(dir, "answer.txt")
	propertytest.Must(t, os.WriteFile(kept, []byte("42"), 0o644))
	ws := &Workspace{Workspaces: &Workspaces{}, dir: dir, Seed: &workspace.Tree{}}
	if err := ws.Reset(t.Context()); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("what the programs left: %v", err)
	}
}
