package spec

import (
	"maps"
	"slices"
	"strings"
)

// What coding agents need to work in the loops of a suite is told by recipes, one row for each program. They are data: where
// a program changes, a row changes and its version with it. What a loop itself says in its command and env always counts.

// Recipe is what one coding agent needs.
type Recipe struct {
	Program string
	Version int // of the row
	// Speaks is the protocol in which the recipe lets it call models.
	Speaks Protocol
	// Unconfined says that the recipe switches off what the program itself holds against harm: its sandbox, or its questions.
	Unconfined bool
	// Behind are the words of a command behind the first of which the flags go. Without one they go to the end, or before --.
	Behind []string
	// Always is what it needs in any case, Served what leads it to models of the suite.
	Always, Served Needs
}

// Needs are flags, variables and files. Their texts may hold [RecipeProxy], [RecipeModel] and [RecipeSession].
type Needs struct {
	Flags []Flag
	Env   []string          // NAME=value
	Files map[string]string // contents, by paths below HOME
}

// Flag is a flag of a program. A command that has one of its names already does not get it.
type Flag struct {
	Names   []string // the first is the one that is given
	Setting string   // of a flag that may stand several times: which setting it makes, as in -c SETTING=VALUE
	Value   string   // "": it has none
}

// The texts that stand for what is known when a program starts.
const (
	RecipeProxy   = "<proxy>"   // the base URL of the model proxy
	RecipeModel   = "<model>"   // the first name under models, or, where that is a pattern, the model that serves it
	RecipeSession = "<session>" // a UUID, another one in each iteration
)

// option is a flag whose value is the word behind it; "": it has none.
func option(value string, names ...string) Flag { return Flag{Names: names, Value: value} }

// setting is a flag of codex that makes a setting; others are flags that make it too.
func setting(key, value string, others ...string) Flag {
	return Flag{Names: append([]string{"-c", "--config"}, others...), Setting: key, Value: value}
}

// recipes are those of codex 0.171, claude 2.1, qwen 0.24, opencode 1.18, aider 0.86 and mini-swe-agent 2.
// docs/coding-agents.md says which were tried.
var recipes = []Recipe{
	{
		Program: "aider", Version: 1, Speaks: ChatProtocol,
		Always: Needs{
			Flags: []Flag{
				option("", "--yes-always", "--yes"), option("", "--no-check-update", "--check-update"), option("", "--analytics-disable", "--no-analytics"),
				option("", "--no-show-model-warnings", "--show-model-warnings"), option("", "--no-show-release-notes", "--show-release-notes"),
			},
		},
		Served: Needs{
			Flags: []Flag{option("openai/"+RecipeModel, "--model")},
			Env:   []string{"OPENAI_API_BASE=" + RecipeProxy + "/v1"},
		},
	},
	{
		Program: "claude", Version: 1, Speaks: MessagesProtocol, Unconfined: true,
		Always: Needs{
			Flags: []Flag{
				option("", "--dangerously-skip-permissions", "--permission-mode"),
				option(RecipeSession, "--session-id", "--resume", "-r", "--continue", "-c"),
			},
			Env: []string{"IS_SANDBOX=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"},
			Files: map[string]string{
				".claude.json": `{"hasCompletedOnboarding": true, "userID": "` + strings.Repeat("0", 64) + `"}`, // else it draws one, and tells it in each request
			},
		},
	},
	{
		Program: "codex", Version: 1, Speaks: ResponsesProtocol, Unconfined: true, Behind: []string{"exec", "e"},
		Always: Needs{
			Flags: []Flag{
				option("", "--skip-git-repo-check"),
				option("danger-full-access", "-s", "--sandbox", "--full-auto", "--dangerously-bypass-approvals-and-sandbox", "--yolo"), // its own makes .git read-only
				setting("analytics.enabled", "false"), // else it looks for a server at its end, for 5 s without a network
			},
		},
		Served: Needs{
			Flags: []Flag{
				setting("model_provider", "agentbench"),
				setting("model_providers.agentbench", `{name="agentbench",base_url="`+RecipeProxy+`/v1",wire_api="responses",env_key="OPENAI_API_KEY"}`),
				setting("model", RecipeModel, "-m", "--model"),
			},
		},
	},
	{
		Program: "mini-swe-agent", Version: 1, Speaks: ChatProtocol,
		Always: Needs{
			Flags: []Flag{option("", "--yolo", "-y"), option("", "--exit-immediately")},
			Env:   []string{"MSWEA_CONFIGURED=true", "MSWEA_SILENT_STARTUP=1", "MSWEA_COST_TRACKING=ignore_errors"},
		},
		Served: Needs{
			Flags: []Flag{option("openai/"+RecipeModel, "--model", "-m")},
			Env:   []string{"OPENAI_API_BASE=" + RecipeProxy + "/v1"},
		},
	},
	{
		Program: "opencode", Version: 1, Speaks: ChatProtocol, Unconfined: true,
		Always: Needs{
			Env:   []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"},
			Files: map[string]string{".config/opencode/opencode.json": opencodeConfiguration("")},
		},
		Served: Needs{
			Files: map[string]string{".config/opencode/opencode.json": opencodeConfiguration(`, "model": "agentbench/` + RecipeModel + `", "small_model": "agentbench/` + RecipeModel + `",
 "provider": {"agentbench": {"npm": "@ai-sdk/openai-compatible", "models": {"` + RecipeModel + `": {}},
  "options": {"baseURL": "` + RecipeProxy + `/v1", "apiKey": "{env:OPENAI_API_KEY}"}}}`)},
		},
	},
	{
		Program: "qwen", Version: 1, Speaks: ChatProtocol, Unconfined: true,
		Always: Needs{
			Flags: []Flag{option("yolo", "--approval-mode", "--yolo", "-y")},
			Files: map[string]string{".qwen/settings.json": `{"general": {"enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}}`},
		},
		Served: Needs{
			Flags: []Flag{option("openai", "--auth-type")},
			Env:   []string{"OPENAI_MODEL=" + RecipeModel},
		},
	},
}

