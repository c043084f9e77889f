package spec

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
)

// The language knows the recipes that there are.
func TestRecipesOfTheLanguage(t *testing.T) {
	field, _ := reflect.TypeFor[Agent]().FieldByName("Recipe")
	names := strings.Split(field.Tag.Get("enum"), "|")
	var known []string
	for _, r := range recipes() {
		known = append(known, r.Program)
		if r.Version < 1 {
			t.Errorf("%s has no version", r.Program)
		}
	}
	if !slices.Equal(names, known) {
		t.Errorf("the language has %v, the table %v", names, known)
	}
	if RecipeOf("vim") != nil {
		t.Error("there is a recipe for vim")
	}
}

// What a command lacks goes where its program reads it, and what it has is not given again.
func TestCommandsWithTheirRecipes(t *testing.T) {
	const provider = `-c model_providers.agentbench={name="agentbench",base_url="http://p/v1",wire_api="responses",env_key="OPENAI_API_KEY"}`
	for name, c := range map[string]struct{ recipe, proxy, declared, want string }{
		"codex": {"codex", "http://p", "codex exec PROMPT",
			"codex exec --skip-git-repo-check -s danger-full-access -c analytics.enabled=false -c model_provider=agentbench " + provider + " -c model=m PROMPT"},
		"codex without models": {"codex", "", "codex exec PROMPT", "codex exec --skip-git-repo-check -s danger-full-access -c analytics.enabled=false PROMPT"},
		"codex with its own": {"codex", "http://p", "codex --sandbox=read-only exec --skip-git-repo-check -m x -c model_provider=y --config analytics.enabled=true PROMPT",
			"codex --sandbox=read-only exec " + provider + " --skip-git-repo-check -m x -c model_provider=y --config analytics.enabled=true PROMPT"},
		"another setting": {"codex", "", "codex exec -s read-only --skip-git-repo-check -c model_reasoning_effort=low PROMPT",
			"codex exec -c analytics.enabled=false -s read-only --skip-git-repo-check -c model_reasoning_effort=low PROMPT"},
		"qwen":             {"qwen", "http://p", "qwen -p PROMPT", "qwen -p PROMPT --approval-mode yolo --auth-type openai"},
		"before --":        {"qwen", "http://p", "node qwen.js -y -- PROMPT", "node qwen.js -y --auth-type openai -- PROMPT"},
		"claude continues": {"claude", "http://p", "claude -p PROMPT --continue", "claude -p PROMPT --continue --dangerously-skip-permissions"},
		"claude":           {"claude", "http://p", "claude -p PROMPT", "claude -p PROMPT --dangerously-skip-permissions --session-id id"},
		"mini-swe-agent":   {"mini-swe-agent", "http://p", "mini -t PROMPT", "mini -t PROMPT --yolo --exit-immediately --model openai/m"},
	} {
		t.Run(name, func(t *testing.T) {
			r := RecipeOf(c.recipe)
			declared := strings.Fields(c.declared)
			rendered := func(words []string) []string { // what a task says is no word of the command
				return strings.Split(strings.ReplaceAll(strings.Join(words, "\n"), "PROMPT", "exec"), "\n")
			}
			argv, want := rendered(declared), rendered(strings.Fields(c.want))
			expect.Equal(t, "result", r.Command(declared, argv, r.With(c.proxy, "m", "id").Flags), want)
		})
	}
}

// Variables and files lead to the models only where there are some.
func TestWhatRecipesLeadTo(t *testing.T) {
	alone, served := RecipeOf("opencode").With("", "", ""), RecipeOf("opencode").With("http://p", "m", "")
	const at = ".config/opencode/opencode.json"
	if strings.Contains(alone.Files[at], "provider") || !strings.Contains(served.Files[at], `"baseURL": "http://p/v1"`) || !strings.Contains(served.Files[at], `"model": "agentbench/m"`) {
		t.Errorf("alone %s, served %s", alone.Files[at], served.Files[at])
	}
	if env := RecipeOf("qwen").With("http://p", "m", "").Env; !slices.Equal(env, []string{"OPENAI_MODEL=m"}) {
		t.Errorf("%q", env)
	}
	if env := RecipeOf("qwen").With("", "", "").Env; env != nil {
		t.Errorf("%q", env)
	}
}
