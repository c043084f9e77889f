package temporal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/engine/workspace"
)

// workerName is that of a process of a machine.
func workerName(host string, pid int) string { return host + "-" + strconv.Itoa(pid) }

// clearWorker removes what a worker that has ended left in its folder, but for the
// workspaces that loops keep.
func clearWorker(folder string) error {
	suites, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, suite := range suites {
		own := filepath.Join(folder, suite.Name())
		err = errors.Join(err, results.ForgetWorkspaces(own), workspace.Remove(filepath.Join(own, travelFolder)))
		_ = os.Remove(own) // it stays where something was kept
	}
	_ = os.Remove(folder)
	return err
}

// clearKilled does so for all workers of this machine that were killed.
func (w *Worker) clearKilled() error {
	folders, err := os.ReadDir(filepath.Join(w.Dir, runsFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, folder := range folders {
		pid, wrong := strconv.Atoi(strings.TrimPrefix(folder.Name(), w.Host+"-"))
		if name := folder.Name(); name == w.Name || wrong == nil && name == workerName(w.Host, pid) && !w.Alive(pid) {
			err = errors.Join(err, clearWorker(filepath.Join(w.Dir, runsFolder, name)))
		}
	}
	return err
}