func opencodeConfiguration(more string) string {
	return `{"permission": {"edit": "allow", "bash": "allow", "webfetch": "allow"}, "share": "disabled", "autoupdate": false` + more + `}`
}

// RecipeOf is the recipe of that name; nil: there is none.
func RecipeOf(name string) *Recipe {
	if at := slices.IndexFunc(recipes, func(r Recipe) bool { return r.Program == name }); at >= 0 {
		return &recipes[at]
	}
	return nil
}

// unconfined reports whether a recipe of that name switches off what a program holds against harm.
func unconfined(name string) bool {
	r := RecipeOf(name)
	return r != nil && r.Unconfined
}

// With is what a program needs where it is led to a model of the suite by the proxy's base URL; "": it calls none.
func (r *Recipe) With(proxy, model, session string) Needs {
	needs := Needs{Flags: r.Always.Flags, Env: r.Always.Env, Files: r.Always.Files}
	if proxy != "" {
		needs.Flags = slices.Concat(needs.Flags, r.Served.Flags)
		needs.Env = slices.Concat(needs.Env, r.Served.Env)
		needs.Files = maps.Clone(needs.Files)
		if needs.Files == nil {
			needs.Files = map[string]string{}
		}
		maps.Copy(needs.Files, r.Served.Files)
	}
	known := strings.NewReplacer(RecipeProxy, proxy, RecipeModel, model, RecipeSession, session)
	var filled Needs
	for _, f := range needs.Flags {
		f.Value = known.Replace(f.Value)
		filled.Flags = append(filled.Flags, f)
	}
	for _, entry := range needs.Env {
		filled.Env = append(filled.Env, known.Replace(entry))
	}
	filled.Files = map[string]string{}
	for path, content := range needs.Files {
		filled.Files[path] = known.Replace(content)
	}
	return filled
}

// Command is a command with the flags of the recipe that it lacks. Declared is the command as the loop has it, whose
// words tell what it lacks; argv has the same words, rendered.
func (r *Recipe) Command(declared, argv []string, flags []Flag) []string {
	end := len(declared)
	if at := slices.Index(declared, "--"); at > 0 {
		end = at
	}
	place := end
	if at := slices.IndexFunc(declared[:end], func(word string) bool { return slices.Contains(r.Behind, word) }); at > 0 {
		place = at + 1
	}
	var lacking []string
	for _, f := range flags {
		if !f.in(declared[1:end]) {
			lacking = append(lacking, f.words()...)
		}
	}
	return slices.Concat(argv[:place], lacking, argv[place:])
}

func (f *Flag) words() []string {
	switch {
	case f.Setting != "":
		return []string{f.Names[0], f.Setting + "=" + f.Value}
	case f.Value != "":
		return []string{f.Names[0], f.Value}
	}
	return f.Names[:1]
}

// in reports whether words have the flag, as -s VALUE, --sandbox=VALUE or -c SETTING=VALUE.
func (f *Flag) in(words []string) bool {
	for i, word := range words {
		name, value, joined := strings.Cut(word, "=")
		switch {
		case !slices.Contains(f.Names, name):
			continue
		case f.Setting == "" || !slices.Contains([]string{"-c", "--config"}, name):
			return true
		case !joined && i+1 < len(words):
			value = words[i+1]
		}
		if key, _, _ := strings.Cut(value, "="); strings.TrimSpace(key) == f.Setting {
			return true
		}
	}
	return false
}
