package secret

import (
	"slices"
	"testing"
)

func TestF70_SecretsInLinesThatCouldNotBeRead(t *testing.T) {
	for text, want := range map[string][]string{
		`base_url: "http://me:hidden-word@host/v1"`:                                                {"hidden-word"},
		`base_url: http://hidden-word@host/v1`:                                                     {"hidden-word"},
		`  3 | …hidden-word@host/v1`:                                                               {"hidden-word"},
		`base_url: http://host/v1?api_key=hidden-word`:                                             {"hidden-word"},
		`headers: {X-Api-Key: hidden-word, X-Title: mine}`:                                         {"hidden-word"},
		`headers: {"Authorization": "Bearer hidden-word"}`:                                         {"Bearer hidden-word"},
		`  cookie: [hidden-word`:                                                                   {"hidden-word"},
		`  api_key: hidden-word # really`:                                                          {"hidden-word # really"},
		`m: {key: task.identifier, api_key_env: SOME_VARIABLE_ID}`:                                 nil,
		`tokens: {input: 10000000}`:                                                                nil,
		`url: "http://host/v1?sv=1&sig=hidden%2Bword"`:                                             {"hidden%2Bword", "hidden+word"},
		`url: http://host/v1?X-Amz-Signature=hidden-word&x=shown`:                                  {"hidden-word"},
		`command: [ask, --api-key, hidden-word, --max-tokens, 10]`:                                 {"hidden-word"},
		`command: ["ask", "--token=hidden-word", "shown-word"]`:                                    {"hidden-word"},
		"- --api-key\n- hidden-word":                                                               {"hidden-word"},
		`command: [sh, -c, "ask --password hidden-word shown"]`:                                    {"hidden-word"},
		`command: [ask, --key-file, shown-word, --tokenizer, gpt]`:                                 nil,
		`command: [ask, --connection-string, "Server=x;Password=hidden-word;Database=shown-word"]`: {"hidden-word", "hidden-word;Database=shown-word"},
		`command: [ask, "Server=x;Password=hidden, word;Database=shown-word"]`:                     {"hidden,", "hidden", "hidden, word"},
		`command: [curl, -ume:hidden-word]`:                                                        {"hidden-word"},
		"- -u\n- me:hidden-word":                                                                   {"hidden-word"},
		`command: [ask, PGPASSWORD=hidden-word, PGUSER=shown-word]`:                                {"hidden-word"},
		`url: https://host/cb#access_token=hidden-word&state=shown-word`:                           {"hidden-word"},
		`  env: PGHOST=hidden-word`:                                                                {"hidden-word"},
		`  env: [PGUSER, hidden-word]`:                                                             {"hidden-word"},
		"  env:\n  - hidden-word":                                                                  {"hidden-word"},
		`headers: {X-Team: {env: "hidden word", prefix: shown-word}}`:                              {"hidden word"},
		`headers: {X-Team: {env: [hidden-word]}, X-Title: shown-word}`:                             {"hidden-word"},
		`headers: {X-Team: {env: {a: hidden-word}}}`:                                               {"hidden-word"},
		`api_key_env: hidden2word`:                                                                 {"hidden2word"},
		`headers: {X-Team: {env: TEAM_2, prefix: "shown-word "}}`:                                  nil,
		`  env: [PGUSER, TEAM_2, http_proxy, ProgramFiles]`:                                        nil,
		`prompt: "ask me@home.example: {{ task.input }}"`:                                          nil,
	} {
		if got := OfText(text); !slices.Equal(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
}
