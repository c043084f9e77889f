package command

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// guard lets nothing that the program prints hold a secret, or a line that a
// runner of CI obeys. It knows the usual keys and the passwords of proxies from the start, those of a suite once
// that is loaded.
func (p *program) guard() {
	var keys []string
	for _, server := range spec.Servers() {
		keys = append(keys, p.env(server.KeyEnv))
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		for _, address := range []string{p.env(name), p.env(strings.ToLower(name))} {
			if !strings.Contains(address, "://") {
				address = "http://" + address
			}
			keys = append(keys, secret.OfAddress(address)...)
		}
	}
	p.secrets = secret.New(keys...)
	p.out, p.err = p.secrets.Writer(page.NewFence(&output{to: p.out})), p.secrets.Writer(page.NewFence(p.err))
}

// obeyed writes to stdout what a runner of CI is meant to obey.
func (p *program) obeyed(write func(io.Writer) error) error {
	if out, ok := p.out.(*secret.Writer); ok {
		_ = out.Flush() // output knows whether it fails
	}
	past := p.secrets.Writer(behind[*output](p.out))
	if err := write(past); err != nil {
		return err
	}
	return past.Flush()
}

// behind is the writer of a kind that another one writes to, at last; the zero
// value where there is none.
func behind[W io.Writer](w io.Writer) (found W) {
	for {
		if wanted, ok := w.(W); ok {
			return wanted
		}
		outer, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			return found
		}
		w = outer.Unwrap()
	}
}

// learn makes the secrets of a document known, if it has any.
func (p *program) learn(d *spec.Document) {
	if d.Suite != nil {
		p.secrets.Learn(secret.Of(texts(d.Suite.Tree), p.env)...)
	}
	for _, l := range d.Loops() {
		p.secrets.Learn(secret.Of(texts(l.Tree), p.env)...)
	}
}

// texts is a file as JSON would have it, every scalar a text, and without the tasks.
func texts(n *source.Node) any {
	switch {
	case n == nil:
		return nil
	case n.Kind == source.Map:
		all := map[string]any{}
		for _, entry := range n.Entries {
			if entry.Key != "tasks" {
				all[entry.Key] = texts(entry.Value)
			}
		}
		return all
	case n.Kind == source.List:
		all := make([]any, len(n.Items))
		for i, item := range n.Items {
			all[i] = texts(item)
		}
		return all
	}
	return n.Text
}

// learnFolder makes the secrets known that results may hold: states of workspaces keep them, and records those of a
// version that did not look everywhere. A folder whose suite cannot be read has none that are known.
func (p *program) learnFolder(r *record.Results) {
	if folder, err := results.Open(r, nil); err == nil {
		p.learn(folder.Document)
	}
}

// learnLines makes the secrets known that the lines of faults may show.
func (p *program) learnLines(faults source.Faults) {
	var text strings.Builder
	faults.Print(&text, nil)
	for _, f := range faults {
		text.WriteString(f.Excerpt() + "\n")
	}
	p.secrets.Learn(secret.OfText(text.String())...)
}

// print writes faults without the secrets that are known.
func (p *program) print(faults source.Faults) { faults.Print(p.err, p.secrets.String) }

// leave ends the program: a panic is told as an error, without its secrets, and
// what was written is written to its end.
func (p *program) leave(cause any, code int) int {
	if cause != nil {
		code = exit.NotMeasured
		fmt.Fprintf(p.err, "agentbench: panic: %v\n%s", cause, debug.Stack())
	}
	p.flush()
	if err := p.failedOutput(); err != nil && code == 0 {
		fmt.Fprintf(p.err, "agentbench: writing the output: %v\n", err)
		code = exit.NotMeasured
	}
	return code
}

// flush writes what is held back because it may be the beginning of a secret.
func (p *program) flush() {
	for _, w := range []io.Writer{p.out, p.err} {
		if w, ok := w.(*secret.Writer); ok {
			_ = w.Flush() // output knows whether it fails
		}
	}
}

// output remembers the first error of a writer, so that no command has to.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Unwrap() io.Writer { return o.to }

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
	if o := behind[*output](p.out); o != nil {
		return unlessClosed(o.err)
	}
	return nil
}

func (p *program) writer() results.Writer {
	return results.Writer{Version: version(), Started: p.now(), Redact: p.secrets.Redact}
}

func (p *program) recording() record.Options { return record.Options{Redact: p.secrets.Redact} }

// fileOf is the file that a writer writes to, nil where it is none.
func fileOf(w io.Writer) *os.File { return behind[*os.File](w) }
