package engine

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// A coding agent that takes longer to print its version has none, and what is longer is no version.
const (
	versionTimeout = 10 * time.Second
	mostOfVersion  = 200 // characters
)

// Versions are the versions of the coding agents that have a recipe, by configuration: the first
// line that each prints for --version, in the sandbox of its loop, in an empty folder and home.
// In a container it is that of the image, which is part of the loop. Each command is asked once.
// One that does not answer has no version, and warn is called. Redact removes secrets.
func (m *Parts) Versions(ctx context.Context, configurations []spec.Resolved, redact func(string) string, warn func(string)) [][]record.ProgramHead {
	var open sync.WaitGroup
	asked := map[string]*askedVersion{}
	of := make([][]*askedVersion, len(configurations))
	for i := range configurations {
		l := configurations[i].Loop
		for _, s := range l.Stages() {
			recipe := spec.RecipeOf(s.Agent.Recipe)
			at := slices.IndexFunc(s.Agent.Command, func(word string) bool { return recipe != nil && filepath.Base(word) == recipe.Program })
			if at < 0 || l.Workspace.Sandboxed() == spec.SandboxContainer {
				continue
			}
			command := append(slices.Clone(s.Agent.Command[:at+1]), "--version")
			key := fmt.Sprintf("%q %q %q %v", l.Folder, l.Workspace.Sandboxed(), command, s.Agent.Env)
			if asked[key] == nil {
				one := &askedVersion{head: record.ProgramHead{Program: recipe.Program}}
				asked[key] = one
				open.Go(func() {
					var printed string
					if printed, one.err = m.printed(ctx, l, s.Agent, command); one.err == nil {
						one.head.Version = plainLine(redact(printed))
					}
				})
			}
			if !slices.Contains(of[i], asked[key]) {
				of[i] = append(of[i], asked[key])
			}
		}
	}
	open.Wait()
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		if one := asked[key]; one.err != nil && ctx.Err() == nil {
			warn(fmt.Sprintf("the version of %s is not known: %v", one.head.Program, one.err))
		}
	}
	heads := make([][]record.ProgramHead, len(of))
	for i := range of {
		for _, one := range of[i] {
			if one.head.Version != "" {
				heads[i] = append(heads[i], one.head)
			}
		}
	}
	return heads
}

// askedVersion is a coding agent that is asked for its version.
type askedVersion struct {
	head record.ProgramHead
	err  error
}

// printed is what a command prints for its version.
func (m *Parts) printed(ctx context.Context, l *spec.Loop, a *spec.Agent, command []string) (string, error) {
	home, err := os.MkdirTemp("", "agentbench-version-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home)
	set, err := m.variables(a.Env)
	if err != nil {
		return "", err
	}
	program := m.programBeside(l, command, versionTimeout)
	program.Env = append(append(program.Env, set...), "HOME="+home)
	if l.Workspace != nil {
		box := sandboxOf(l.Workspace, m.options.Getenv)
		if box.Network = false; box.Kind != external.None && box.Kind != "" {
			program.Env = append(external.Environment(m.options.Getenv), set...) // the home is that of the sandbox
		}
		w := &agent.Workspaces{Spec: l.Workspace, Sandbox: box, Getenv: m.options.Getenv}
		if program, err = w.Within(program, home, false); err != nil {
			return "", err
		}
	}
	done, err := program.Run(ctx, nil)
	return string(done.Stdout), err
}

// plainLine is the first line of a text, without what cannot be shown, and not too long.
func plainLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return -1
	}, line)
	characters := []rune(strings.TrimSpace(line))
	return string(characters[:min(len(characters), mostOfVersion)])
}
