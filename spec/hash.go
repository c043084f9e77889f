package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// hash identifies what a loop does: its values after presets and parameters, whatever the layout of its file, the
// contents of the files that its programs are given, and the loops that it delegates to.
func (l *loader) hash(loop *Loop, file *loopFile, leaves []leaf) string {
	h := sha256.New()
	for _, leaf := range leaves {
		if leaf.value == nil {
			continue // off is the same as absent
		}
		fmt.Fprintf(h, "%q=%T:%q\n", leaf.path, leaf.value, fmt.Sprint(leaf.value))
	}
	for i, stage := range loop.Stages() {
		for _, argument := range stage.Agent.Command {
			l.hashFile(h, file.folder, argument)
		}
		for _, delegate := range stage.Agent.Delegates {
			if delegate.Resolved != nil {
				fmt.Fprintf(h, "delegate %q=%s\n", delegate.Name, delegate.Resolved.hash)
			}
		}
		loop.hashBare(h, i, stage.Agent)
	}
	for t := range loop.tools() {
		for _, argument := range t.programArguments() {
			l.hashFile(h, file.folder, argument)
		}
	}
	if loop.Evaluate != nil && loop.Evaluate.Command != nil {
		for _, argument := range loop.Evaluate.Command.Argv {
			l.hashFile(h, file.folder, argument)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// hashBare adds what has no values: a memory without limits, and empty lists, which take the loop's tools or delegates
// away.
func (loop *Loop) hashBare(h io.Writer, stage int, agent *Agent) {
	if agent.Memory != nil {
		fmt.Fprintf(h, "stage %d has a memory\n", stage)
	}
	if loop.Agent != nil && len(agent.Tools) == 0 && len(loop.Agent.Tools) > 0 {
		fmt.Fprintf(h, "stage %d has no tools\n", stage)
	}
	if loop.Agent != nil && len(agent.Delegates) == 0 && len(loop.Agent.Delegates) > 0 {
		fmt.Fprintf(h, "stage %d has no delegates\n", stage)
	}
}

// programArguments are those of the program that the tool is, or that its server is.
func (t *Tool) programArguments() []string {
	if t.MCP != nil {
		return t.MCP.Command
	}
	return t.Command
}

// hashFile adds a program's argument if it is a file beside the loop, such as a script.
func (l *loader) hashFile(h io.Writer, folder folder, argument string) {
	key := folder.name(argument)
	sum, known := l.scripts[key]
	if !known {
		if text, err := folder.read(argument, maxSpecBytes); err == nil {
			sum = fmt.Sprintf("%x", sha256.Sum256(text))
		}
		l.scripts[key] = sum
	}
	if sum != "" {
		fmt.Fprintf(h, "file %q=%s\n", argument, sum)
	}
}
