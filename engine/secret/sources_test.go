package secret

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
)

// Of a spec, wherever they stand: what is in addresses and in arguments, every value that headers take from the
// environment, headers with a telling name, and what programs are given under a telling name.
func TestF70_SecretsOfASpec(t *testing.T) {
	const written = `{
		"models": {"m": {"base_url": "https://host/v1?subscription-key=in-query", "api_key_env": "MODEL_KEY", "headers": {"X-Api-Key": "in-header", "X-Title": "shown"}}},
		"tasks": [{"id": "a", "input": "http://user:in-a-task@localhost/"}],
		"scorers": [{"url": "https://user:in-scorer@host/", "headers": {"X-Team": {"env": "TEAM"}}}, {"command": ["score", "--api-key", "in-arguments", "--seed", 12345678, "--password", 87654321]}],
		"agent": {
			"tools": [
				{"http": "http://user:in-address@localhost/", "headers": {"Authorization": {"env": "TOKEN", "prefix": "Bearer "}}},
				{"mcp": {"url": "http://localhost/?sig=in%2Bsignature", "headers": {"X-Api-Key": {"env": "SERVER_KEY"}}}},
				{"command": ["cat"], "env": ["TOOL_SECRET", "LANG", "CONNECTION"]}
			],
			"delegates": [{"a2a": "http://in-user@localhost/", "headers": {"Authorization": {"env": "REMOTE"}, "X-Plain": "shown"}}]
		},
		"prompt": "ask http://user:in-a-prompt@localhost/ and say why",
		"roots": {"data": {"env": "SECRET_FOLDER"}},
		"a_key_that_is_yet_to_come": ["wss://user:in-future@host/"]}`
	var plain any
	decoder := json.NewDecoder(strings.NewReader(written))
	decoder.UseNumber()
	expect.NoError(t, decoder.Decode(&plain))
	got := Of(plain, func(name string) string {
		if name == "CONNECTION" {
			return "Server=shown;Password=in-connection"
		}
		return "the " + name
	})
	slices.Sort(got)
	want := []string{"87654321", "in%2Bsignature", "in+signature", "in-address", "in-arguments", "in-connection", "in-future", "in-header", "in-query", "in-scorer", "in-user",
		"the MODEL_KEY", "the REMOTE", "the SERVER_KEY", "the TEAM", "the TOKEN", "the TOOL_SECRET"}
	expect.Equal(t, "result", got, want)
}

func TestF70_SecretsOfAddresses(t *testing.T) {
	for text, want := range map[string][]string{
		"https://user:pass%40word@host:8080/v1":                             {"pass%40word", "pass@word"},
		"https://a-token@host":                                              {"a-token"},
		"https://host/c/b?sv=2024-11-04&ss=b&se=2027-01-01&sig=a%2Fb%3D%3D": {"a%2Fb%3D%3D", "a/b=="},
		"https://host/f?code=of-a-function&keep=shown":                      {"of-a-function"},
		"https://host/x?X-Amz-Credential=who&X-Amz-Signature=0f0f":          {"who", "0f0f"},
		"https://host/x?api%5Fkey=hidden":                                   {"hidden"},
		"https://host/#access_token=hidden&state=shown":                     {"hidden"},
		"postgres://user:hidden@host/db?sslmode=require":                    {"hidden"},
		"https://host/%zz?token=hidden":                                     {"hidden"},
		"https://host/v1":                                                   nil,
		"user:pass@host":                                                    nil,
		"see https://user:pass@host/ there":                                 nil,
	} {
		expect.Equal(t, text, OfAddress(text), want)
	}
}

func TestF70_SecretsOfArguments(t *testing.T) {
	for text, want := range map[string][]string{
		"ask --api-key hidden":                            {"hidden"},
		"ask --api-key=hidden shown":                      {"hidden"},
		"ask -token hidden --model shown":                 {"hidden"},
		"ask --apiKey hidden --openai_api_key=hidden2":    {"hidden", "hidden2"},
		"env OPENAI_API_KEY=hidden MAX_TOKENS=100000 ask": {"hidden"},
		"ask --url=https://u:hidden@host/":                {"hidden"},
		"ask https://host/?sig=hidden":                    {"hidden"},
		"curl -u me:hidden https://host/":                 {"hidden"},
		"curl -H|X-Api-Key: hidden":                       {"hidden"},
		"curl -H|Authorization: Bearer hidden":            {"Bearer hidden"},
		"sh -c|curl -H 'Authorization: Bearer hidden' -d 'text: shown' https://u:hidden2@host/":             {"hidden", "hidden2"},
		"sh -c|API_KEY=hidden ask --password 'hidden2'; echo shown":                                         {"hidden", "hidden2"},
		"ask --connection-string Server=x;Password=hidden;Database=shown":                                   {"hidden"},
		"ask --connection-string=Server=x;Pwd=hidden;Database=shown":                                        {"hidden"},
		"ask -c|Server=x;User ID=me;Password=hid den, all;Database=shown":                                   {"hid", "hid den, all"},
		"ask -c|Server=x;Password='hid;den';Database=shown":                                                 {"hid;den"},
		"ask AccountName=shown;AccountKey=hidden==;EndpointSuffix=shown":                                    {"hidden=="},
		"ask Endpoint=sb://shown/;SharedAccessKeyName=shown;SharedAccessKey=hidden=":                        {"hidden="},
		"ask host:6380,password=hidden,ssl=True":                                                            {"hidden"},
		"ask -d|host=shown password=hidden dbname=shown":                                                    {"hidden"},
		"ask jdbc:postgresql://host/db?user=shown&password=hidden":                                          {"hidden"},
		"ask jdbc:sqlserver://host;user=shown;password=hidden":                                              {"hidden"},
		"ask --config {\"password\":\"hidden\",\"user\":\"shown\"}":                                         {"hidden"},
		"env PGPASSWORD=hidden SSHPASS=hidden2 PGUSER=shown psql":                                           {"hidden", "hidden2"},
		"curl -ume:hidden https://host/":                                                                    {"hidden"},
		"curl -sSume:hidden https://host/":                                                                  {"hidden"},
		"curl -sSu me:hidden https://host/":                                                                 {"hidden"},
		"curl --user me:hidden --proxy-user=me:hidden2 https://host/":                                       {"hidden", "hidden2"},
		"sh -c|curl -ume:hidden https://host/":                                                              {"hidden"},
		"ask https://host/cb#access_token=hidden&state=shown":                                               {"hidden"},
		"ask https://host/#/cb?access_token=hidden":                                                         {"hidden"},
		"ask --text|see https://host/cb#access_token=hidden":                                                {"hidden"},
		"ask -u https://host:8080/path -url=shown:shown -verbose:shown":                                     nil,
		"ask --where name=shown;kind=shown --bypass=shown shown:shown":                                      nil,
		"ask --max-tokens 10000000 --tokenizer cl100k_base --key-file keys.txt --api-key-env SOME_VARIABLE": nil,
		"ask --password --verbose":                                                                          nil,
		"ask --api-key":                                                                                     nil,
	} {
		words := strings.Fields(text)
		if head, tail, ok := strings.Cut(text, "|"); ok {
			words = append(strings.Fields(head), tail)
		}
		expect.Equal(t, text, OfArguments(words), want)
	}
}
