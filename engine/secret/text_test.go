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
		`prompt: "ask me@home.example: {{ task.input }}"`:          nil,
	} {
		if got := OfText(text); !slices.Equal(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
}
