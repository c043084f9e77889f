package agent

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

// turn are messages of four tokens each, but for the first, which has more.
func memoryTurn(name string, messages, more int) []model.Message {
	made := make([]model.Message, messages)
	for i := range made {
		made[i].Text = fmt.Sprintf("%-16s", fmt.Sprint(name, ".", i))
	}
	made[0].Text += strings.Repeat("x", 4*more)
	return made
}

func told(messages []model.Message) string {
	names := make([]string, len(messages))
	for i, m := range messages {
		names[i], _, _ = strings.Cut(m.Text, " ")
	}
	return strings.Join(names, " ")
}

func TestS2_5_TheOldestTurnsAreLeftOut(t *testing.T) {
	earlier := [][]model.Message{memoryTurn("p1", 1, 0), memoryTurn("a1", 3, 0), memoryTurn("b1", 1, 0)}
	current := [][]model.Message{memoryTurn("p2", 1, 0), memoryTurn("a2", 2, 0), memoryTurn("b2", 3, 0)}
	for _, c := range []struct {
		most   int64
		want   string
		pruned int
	}{
		{0, "p1.0 a1.0 a1.1 a1.2 b1.0 p2.0 a2.0 a2.1 b2.0 b2.1 b2.2", 0},
		{54, "p1.0 a1.0 a1.1 a1.2 b1.0 p2.0 a2.0 a2.1 b2.0 b2.1 b2.2", 0},
		{53, "a1.0 a1.1 a1.2 b1.0 p2.0 a2.0 a2.1 b2.0 b2.1 b2.2", 1},
		{50, "a1.0 a1.1 a1.2 b1.0 p2.0 a2.0 a2.1 b2.0 b2.1 b2.2", 1},
		{49, "b1.0 p2.0 a2.0 a2.1 b2.0 b2.1 b2.2", 4}, // of an exchange no part stays
		{37, "p2.0 a2.0 a2.1 b2.0 b2.1 b2.2", 5},
		{33, "p2.0 b2.0 b2.1 b2.2", 7},
		{1, "p2.0 b2.0 b2.1 b2.2", 7}, // the open exchange and its prompt stay
	} {
		kept, pruned := Window(earlier, current, 10, c.most)
		if told(kept) != c.want || pruned != c.pruned {
			t.Errorf("%d tokens: %s, %d pruned; want %s, %d", c.most, told(kept), pruned, c.want, c.pruned)
		}
	}
	large := [][]model.Message{memoryTurn("p", 1, 0), memoryTurn("a", 1, 0), memoryTurn("large", 2, 9), memoryTurn("b", 1, 0)}
	if kept, pruned := Window(earlier, large, 0, 16); told(kept) != "p.0 b.0" || pruned != 8 {
		t.Errorf("there is no gap in what stays: %s, %d pruned", told(kept), pruned)
	}
	if kept, pruned := Window(nil, nil, 0, 1); len(kept) != 0 || pruned != 0 {
		t.Errorf("of nothing: %v, %d", kept, pruned)
	}
	if kept, _ := Window(earlier, current[:1], 0, 8); told(kept) != "b1.0 p2.0" {
		t.Errorf("at the first step: %s", told(kept))
	}
}

func drawTurns(t *rapid.T, name string, least int) [][]model.Message {
	turns := make([][]model.Message, rapid.IntRange(least, 6).Draw(t, name))
	for i := range turns {
		turns[i] = memoryTurn(fmt.Sprint(name, i), rapid.IntRange(1, 4).Draw(t, "messages"), rapid.IntRange(0, 5).Draw(t, "more"))
		for j := range turns[i] {
			if rapid.Bool().Draw(t, "calls") {
				turns[i][j].ToolCalls = []model.ToolCall{{ID: "call_1", Name: "search", Arguments: `{"for": "something"}`}}
			}
		}
	}
	return turns
}

func tokens(messages []model.Message) int64 {
	return (&model.Request{Messages: messages}).InputTokens()
}

func TestS2_5_WhatStaysIsWholeAndFits(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		earlier, current := drawTurns(t, "earlier", 0), drawTurns(t, "current", 1)
		fixed := rapid.Int64Range(0, 40).Draw(t, "fixed")
		most := rapid.Int64Range(1, 400).Draw(t, "most")
		kept, pruned := Window(earlier, current, fixed, most)

		all := slices.Concat(slices.Concat(earlier...), slices.Concat(current...))
		if len(kept)+pruned != len(all) {
			t.Fatalf("%d messages stay and %d are pruned, of %d", len(kept), pruned, len(all))
		}
		if !slices.ContainsFunc(selections(earlier, current), func(s []model.Message) bool { return reflect.DeepEqual(s, kept) }) {
			t.Fatalf("%s is no prompt with the newest turns", told(kept))
		}
		least := selections(earlier, current)[0]
		if fixed+tokens(kept) > most && len(kept) > len(least) {
			t.Fatalf("%d tokens stay, %d are allowed", fixed+tokens(kept), most)
		}
		more, _ := Window(earlier, current, fixed, most+1)
		if len(more) < len(kept) || len(more) > len(kept) && fixed+tokens(more) <= most {
			t.Fatalf("%d tokens hold %s, one more %s", most, told(kept), told(more))
		}
	})
}

// selections are all that may stay, the fewest first.
func selections(earlier, current [][]model.Message) (all [][]model.Message) {
	since := current[1:]
	for n := min(1, len(since)); n <= len(since); n++ {
		all = append(all, slices.Concat(current[0], slices.Concat(since[len(since)-n:]...)))
	}
	for n := 1; n <= len(earlier); n++ {
		all = append(all, slices.Concat(slices.Concat(earlier[len(earlier)-n:]...), slices.Concat(current...)))
	}
	return all
}

func BenchmarkWindow(b *testing.B) {
	var turns [][]model.Message
	for i := range 1000 {
		turns = append(turns, memoryTurn(fmt.Sprint(i), 3, 10))
	}
	for b.Loop() {
		Window(turns, turns, 1000, 16000)
	}
}
