package cache

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

func TestToolsAreRememberedByMode(t *testing.T) {
	key := [32]byte{1}
	for mode, want := range map[Mode]struct{ same, later bool }{
		"": {true, true}, On: {true, true}, Read: {true, false}, Only: {true, false}, Write: {false, true}, Off: {false, false},
	} {
		dir := t.TempDir()
		tools := Tools{Store: Open(dir, Options{}), Mode: mode}
		if _, _, ok := tools.Recall(key); ok {
			t.Errorf("%s: there is an answer at first", mode)
		}
		tools.Keep(key, "calculator", json.RawMessage(`{"a":1}`), time.Second)
		if _, _, ok := tools.Recall(key); ok != want.same {
			t.Errorf("%s: recalled %v", mode, ok)
		}
		content, took, ok := Tools{Store: Open(dir, Options{})}.Recall(key)
		if ok != want.later || ok && (string(content) != `{"a":1}` || took != time.Second) {
			t.Errorf("%s: another session recalls %s, %v, %v", mode, content, took, ok)
		}
	}
}

// What cannot be read, is a model's or holds a secret is not an answer.
func TestToolsRecallNothingElse(t *testing.T) {
	dir := t.TempDir()
	s := Open(dir, Options{Redact: func(text string) string { return strings.ReplaceAll(text, "CANARY", "***") }})
	tools := Tools{Store: s}
	s.save(Key{1}, &entry{Head: Head{Provider: "openai", Model: "m"}, text: "hello"})
	tools.Keep(Key{2}, "t", json.RawMessage(`1`), 0)
	if err := os.WriteFile(s.path(Key{2}), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	tools.Keep(Key{3}, "t", json.RawMessage(`"CANARY"`), 0)
	if _, _, ok := tools.Recall(Key{3}); !ok {
		t.Error("an answer with a secret is forgotten at once")
	}
	later := Tools{Store: Open(dir, Options{})}
	for i := range 4 {
		if content, _, ok := later.Recall(Key{byte(i)}); ok {
			t.Errorf("%d: recalled %s", i, content)
		}
	}
}
