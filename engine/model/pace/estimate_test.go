package pace

import (
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// F43: what a call may use, with and without limits of its own.
func TestF43_WhatACallMayUse(t *testing.T) {
	long := &model.Request{Messages: []model.Message{{Text: "12345678"}, {Text: "1234"}}} // 3 tokens, 12 bytes
	limited := *long
	limited.MaxOutputTokens = 7
	const framing = 3 * messageTokens
	tools := &model.Request{ // 3 bytes of tools and 5 of a call beside the 4 of text
		Messages:        []model.Message{{Text: "1234", ToolCalls: []model.ToolCall{{ID: "1", Name: "f", Arguments: "{ }"}}}},
		Tools:           []model.Tool{{Name: "f", Parameters: []byte("{}")}},
		MaxOutputTokens: 7,
	}
	const withTools = 2*messageTokens + toolsTokens + toolTokens + callTokens
	for name, c := range map[string]struct {
		request         *model.Request
		options         LimitOptions
		expected, bound record.Usage
	}{
		"a limit":           {&limited, LimitOptions{}, usage(3+framing, 7), usage(12+framing, 7)},
		"the default":       {long, LimitOptions{}, usage(3+framing, DefaultMaxOutput), usage(12+framing, DefaultMaxOutput)},
		"tools":             {tools, LimitOptions{}, usage(3+withTools, 7), usage(12+withTools, 7)},
		"declared tokens":   {long, LimitOptions{Input: 90, MaxOutput: 20}, usage(90, 20), usage(90, 20)},
		"declared, limited": {&limited, LimitOptions{Input: 90, MaxOutput: 20}, usage(90, 7), usage(90, 7)},
	} {
		c.options.Price = Price{}
		if got := newEstimate(c.options).of(c.request); got.Expected != c.expected || got.Bound != c.bound {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func usage(input, output int64) record.Usage {
	return record.Usage{Calls: 1, InputTokens: input, OutputTokens: output}
}

// What replies report corrects the estimates of the suite's budget upwards.
func TestF43_EstimatesLearn(t *testing.T) {
	unlimited := &model.Request{Messages: request.Messages} // 2 tokens and 10 of framing
	for name, c := range map[string]struct {
		reported, want record.Usage
	}{
		"as estimated":    {usage(12, 10), usage(12, DefaultMaxOutput)},
		"fewer tokens":    {usage(1, 10), usage(12, DefaultMaxOutput)},
		"a denser prompt": {usage(30, 10), usage(30, DefaultMaxOutput)},
		"a longer reply":  {usage(12, 9000), usage(12, 9000)},
	} {
		m := Limit(answers{used: c.reported}, NewBudget(Suite, Limits{Calls: 5}), LimitOptions{}).(*limited)
		if _, err := m.Call(t.Context(), unlimited); err != nil {
			t.Fatal(err)
		}
		got := m.worst.of(unlimited)
		if got.Expected != c.want || got.Bound.InputTokens < got.Expected.InputTokens {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// The hard budget of a run decides by the request alone: what other runs used
// must not decide where this one ends.
func TestF84_ReservationsOfARunDependOnNothingElse(t *testing.T) {
	m := LimitRun(answers{used: usage(5000, 9000)}, LimitOptions{})
	var first record.Usage
	for i := range 3 {
		reply, err := m.Call(WithRun(t.Context(), OfRun(&spec.RunBudget{Tokens: 5000})), request)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = *reply.Reserved
		} else if *reply.Reserved != first {
			t.Errorf("run %d reserved %+v, the first one %+v", i, *reply.Reserved, first)
		}
	}
}

// Input that is dearer from the server's cache is reserved at that price.
func TestF41_ReservationsAreOfTheDearestPrice(t *testing.T) {
	cached := 3.0
	e := newEstimate(LimitOptions{Price: PriceOf(&spec.Price{Input: 1, CachedInput: &cached, Output: 1}), Input: 10, MaxOutput: 5})
	if got, want := e.of(request).Bound.Cost, record.Money(10*3_000_000+50*1_000_000); got != want {
		t.Errorf("%d is reserved, want %d", got, want)
	}
}
