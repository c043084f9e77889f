package spec

import (
	"fmt"
	"strings"
)

// What people write who come from other tools, and what they find here: hints for keys, for texts in the place of
// mappings, and for words. Other names of a key stand in the tag of its field.

// KeyHint says what to write for a key that other tools have.
func (m *Model) KeyHint(key string) string {
	switch key {
	case "api_key", "apikey", "apiKey", "key_env", "token":
		return "write api_key_env: NAME, the environment variable that holds the key; never write keys into a suite"
	case "max_tokens", "max_completion_tokens", "max_output_tokens":
		return "it belongs to the agent of a loop: agent: {max_output_tokens: …}"
	case "temperature", "top_p":
		return "it belongs to the agent of a loop: agent: {" + key + ": …}"
	case "url", "api_base", "endpoint", "host":
		return "write base_url: http://localhost:8080/v1"
	}
	return ""
}

// ValueHint reads the name of a model, with or without its provider.
func (m *Model) ValueHint(text string) string {
	provider, name, ok := strings.Cut(text, "/")
	if !ok {
		provider, name, ok = strings.Cut(text, ":") // openai:gpt-4o
	}
	if !ok {
		provider, name = "openai", text
	}
	return fmt.Sprintf("write {provider: %s, name: %s}", provider, name)
}

// KeyHint says what to write for a key that other tools have.
func (a *Agent) KeyHint(key string) string {
	switch key {
	case "env", "environment":
		return "programs get PATH, HOME and the like, and no keys; set other variables in the command: [env, NAME=value, PROGRAM]"
	case "dir", "cwd", "workdir", "working_dir", "workspace":
		return "programs run in the folder of their loop; for another one write command: [sh, -c, cd FOLDER && exec PROGRAM]"
	case "api_key", "api_key_env", "base_url", "provider":
		return "it belongs to the model, under models in the suite; a key is named there: api_key_env: NAME"
	case "prompt":
		return "it belongs to the loop, beside agent"
	}
	return ""
}

// KeyHint says where a key of suites belongs.
func (l *Loop) KeyHint(key string) string {
	switch key {
	case "trials", "concurrency", "seed":
		return fmt.Sprintf("%s belongs to the suite; on the command line write --%s N", key, key)
	case "limit":
		return "on the command line write --limit N; in the suite, tasks: {files: …, limit: N}"
	case "suite":
		return "suite begins a suite, and these are parameters of its loops; trials, concurrency and seed have flags of their own: --trials N"
	case "budget", "tasks", "models", "scorers", "configurations", "thresholds", "metrics", "baseline", "prices", "margin":
		return fmt.Sprintf("%s belongs to the suite, and is changed in its file", key)
	case "model", "tools", "system", "temperature":
		return fmt.Sprintf("it belongs to the agent: agent: {%s: …}", key)
	}
	return ""
}

// KeyHint says where a key of loops belongs, and how keys of other tools are called.
func (s *Suite) KeyHint(key string) string {
	switch key {
	case "agent", "prompt", "evaluate", "terminate", "guards", "pattern", "max_iterations":
		return fmt.Sprintf("%s belongs to a loop: a file of its own that configurations name", key)
	case "providers":
		return "write models: {NAME: {provider: …}}"
	case "max_cost", "cost_usd", "max_cost_usd":
		return "write budget: {cost_usd: …}"
	case "out", "output", "results":
		return "name the result folder on the command line: --out FOLDER"
	}
	return ""
}

// ValueHint reads the limit of a budget.
func (b *SuiteBudget) ValueHint(text string) string { return "write {cost_usd: " + text + "}" }

// ValueHint reads the limit of a budget.
func (b *RunBudget) ValueHint(text string) string { return "write {tokens: " + text + "}" }

// KeyHint says where limits belong that are no guards.
func (g *Guards) KeyHint(key string) string {
	switch {
	case key == "max_iterations" || key == "max_turns":
		return "write absolute_max_iterations here, or max_iterations under terminate"
	case key == "max_cost" || key == "cost_usd" || key == "max_tokens" || key == "tokens":
		return "write budget: {tokens: …, cost_usd: …}"
	case isKind(key):
		return key + " belongs under terminate"
	}
	return ""
}

// KeyHint says where parameters stand, and what belongs to a loop.
func (c *Configuration) KeyHint(key string) string {
	switch key {
	case "agent", "prompt", "evaluate", "terminate", "guards", "pattern":
		return fmt.Sprintf("%s belongs to a loop, a file of its own: write loop: FILE here", key)
	case "max_iterations":
		return "write set: {terminate.max_iterations: …}"
	case "model", "temperature", "system":
		return "write set: {agent." + key + ": …}"
	}
	return ""
}

// ValueHint reads the input of a task.
func (t *InlineTask) ValueHint(text string) string { return "write {input: " + inFlow(text) + "}" }

// KeyHint knows how other tools call what scorers are made of; the type of a scorer is no key.
func (s *Scorer) KeyHint(key string) string {
	switch key {
	case "expected", "answer":
		return "write target; it is CEL: put a text in quotes within quotes"
	}
	if kind := (&Scorer{Type: ScorerType(key)}).Kind(); kind.Type != "" {
		return fmt.Sprintf("write name: %s, type: %s; a text to compare with is target", key, key)
	}
	return ""
}

// ValueHint reads the type of a scorer.
func (s *Scorer) ValueHint(text string) string {
	return fmt.Sprintf("write {name: %s, type: %s}", text, text)
}

// KeyHint tells metrics from scorers.
func (m *Metric) KeyHint(key string) string {
	if key == "type" {
		return "what has a type is a scorer: write it under scorers; a metric is the reduce of a scorer's scores over trials"
	}
	return ""
}

// ValueHint reads a rule.
func (c *Choose) ValueHint(string) string { return "write {rule: max_loss}" }

// KeyHint says where parameters stand.
func (t *Tune) KeyHint(key string) string {
	if strings.Contains(key, ".") || key == "max_iterations" {
		return "write it under parameters: {" + key + ": …}"
	}
	return ""
}

// ValueHint reads one value of a range.
func (r *tuneBounds) ValueHint(text string) string {
	return fmt.Sprintf("write a list of values: [%s], or {from: …, to: …}", text)
}

// Instead knows how other tools call the types of scorers.
func (ScorerType) Instead(word string) string {
	switch strings.ReplaceAll(strings.ToLower(word), "-", "_") {
	case "llm_rubric", "llm_judge", "llm", "model_graded_qa", "model_graded_fact", "g_eval", "factuality", "rubric":
		return "write type: judge, with model and rubric"
	case "equals", "equal", "match", "exact_match":
		return `write type: exact`
	case "icontains", "includes":
		return "write type: contains; ignore_case: true makes letter case equal"
	case "levenshtein", "cosine", "similar", "fuzzy":
		return "write type: similarity"
	case "python", "javascript", "script", "program":
		return "write type: command, a program in any language, or type: cel, an expression"
	case "accuracy":
		return "write type: exact; the report shows its mean"
	}
	return ""
}

// inFlow is a text as it stands between braces.
func inFlow(text string) string {
	if strings.ContainsAny(text, ",:[]{}#\"'") {
		return fmt.Sprintf("%q", text)
	}
	return text
}
