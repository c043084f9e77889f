package cache

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"pgregory.net/rapid"
)

func someEntry() *entry {
	return &entry{
		Head: Head{
			Key: strings.Repeat("ab", 32), Provider: "openai", Model: "m", Task: "a", Trial: 1, N: 2,
			Created: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Finish: "stop",
			Usage: record.Usage{Calls: 1, InputTokens: 2, OutputTokens: 3, Cost: 4}, Duration: time.Second,
		},
		text: "The answer\nis 42.", thinking: "Six times seven?",
		calls: []model.ToolCall{{ID: "call_1", Name: "multiply", Arguments: `{"a": 6, "b": 7}`}},
	}
}

func encoded(t rapid.TB, e *entry) []byte {
	t.Helper()
	b, err := e.encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decode(encode(e)) = e, also for replies that are no text.
func TestAnEntryIsReadAsItWasWritten(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		want := someEntry()
		want.text = string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		want.thinking = string(rapid.SliceOf(rapid.Byte()).Draw(t, "thinking"))
		want.calls = rapid.SliceOfN(rapid.Custom(anyCall), 0, 3).Draw(t, "calls")
		want.Task, want.Model = rapid.String().Draw(t, "task"), rapid.String().Draw(t, "model")
		want.N, want.Trial = rapid.Int().Draw(t, "n"), rapid.Int().Draw(t, "trial")
		want.Duration = time.Duration(rapid.Int64().Draw(t, "duration"))
		want.Usage.Cost = record.Money(rapid.Int64().Draw(t, "cost"))
		want.Usage.Estimated = rapid.Int64().Draw(t, "estimated")
		want.Created = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "created"), 5).UTC()
		got, err := decode(encoded(t, want))
		if err != nil {
			t.Fatal(err)
		}
		want.TextBytes, want.ThinkingBytes = len(want.text), len(want.thinking)
		want.ToolCallBytes = got.ToolCallBytes
		if len(want.calls) == 0 {
			want.calls, want.ToolCallBytes = nil, 0
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	})
}

func anyCall(t *rapid.T) model.ToolCall {
	return model.ToolCall{ID: rapid.String().Draw(t, "id"), Name: rapid.String().Draw(t, "name"), Arguments: rapid.String().Draw(t, "arguments")}
}

// An entry of before there were tool calls is read as it was.
func TestEntriesOfBeforeToolCalls(t *testing.T) {
	const old = "agentbench cache 1 %s %s\n%s\nThe answerhm"
	head := `{"key":"ab","provider":"openai","model":"m","task":"a","trial":1,"n":0,"created":"2026-01-02T03:04:05Z","finish":"stop","usage":{"calls":1},"duration_ns":5,"text_bytes":10,"thinking_bytes":2}`
	got, err := decode(fmt.Appendf(nil, old, checksum([]byte(head)), checksum([]byte("The answerhm")), head))
	if err != nil {
		t.Fatal(err)
	}
	want := &model.Reply{Text: "The answer", Thinking: "hm", Finish: "stop", Usage: record.Usage{Calls: 1}, Duration: 5, Cached: true}
	if reply := got.reply(); !reflect.DeepEqual(reply, want) {
		t.Errorf("got %+v", reply)
	}
}

// F2: whatever bit flips and wherever it is cut, an entry is whole or none.
func TestF2_DamageIsSeen(t *testing.T) {
	whole := encoded(t, someEntry())
	for cut := range len(whole) {
		if _, err := decode(whole[:cut]); err == nil {
			t.Fatalf("cut at %d of %d it is read", cut, len(whole))
		}
	}
	if _, err := decode(append(bytes.Clone(whole), 'x')); err == nil {
		t.Error("with more behind it, it is read")
	}
	for bit := range 8 * len(whole) {
		damaged := bytes.Clone(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		if _, err := decode(damaged); err == nil {
			t.Fatalf("with bit %d of byte %d flipped it is read", bit%8, bit/8)
		}
	}
}

// Nothing that is read as an entry is written as another one.
func FuzzDecode(f *testing.F) {
	whole, err := someEntry().encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:firstLine])
	f.Add([]byte(magic + "00000000 00000000\n\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		first, err := decode(content)
		if err != nil {
			return
		}
		again, err := decode(encoded(t, first))
		if err != nil || !reflect.DeepEqual(again, first) {
			t.Errorf("read %+v, then %+v (%v)", first, again, err)
		}
	})
}

// encode is the entry as a file holds it.
func (e *entry) encode() ([]byte, error) {
	var b bytes.Buffer
	err := e.write(&b)
	return b.Bytes(), err
}
