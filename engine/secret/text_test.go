package secret

import (
	"slices"
	"testing"
)

func TestF70_SecretsInLinesThatCouldNotBeRead(t *testing.T) {
	for text, want := range map[string][]string{
		`base_url: "http://me:hidden-word@host/v1"`:                {"hidden-word"},
		`base_url: http://hidden-word@host/v1`:                     {"hidden-word"},
		`  3 | …hidden-word@host/v1`:                               {"hidden-word"},
		`base_url: http://host/v1?api_key=hidden-word`:             {"hidden-word"},
		`headers: {X-Api-Key: hidden-word, X-Title: mine}`:         {"hidden-word"},
		`headers: {"Authorization": "Bearer hidden-word"}`:         {"Bearer hidden-word"},
		`  cookie: [hidden-word`:                                   {"hidden-word"},
		`  api_key: hidden-word # really`:                          {"hidden-word # really"},
		`m: {key: task.identifier, api_key_env: SOME_VARIABLE_ID}`: nil,
		`tokens: {input: 10000000}`:                                nil,
		`url: "http://host/v1?sv=1&sig=hidden%2Bword"`:             {"hidden%2Bword"},
		`url: http://host/v1?X-Amz-Signature=hidden-word&x=shown`:  {"hidden-word"},
		`command: [ask, --api-key, hidden-word, --max-tokens, 10]`: {"hidden-word"},
		`command: ["ask", "--token=hidden-word", "shown-word"]`:    {"hidden-word"},
		"- --api-key\n- hidden-word":                               {"hidden-word"},
		`command: [sh, -c, "ask --password hidden-word shown"]`:    {"hidden-word"},
		`command: [ask, --key-file, shown-word, --tokenizer, gpt]`: nil,
		`prompt: "ask me@home.example: {{ task.input }}"`:          nil,
	} {
		if got := OfText(text); !slices.Equal(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
}
