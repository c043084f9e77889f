package engine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// A coding agent that takes longer to print its version has none, and what is longer is no version.
const (
	versionTimeout = 10 * time.Second
	mostOfVersion  = 200 // bytes
)

// Versions are the versions of the coding agents of a loop that have a recipe: the first line
// that each prints for --version, in an empty home. In a container the image says it, which is
// part of the loop.
func (m *Parts) Versions(ctx context.Context, l *spec.Loop) (all []record.ProgramHead) {
	if l.Workspace != nil && l.Workspace.Sandbox != nil && l.Workspace.Sandbox.Kind == spec.SandboxContainer {
		return nil
	}
	for _, s := range l.Stages() {
		recipe := spec.RecipeOf(s.Agent.Recipe)
		known := func(p record.ProgramHead) bool { return p.Program == s.Agent.Recipe }
		if recipe == nil || slices.ContainsFunc(all, known) {
			continue
		}
		if version := m.version(ctx, l, s.Agent, recipe); version != "" {
			all = append(all, record.ProgramHead{Program: recipe.Program, Version: version})
		}
	}
	return all
}

// version asks one coding agent, "" where it does not say.
func (m *Parts) version(ctx context.Context, l *spec.Loop, a *spec.Agent, recipe *spec.Recipe) string {
	at := slices.IndexFunc(a.Command, func(word string) bool { return filepath.Base(word) == recipe.Program })
	if at < 0 {
		return ""
	}
	program := m.programBeside(l, append(slices.Clone(a.Command[:at+1]), "--version"), versionTimeout)
	set, err := m.variables(a.Env)
	if err != nil {
		return ""
	}
	home, err := os.MkdirTemp("", "agentbench-version-")
	if err != nil {
		return ""
	}
	defer os.RemoveAll(home)
	if l.Workspace != nil {
		program.Dir = home
	}
	program.Env = append(append(program.Env, set...), "HOME="+home)
	done, err := program.Run(ctx, nil)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(done.Stdout)), "\n")
	line = strings.TrimSpace(strings.ToValidUTF8(line, ""))
	return line[:min(len(line), mostOfVersion)]
}
