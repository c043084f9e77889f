package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/agentbench/agentbench/engine/model/openai"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// hideSecrets lets nothing that the program writes hold a secret. It knows the
// usual key from the start, those of a suite once that is loaded.
func (p *program) hideSecrets() {
	p.secrets = secret.New(p.env(openai.DefaultKeyEnv))
	p.out, p.err = p.secrets.Writer(&output{to: p.out}), p.secrets.Writer(p.err)
}

// learn makes the secrets of a document known, if it has any.
func (p *program) learn(d *spec.Document) {
	if d.Suite != nil {
		p.secrets.Learn(secret.OfSuite(d.Suite, p.env)...)
	}
	p.secrets.Learn(secret.OfLoops(d.Loops(), p.env)...)
}

// learnLines makes the secrets known that the lines of faults may show: from the
// lines, or from what is shown of them where they are long.
func (p *program) learnLines(faults source.Faults) {
	const long = 1 << 10
	var text strings.Builder
	faults.Print(&text)
	for _, f := range faults {
		if f.File == nil {
			continue
		}
		if line := f.File.Line(f.Pos.Line); len(line) <= long {
			text.WriteString(line + "\n")
		}
	}
	p.secrets.Learn(secret.OfText(text.String())...)
}

// leave ends the program: a panic is told as an error, without its secrets, and
// what was written is written to its end.
func (p *program) leave(cause any, code int) int {
	if cause != nil {
		code = notMeasured
		fmt.Fprintf(p.err, "agentbench: panic: %v\n%s", cause, debug.Stack())
	}
	for _, w := range []io.Writer{p.out, p.err} {
		if w, ok := w.(*secret.Writer); ok {
			_ = w.Flush() // output knows whether it fails
		}
	}
	if err := p.failedOutput(); err != nil && code == 0 {
		fmt.Fprintf(p.err, "agentbench: writing the output: %v\n", err)
		code = notMeasured
	}
	return code
}

// output remembers the first error of a writer, so that no command has to.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// failedOutput is why not everything could be written to stdout; nil also where a
// reader has seen enough.
func (p *program) failedOutput() error {
	if w, ok := p.out.(*secret.Writer); ok {
		if o, ok := w.Unwrap().(*output); ok {
			return unlessClosed(o.err)
		}
	}
	return nil
}

// recording is how results are written.
func (p *program) recording() record.Options { return record.Options{Redact: p.secrets.Redact} }

// fileOf is the file that a writer writes to, nil where it is none.
func fileOf(w io.Writer) *os.File {
	if hiding, ok := w.(*secret.Writer); ok {
		w = hiding.Unwrap()
	}
	if out, ok := w.(*output); ok {
		w = out.to
	}
	f, _ := w.(*os.File)
	return f
}
