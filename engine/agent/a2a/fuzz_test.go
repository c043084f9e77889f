package a2a

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/record"
)

// Whatever an agent answers is an answer or an error of a class, and an answer
// that is one has what delegates and agents make of it.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"id":"1","result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"parts":[{"text":"a"},{"data":[1]},{"raw":"AA==","filename":"f"}]}]}}}`,
		`{"id":"1","result":{"kind":"task","id":"t","status":{"state":"failed","message":{"parts":[{"kind":"text","text":"no"}]}},"history":[{"role":"agent","parts":[]}]}}`,
		`{"id":"1","result":{"kind":"message","messageId":"m","parts":[{"kind":"file","file":{"uri":"u","bytes":"x"}}]}}`,
		`{"id":"1","result":{"message":{"parts":[null]}}}`,
		`{"id":"1","result":{"status":null,"task":null,"id":5}}`,
		`{"id":"1","error":{"code":-32001,"message":"\u0000"}}`,
		`[[[[`, "\xff", `null`, `{"id":"1","result":"x"}`,
	} {
		for _, status := range []int{200, 500} {
			f.Add(status, []byte(seed))
		}
	}
	client, err := New(Options{Address: fakeAddress})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, status int, text []byte) {
		result, err := client.read(status, text, "GetTask")
		var answer Answer
		if err == nil {
			answer, err = readAnswer(result)
		}
		if class := classOf(err); err != nil && !class.Fault() {
			t.Fatalf("%v is not the infrastructure's", err)
		}
		if err != nil {
			return
		}
		if content := answer.content(); !json.Valid(content) || !utf8.Valid(content) {
			t.Fatalf("%q is no content", content)
		}
		if ended := answer.failed(); ended == nil && !answer.pending() && answer.State != completed && !answer.Asks() {
			t.Fatalf("the state %q is neither an end nor a failure", answer.State)
		}
	})
}

// Whatever a card says, tasks go to the host that was addressed, over http.
func FuzzCard(f *testing.F) {
	f.Add(`{"supportedInterfaces":[{"url":"/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`)
	f.Add(`{"url":"http://agent.test/rpc","protocolVersion":"0.3.0","additionalInterfaces":[{"url":"//b.test","transport":"JSONRPC"}]}`)
	f.Add(`{"url":"http://agent.test@b.test/"}`)
	f.Add(`{"url":"HTTP:\\b.test"}`)
	address, _ := url.Parse(fakeAddress)
	f.Fuzz(func(t *testing.T, text string) {
		to, err := readCard([]byte(text), address)
		if err != nil {
			if classOf(err) != record.BadResponse && classOf(err) != record.InvalidRequest {
				t.Fatal(err)
			}
			return
		}
		request, err := http.NewRequest(http.MethodPost, to.url, nil)
		if err != nil {
			return // it is told when the task is sent
		}
		if host := request.URL.Hostname(); !sameHost(host, "agent.test") || request.URL.Scheme != "http" && request.URL.Scheme != "https" {
			t.Fatalf("%s sends tasks to %s", text, to.url)
		}
	})
}
