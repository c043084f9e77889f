// Package mappings decides which logs of other tools can be imported without
// writing a mapping: each file is one, by the name of the tool.
package mappings

import (
	"embed"
	"io/fs"
	"slices"
)

//go:embed *.yaml
var shipped embed.FS

// Files are the mappings, NAME.yaml.
func Files() fs.FS { return shipped }

// Mapping is a mapping that ships.
type Mapping struct{ Name, About string }

// File is the mapping's file in Files.
func (m Mapping) File() string { return m.Name + ".yaml" }

var all = []Mapping{
	{"intercode", "InterCode results: SQL and Bash agents, with a reward after every turn"},
	{"tau-bench", "tau-bench trajectories: conversations with tools"},
	{"tau2", "tau2-bench simulations: conversations with tools, times and costs"},
	{"openai-chat", "transcripts in the form of OpenAI's chat messages, one a line or one a file"},
	{"inspect", "Inspect logs, .json and .eval"},
	{"mini-swe-agent", "mini-SWE-agent trajectories, .traj.json"},
}

// All are the mappings that ship.
func All() []Mapping { return slices.Clone(all) }

// Names are their names.
func Names() []string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names
}

// Find gives the mapping of that name.
func Find(name string) (Mapping, bool) {
	i := slices.IndexFunc(all, func(m Mapping) bool { return m.Name == name })
	if i < 0 {
		return Mapping{}, false
	}
	return all[i], true
}
