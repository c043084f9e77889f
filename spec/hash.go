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
	for _, stage := range loop.Stages() {
		for _, argument := range stage.Agent.Command {
			l.hashFile(h, file.folder, argument)
		}
		for _, delegate := range stage.Agent.Delegates {
			if delegate.Resolved != nil {
				fmt.Fprintf(h, "delegate %q=%s\n", delegate.Name, delegate.Resolved.hash)
			}
		}
	}
	if loop.Evaluate != nil && loop.Evaluate.Command != nil {
		for _, argument := range loop.Evaluate.Command.Argv {
			l.hashFile(h, file.folder, argument)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
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
