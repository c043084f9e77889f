package spec

import (
	"net/url"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// toolKeys are the kinds of tools, each with the keys that mean something for it.
var toolKeys = []struct{ kind, keys string }{
	{"mcp", "mcp name timeout retries"},
	{"builtin", "builtin description success"},
	{"command", "command name description parameters env retries pure breaks_loop success timeout"},
	{"http", "http name description parameters headers retries pure breaks_loop success timeout"},
	{"cel", "cel name description parameters breaks_loop success"},
}

// kinds are those of which the tool is one.
func (t *Tool) kinds() []string {
	var kinds []string
	for _, k := range toolKeys {
		if t.Node.Get(k.kind) != nil {
			kinds = append(kinds, k.kind)
		}
	}
	return kinds
}

// taskCompletion is the tool by which an agent says that the task is done.
const taskCompletion = "task_completion"

// completes says that a run that the tool ends is a success of the loop.
func (t *Tool) completes() bool {
	if t.Success != nil {
		return *t.Success
	}
	return t.Builtin == taskCompletion
}

// called is what the model calls the tool by; "" for the tools of a server.
func (t *Tool) called() string {
	switch {
	case t.MCP != nil:
		return ""
	case t.Builtin != "":
		return t.Builtin
	}
	return t.Name
}

// server is the name of a server that was given one.
func (t *Tool) server() string {
	if t.MCP == nil {
		return ""
	}
	return t.Name
}

// checkTool wants one thing with a name, and nothing beside it that means nothing.
func (l *loader) checkTool(t *Tool) {
	kinds := t.kinds()
	if len(kinds) != 1 {
		got := "none of them"
		if len(kinds) > 1 {
			got = strings.Join(kinds, " and ")
		}
		l.fault(t.Node, "each tool is one thing; several tools are several items", "want one of mcp, builtin, command, http and cel, got %s", got)
		return
	}
	l.checkToolKeys(t, kinds[0])
	if t.MCP == nil && t.Builtin == "" && t.Name == "" {
		l.fault(t.Node, "the model calls a tool by its name", "this tool needs a name")
	}
	if t.Success != nil && t.MCP == nil && !t.BreaksLoop && t.Builtin != taskCompletion {
		l.add(t.Node.KeyFault("success", "it goes with builtin: task_completion, and with breaks_loop: true", "%q means nothing for a tool that does not end the run", "success"))
	}
	l.checkCallable(t.Node, t.Name)
	l.checkAddress(t.Node.Get("http"), "http: http://localhost:8080/tool")
	l.checkVariables(t.Node.Get("env"))
	l.checkParameters(t)
	if t.MCP != nil {
		l.checkMCP(t)
	}
}

func (l *loader) checkToolKeys(t *Tool, kind string) {
	for _, k := range toolKeys {
		if k.kind != kind {
			continue
		}
		for _, entry := range t.Node.Entries {
			if !slices.Contains(strings.Fields(k.keys), entry.Key) {
				l.add(t.Node.KeyFault(entry.Key, "it goes with "+goesWith(entry.Key), "%q means nothing for a tool that is %s", entry.Key, kindWords[kind]))
			}
		}
	}
}

var kindWords = map[string]string{
	"mcp": "a server", "builtin": "built in", "command": "a program", "http": "an endpoint", "cel": "an expression",
}

// goesWith are the kinds for which a key means something.
func goesWith(key string) string {
	var kinds []string
	for _, k := range toolKeys {
		if slices.Contains(strings.Fields(k.keys), key) {
			kinds = append(kinds, k.kind)
		}
	}
	if len(kinds) == 1 {
		return kinds[0]
	}
	all := strings.Join(kinds[:len(kinds)-1], ", ") + " and " + kinds[len(kinds)-1]
	if key == "pure" {
		all += "; of a server's tools, mcp: {pure: [NAME]} names those that are"
	}
	return all
}

// checkMCP wants a server that is started, or one that is reached.
func (l *loader) checkMCP(t *Tool) {
	n := t.Node.Get("mcp")
	switch {
	case count(t.MCP.Command != nil, t.MCP.URL != "") != 1:
		l.fault(n, "command starts a server, url reaches one", "want one of command and url")
	case t.MCP.URL != "" && n.Get("env") != nil:
		l.add(n.KeyFault("env", "it goes with command", "%q means nothing for a server that is not started here", "env"))
	case t.MCP.Command != nil && n.Get("headers") != nil:
		l.add(n.KeyFault("headers", "it goes with url", "%q mean nothing for a server that is started here", "headers"))
	}
	l.checkAddress(n.Get("url"), "url: http://localhost:8080/mcp")
	l.checkVariables(n.Get("env"))
	if pure := n.Get("pure"); pure != nil && t.MCP.Only != nil {
		for _, item := range pure.Items {
			if !slices.Contains(t.MCP.Only, item.Text) {
				l.fault(item, didYouMean(item.Text, t.MCP.Only), "the tool %q is not among those that are used", shorten(item.Text))
			}
		}
	}
}

// checkCallable wants a name that every server of models takes for that of a function.
func (l *loader) checkCallable(n *source.Node, name string) {
	valid := func(c rune) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
	}
	if name == "" || len(name) <= 64 && strings.IndexFunc(name, func(c rune) bool { return !valid(c) }) < 0 {
		return
	}
	l.fault(n.Get("name"), "write at most 64 letters, digits, _ and -", "a model cannot call the name %q", shorten(name))
}

// checkAddress wants the address of a server, for instance that.
func (l *loader) checkAddress(n *source.Node, instance string) {
	if n == nil || n.Kind != source.String {
		return
	}
	at, err := url.Parse(n.Text)
	if err != nil || at.Hostname() == "" || at.Scheme != "http" && at.Scheme != "https" {
		l.fault(n, "write "+instance, "this is not an http or https address")
	}
}

// checkVariables wants names of environment variables, not values.
func (l *loader) checkVariables(n *source.Node) {
	if n == nil {
		return
	}
	for _, item := range n.Items {
		if strings.ContainsAny(item.Text, "= \t\n\x00") || item.Text == "" {
			l.fault(item, "write the name alone; the value is that of the environment", "this is no name of an environment variable")
		}
	}
}

// checkDelegate wants a loop or a remote agent.
func (l *loader) checkDelegate(d *Delegate) {
	if count(d.Loop != "", d.A2A != "") != 1 {
		l.fault(d.Node, "loop names a loop's file, a2a the address of a remote agent", "want one of loop and a2a")
	}
	if d.A2A == "" && d.Node.Get("headers") != nil {
		l.add(d.Node.KeyFault("headers", "it goes with a2a", "%q mean nothing for a delegate that is a loop", "headers"))
	}
	l.checkCallable(d.Node, d.Name)
	l.checkAddress(d.Node.Get("a2a"), "a2a: http://localhost:9100")
}

func count(conditions ...bool) int {
	n := 0
	for _, condition := range conditions {
		if condition {
			n++
		}
	}
	return n
}
