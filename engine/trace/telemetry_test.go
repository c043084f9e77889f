package trace

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// Where nobody traces, nothing is made.
func TestNothingIsAllocatedWithoutATrace(t *testing.T) {
	head, it, call := &record.Run{Configuration: "a"}, &record.Iteration{Phase: "p"}, &record.Call{}
	made := &record.Score{}
	used, request, reply := &record.ToolCall{Tool: "f"}, &model.Request{}, &model.Reply{}
	allocated := testing.AllocsPerRun(100, func() {
		ctx, run := StartRun(t.Context(), head)
		ctx, iteration := StartIteration(ctx, it)
		ctx, chat := StartChat(ctx, "m", record.RoleAgent, request)
		_, score := StartScore(ctx, "s", head, 1)
		score.End(made)
		_, use := StartTool(ctx, used, "d")
		use.End(Used{}, nil)
		chat.End(reply, call, nil)
		iteration.End(it)
		run.End(head)
	})
	if allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
}

func BenchmarkNobodyTraces(b *testing.B) {
	request, reply, call := &model.Request{}, &model.Reply{}, &record.Call{}
	ctx := context.WithValue(b.Context(), struct{ a int }{}, 1)
	b.ReportAllocs()
	for b.Loop() {
		_, chat := StartChat(ctx, "m", record.RoleAgent, request)
		chat.End(reply, call, nil)
	}
}

// kept is a tracer that keeps how spans ended.
type kept struct{ ended []*Failure }

func (k *kept) Start(ctx context.Context, _ *Began) (context.Context, Span) { return ctx, k }

func (k *kept) End(_ []Attribute, failed *Failure) { k.ended = append(k.ended, failed) }

// How a call failed is its class; that a model had nothing more to give is no failure.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		err  error
		want *Failure
	}{
		{nil, nil},
		{model.ErrEnded, nil},
		{fmt.Errorf("no room: %w", model.ErrRefused), &Failure{"refused", "no room: the call was not made"}},
		{model.Fail(record.RateLimit, "slow down", 0), &Failure{"rate_limit", "slow down"}},
		{context.Canceled, &Failure{"cancelled", "context canceled"}},
		{errors.New("odd"), &Failure{"_OTHER", "odd"}},
	} {
		k := &kept{}
		_, chat := StartChat(With(t.Context(), &Tracing{Tracer: k}), "m", record.RoleJudge, &model.Request{})
		chat.End(nil, nil, c.err)
		if !reflect.DeepEqual(k.ended, []*Failure{c.want}) {
			t.Errorf("%v: got %v, want %v", c.err, k.ended[0], c.want)
		}
	}
}

// Only an error makes a run one that failed.
func TestFailuresOfRuns(t *testing.T) {
	k := &kept{}
	ctx := With(t.Context(), &Tracing{Tracer: k})
	for _, o := range []record.Outcome{
		{Status: record.Completed, Success: false},
		{Status: record.Faulted, Error: &record.Error{Class: record.Server, Message: "down"}},
	} {
		_, run := StartRun(ctx, &record.Run{})
		run.End(&record.Run{Outcome: o})
	}
	if want := []*Failure{nil, {"server", "down"}}; !reflect.DeepEqual(k.ended, want) {
		t.Errorf("got %v", k.ended)
	}
}
