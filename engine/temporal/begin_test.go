package temporal

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/agentbench/agentbench/engine/record"
)

// away is a server that does not answer the first time that it is asked for a workflow, nor when
// it is asked to start one, though it does.
type away struct {
	client.Client
	asked, started atomic.Int64
}

func (c *away) DescribeWorkflowExecution(ctx context.Context, id, run string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if c.asked.Add(1) == 1 {
		return nil, serviceerror.NewUnavailable("away")
	}
	return c.Client.DescribeWorkflowExecution(ctx, id, run)
}

func (c *away) ExecuteWorkflow(ctx context.Context, o client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error) {
	run, err := c.Client.ExecuteWorkflow(ctx, o, workflow, args...)
	if c.started.Add(1) == 1 && err == nil {
		err = serviceerror.NewUnavailable("away")
	}
	return run, err
}

// A server that is away for a moment while a suite begins is asked again. A workflow whose start was
// not answered is joined.
func TestAServerThatIsAwayAtFirst(t *testing.T) {
	server := serverOf(t, "")
	b, end := newBeside(t, &server.Server, 1, nil)
	defer end()
	c := &away{Client: b.client}
	b.client = c
	all := counted{made: map[string]int{}, ended: map[string]record.Status{}}
	if err := b.Execute(t.Context(), one("a"), all.run, all.deliver); err != nil || all.ended["a"] != record.Completed {
		t.Errorf("%v; the run is %q", err, all.ended["a"])
	}
	if c.asked.Load() != 2 || c.started.Load() != 2 {
		t.Errorf("it was asked %d times, and told to start %d times", c.asked.Load(), c.started.Load())
	}
	last, err := c.Client.DescribeWorkflowExecution(t.Context(), b.suite.Workflow, "")
	if err != nil {
		t.Fatal(err)
	}
	if info := last.GetWorkflowExecutionInfo(); info.GetFirstRunId() != info.GetExecution().GetRunId() || info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		t.Errorf("the workflow is %v", info)
	}
}

// heard is a server that tells what it heard of sessions, the newest first: of others, and after
// some questions of the one that asks.
type heard struct {
	client.Client
	others, own time.Time
	session     string
	questions   int
}

func (h *heard) SignalWorkflow(_ context.Context, _, _, name string, session any) error {
	if name == signalHere {
		h.session = session.(string)
	}
	return nil
}

func (h *heard) WorkflowService() workflowservice.WorkflowServiceClient { return heardOf{heard: h} }

type heardOf struct {
	workflowservice.WorkflowServiceClient
	heard *heard
}

func (h heardOf) GetWorkflowExecutionHistoryReverse(context.Context, *workflowservice.GetWorkflowExecutionHistoryReverseRequest, ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error) {
	s := h.heard
	events := []*history.HistoryEvent{signalled(signalHere, "another", s.others)}
	if s.questions++; s.questions > 2 {
		events = append(events, signalled(signalAdd, s.session, s.others), signalled(signalHere, s.session, s.own), signalled(signalHere, "an earlier one", s.others))
	}
	return &workflowservice.GetWorkflowExecutionHistoryReverseResponse{History: &history.History{Events: events}}, nil
}

func signalled(name, session string, at time.Time) *history.HistoryEvent {
	input, err := converter.GetDefaultDataConverter().ToPayloads(session)
	if err != nil {
		input = &common.Payloads{}
	}
	return &history.HistoryEvent{EventTime: timestamppb.New(at), Attributes: &history.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
		WorkflowExecutionSignaledEventAttributes: &history.WorkflowExecutionSignaledEventAttributes{SignalName: name, Input: input},
	}}
}

// A coordinator compares its clock with the time at which the server heard of it, and not of another
// session.
func TestTheClockIsComparedWithItsOwnSession(t *testing.T) {
	for _, c := range []struct {
		others, own time.Duration // what the server's clock said, less this machine's
		wrong       bool
	}{{0, 0, false}, {time.Hour, 0, false}, {-time.Hour, 0, false}, {0, time.Hour, true}, {0, -time.Hour, true}} {
		t.Run(fmt.Sprintf("others %v, own %v", c.others, c.own), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &heard{others: time.Now().Add(c.others), own: time.Now().Add(c.own)}
				e := &Executor{Options: Options{Now: time.Now, Patience: time.Minute}, client: server}
				if err := e.checkClock(t.Context()); (err != nil) != c.wrong || server.questions != 3 {
					t.Errorf("after %d questions: %v", server.questions, err)
				}
			})
		})
	}
}
