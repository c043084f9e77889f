package command

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// openBrowser opens the link without its token on a command line, which all users of a
// machine can read: a file of this user's leads there.
func (p *program) openBrowser(link string) (remove func()) {
	browser := p.browser()
	if browser == nil {
		fmt.Fprintln(p.err, "agentbench: no browser was found to open it")
		return func() {}
	}
	dir, err := os.MkdirTemp("", "agentbench-view-")
	if err != nil {
		fmt.Fprintf(p.err, "agentbench: the browser does not start: %v\n", err)
		return func() {}
	}
	remove = func() { _ = os.RemoveAll(dir) }
	leads := fmt.Appendf(nil, "<!DOCTYPE html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url=%s\"><title>agentbench</title>\n", html.EscapeString(link))
	file := filepath.Join(dir, "open.html")
	if err = os.WriteFile(file, leads, 0o600); err == nil {
		started := exec.Command(browser[0], append(browser[1:], file)...)
		if err = started.Start(); err == nil {
			go func() { _ = started.Wait() }() // it may be the browser itself, which outlives us
		}
	}
	if err != nil {
		remove() // nothing reads it
		fmt.Fprintf(p.err, "agentbench: the browser does not start: %v\n", err)
	}
	return remove
}

// browser is the command that opens files in a browser; nil: there is none.
func (p *program) browser() []string {
	switch named := strings.Fields(p.env("BROWSER")); {
	case len(named) > 0:
		return named
	case runtime.GOOS == "darwin":
		return []string{"open"}
	case runtime.GOOS == "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	case p.env("DISPLAY") == "" && p.env("WAYLAND_DISPLAY") == "":
		return nil
	}
	if _, err := exec.LookPath("xdg-open"); err != nil {
		return nil
	}
	return []string{"xdg-open"}
}
