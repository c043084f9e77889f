package spec

import "slices"

// Server is one that a loop sends requests to beside those of its models: an agent, a tool, tools, a delegate.
type Server struct {
	URL     string
	Headers Headers
}

// Servers are those that the loop declares; the loops of its delegates have their own.
func (l *Loop) Servers() []Server {
	var servers []Server
	for _, agent := range l.agents() {
		servers = append(servers, Server{agent.HTTP, agent.Headers}, Server{agent.A2A, agent.Headers})
		for _, d := range agent.Delegates {
			servers = append(servers, Server{d.A2A, d.Headers})
		}
	}
	for t := range l.tools() {
		servers = append(servers, Server{t.HTTP, t.Headers})
		if t.MCP != nil {
			servers = append(servers, Server{t.MCP.URL, t.MCP.Headers})
		}
	}
	return slices.DeleteFunc(servers, func(s Server) bool { return s.URL == "" })
}

// Variables are the names of the environment variables that programs may see because the loop says so.
func (l *Loop) Variables() []string {
	var names []string
	for t := range l.tools() {
		names = append(names, t.Env...)
		if t.MCP != nil {
			names = append(names, t.MCP.Env...)
		}
	}
	return names
}
