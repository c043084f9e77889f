package suites

import (
	"embed"
	"io/fs"
	"slices"
)

//go:embed mappings/*.yaml
var mappingFiles embed.FS

// MappingFiles are the mappings, NAME.yaml.
func MappingFiles() fs.FS {
	return within(mappingFiles, "mappings")
}

// Mapping is a mapping that ships: it imports the logs of another tool, whose name it has.
type Mapping struct{ Name, About string }

// File is the mapping's file in MappingFiles.
func (m Mapping) File() string { return m.Name + ".yaml" }

var mappings = []Mapping{
	{"intercode", "InterCode results: SQL and Bash agents, with a reward after every turn"},
	{"tau-bench", "tau-bench trajectories: conversations with tools"},
	{"tau2", "tau2-bench simulations: conversations with tools, times and costs"},
	{"openai-chat", "transcripts in the form of OpenAI's chat messages, one a line or one a file"},
	{"openai-responses", "transcripts in the form of OpenAI's Responses: items with function calls"},
	{"anthropic", "transcripts in the form of Anthropic's Messages, with tool use"},
	{"atif", "ATIF trajectories of Harbor and others, schema ATIF-v1.0 to v1.8"},
	{"inspect", "Inspect logs, .json and .eval"},
	{"otel", "OpenTelemetry spans of GenAI calls in OTLP JSON, .json and .jsonl"},
	{"langfuse", "Langfuse exports: traces, or observations, .json and .jsonl"},
	{"codex", "session logs of Codex, rollout-*.jsonl"},
	{"claude-code", "session logs of Claude Code, .jsonl"},
	{"qwen-code", "session logs of Qwen Code, chats/*.jsonl"},
	{"mini-swe-agent", "mini-SWE-agent trajectories, .traj.json"},
}

// Mappings are those that ship.
func Mappings() []Mapping { return slices.Clone(mappings) }

// MappingNames are their names.
func MappingNames() []string {
	names := make([]string, len(mappings))
	for i := range mappings {
		names[i] = mappings[i].Name
	}
	return names
}

// FindMapping gives the mapping of that name.
func FindMapping(name string) (Mapping, bool) {
	return found(mappings, func(m Mapping) bool { return m.Name == name })
}
