package plan

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
)

// A reply of toy has 50 tokens at most and no spread; the task has 400 characters, which are 100 tokens, and each
// prompt 40 characters, 10 tokens.
var conversing = map[string]*spec.Model{
	"toy":  {Price: &spec.Price{Free: true}, Tokens: spec.TokenCounts{Output: 50}},
	"dear": {Price: &spec.Price{Rates: spec.Rates{Input: 1, Output: 10}}},
}

const fortyCharacters = "prompt: '0123456789012345678901234567890123456789'\n"

func worstOfConversation(t testing.TB, loop string) Worst {
	t.Helper()
	d := spectest.Document(t, "l.yaml", map[string]string{"l.yaml": "loop: l\n" + fortyCharacters + loop,
		"helper.yaml": "loop: helper\nagent: {model: toy}\nprompt: ''\nmax_iterations: 2\nevaluate: {command: [cat]}",
		"chain.yaml":  "loop: chain\nagent: {model: toy, max_steps: 2, delegates: [{name: a, loop: helper.yaml}, {name: b, loop: helper.yaml}]}\nprompt: ''\nmax_iterations: 1"})
	return WorstOfRun(d.Loop, conversing, 400)
}

func TestWorstCaseOfConversations(t *testing.T) {
	const tool = "tools: [{name: add, description: '12345678', cel: '1'}]" // 11 characters: 112 tokens with the rest
	for _, c := range []struct {
		name, loop string
		want       Worst
	}{
		{"steps", "agent: {model: toy, " + tool + "}\nmax_iterations: 2",
			Worst{Iterations: 2, Calls: 10, Tokens: 2 * (5*112 + 50*(0+1+2+3+4) + 5*50), Open: 10}},
		{"max_steps", "agent: {model: dear, max_output_tokens: 20, max_steps: 2, " + tool + "}\nmax_iterations: 1",
			Worst{Iterations: 1, Calls: 2, Tokens: 112 + 132 + 40, Cost: (112 + 132 + 10*40) * record.USD / 1e6, Open: 2}},
		{"nothing to call", "agent: {model: toy, warn_remaining: 1}\nmax_iterations: 3",
			Worst{Iterations: 3, Calls: 3, Tokens: 3 * (110 + 50)}},
		{"tools in one phase only", "agent: {model: toy, max_steps: 3, " + tool + "}\nphases: [{name: a, tools: [], max_iterations: 1}, {name: b, max_iterations: 1}]",
			Worst{Iterations: 2, Calls: 4, Tokens: 160 + 3*112 + 150 + 3*50, Open: 3}},
		{"a memory grows", "agent: {model: toy, memory: {}}\nmax_iterations: 3",
			Worst{Iterations: 3, Calls: 3, Tokens: 110 + 170 + 230 + 3*50}},
		{"and has a limit", "agent: {model: toy, memory: {max_tokens: 180}}\nmax_iterations: 4",
			Worst{Iterations: 4, Calls: 4, Tokens: 110 + 170 + 180 + 180 + 4*50}},
		{"which tools may fill", "agent: {model: toy, max_steps: 2, memory: {max_tokens: 180}, " + tool + "}\nmax_iterations: 1",
			Worst{Iterations: 1, Calls: 2, Tokens: 2*180 + 2*50, Open: 2}},
		{"a limit below what is always sent", "agent: {model: toy, memory: {max_tokens: 1}}\nmax_iterations: 2",
			Worst{Iterations: 2, Calls: 2, Tokens: 2 * (110 + 50)}},
		{"a memory over phases", "agent: {model: toy, memory: {}}\nphases: [{name: a, max_iterations: 1}, {name: b, max_iterations: 1}]",
			Worst{Iterations: 2, Calls: 2, Tokens: 110 + 170 + 2*50}},
		{"a scripted user", "agent: {model: toy, max_steps: 3}\nuser: {script: \"['a']\"}\nmax_iterations: 1",
			Worst{Iterations: 1, Calls: 3, Tokens: 3*110 + 150 + 3*50}},
		{"a user that is a model", "agent: {model: toy, max_steps: 3}\nuser: {model: toy, system: '0123456789012345678901234567890123456789', max_turns: 2}\nmax_iterations: 1",
			Worst{Iterations: 1, Calls: 5, Tokens: 3*110 + 3*100 + 3*50 + 2*210 + 100 + 2*50}},
		{"a user of as many turns as steps", "agent: {model: toy}\nuser: {model: toy, system: s}\nmax_iterations: 1",
			Worst{Iterations: 1, Calls: 200, Tokens: 100*110 + 100*4950 + 5000 + 100*200 + 100*4950 + 5000}},
		{"a remote delegate", "agent: {model: toy, max_steps: 2, delegates: [{name: far, a2a: 'http://localhost'}]}\nmax_iterations: 3",
			Worst{Iterations: 3, Calls: 6, Tokens: 3 * (110 + 160 + 100), Programs: 6, Handed: 6, Open: 6}},
		{"a loop", "agent: {model: toy, max_steps: 2, delegates: [{name: h, loop: helper.yaml}]}\nmax_iterations: 1",
			Worst{Iterations: 1, Calls: 2 + 2*2, Tokens: 110 + 160 + 100 + 2*2*150, Programs: 4, Handed: 2, Open: 2}},
		{"loops of loops", "agent: {model: toy, max_steps: 3, delegates: [{name: c, loop: chain.yaml}]}\nmax_iterations: 1",
			Worst{Iterations: 1, Calls: 3 + 3*(2+2*2*2), Tokens: 3*110 + 150 + 150 + 3*(100+150+100+2*2*2*150), Programs: 3 * 2 * 2 * 2, Handed: 3 * (1 + 4), Open: 3 + 3*2, Beside: 2}},
		{"no limit of replies", "agent: {model: dear, max_steps: 2, " + tool + "}\nmax_iterations: 1",
			Worst{Iterations: 1, Calls: 2, Tokens: 224, Cost: 224 * record.USD / 1e6, Unbounded: 2, Open: 2, Dearest: record.USD / 100}},
		{"a remote agent", "agent: {a2a: 'http://localhost'}\nmax_iterations: 2", Worst{Iterations: 2, Programs: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := worstOfConversation(t, c.loop); got != c.want {
				t.Errorf("\ngot  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// The sum of a series is that of its inputs, one after the other.
func TestSeries(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 50)
		s := series{n: n.Draw(t, "n"), first: n.Draw(t, "first"), more: n.Draw(t, "more")}
		if rapid.Bool().Draw(t, "limited") {
			s.most = s.first + n.Draw(t, "room") + 1
		}
		want, input := int64(0), s.first
		for range s.n {
			want += input
			if input += s.more; s.most > 0 {
				input = min(input, s.most)
			}
		}
		if got := s.total(); got != want {
			t.Fatalf("%+v: %d, want %d", s, got, want)
		}
	})
	if got := (series{n: math.MaxInt64, first: 5, more: 5}).total(); got != math.MaxInt64 {
		t.Errorf("it wraps: %d", got)
	}
}

// A loop may be handed tasks from many places; it is looked at once.
func TestWorstCaseOfManyDelegates(t *testing.T) {
	files := map[string]string{"l5.yaml": "loop: l\nagent: {model: toy}\nprompt: ''\n"}
	for i := range 5 {
		delegates := ""
		for d := range 40 {
			delegates += string(rune('a'+d%26)) + string(rune('a'+d/26)) + ", loop: l" + string(rune('1'+i)) + ".yaml}, {name: "
		}
		files["l"+string(rune('0'+i))+".yaml"] = "loop: l\nagent: {model: toy, delegates: [{name: " + delegates + "last, a2a: 'http://localhost'}]}\nprompt: ''\n"
	}
	if w := WorstOfRun(spectest.Document(t, "l0.yaml", files).Loop, conversing, 1); w.Calls < 1e13 {
		t.Errorf("%+v", w)
	}
}

// Models of delegates and of the user make calls that nothing limits, too, and delegates make them at the same time.
func TestF43_OvershootOfConversations(t *testing.T) {
	models := map[string]*spec.Model{"dear": {Price: &spec.Price{Rates: spec.Rates{Output: 10}}}, "toy": conversing["toy"]}
	files := map[string]string{
		"free.yaml": "loop: l\nagent: {model: toy}\nprompt: ''\n",
		"user.yaml": "loop: l\nagent: {model: toy}\nprompt: ''\nuser: {model: dear, system: s}\n",
		"hand.yaml": "loop: l\nagent: {model: toy, delegates: [{name: a, loop: dear.yaml}, {name: b, loop: dear.yaml}, {name: c, loop: free.yaml}]}\nprompt: ''\n",
		"dear.yaml": "loop: l\nagent: {model: dear}\nprompt: ''\n",
	}
	for name, want := range map[string]Overshoot{
		"free.yaml": {}, "user.yaml": {4, 4 * record.USD / 100}, "hand.yaml": {12, 12 * record.USD / 100},
	} {
		w := &WorstCase{Each: []Worst{WorstOfRun(spectest.Document(t, name, files).Loop, models, 0)}}
		if got := w.Overshoot(&Plan{Trials: 1, Tasks: 100}, 4); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
