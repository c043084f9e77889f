// Command peer is a remote agent made with the official SDK of the protocol, wire
// 0.3. What it does is what it is told: the first word of a task. It says where it
// listens, then which tasks are cancelled, and ends with its standard input.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
)

type peer struct{}

func words(m *a2a.Message) string {
	var text strings.Builder
	for _, part := range m.Parts {
		if said, ok := part.(a2a.TextPart); ok {
			text.WriteString(said.Text)
		}
	}
	return text.String()
}

func (peer) Execute(ctx context.Context, rc *a2asrv.RequestContext, queue eventqueue.Queue) error {
	told := words(rc.Message)
	end := func(state a2a.TaskState, text string) error {
		var message *a2a.Message
		if text != "" {
			message = a2a.NewMessageForTask(a2a.MessageRoleAgent, rc, a2a.TextPart{Text: text})
		}
		event := a2a.NewStatusUpdateEvent(rc, state, message)
		event.Final = true
		return queue.Write(ctx, event)
	}
	if strings.HasPrefix(told, "say") {
		return queue.Write(ctx, a2a.NewMessage(a2a.MessageRoleAgent, a2a.TextPart{Text: "said in " + rc.ContextID}))
	}
	if err := queue.Write(ctx, a2a.NewSubmittedTask(rc, rc.Message)); err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(told, "ask"):
		return end(a2a.TaskStateInputRequired, "which year?")
	case strings.HasPrefix(told, "fail"):
		return end(a2a.TaskStateFailed, "no such filing")
	case strings.HasPrefix(told, "forever"):
		<-ctx.Done()
		return ctx.Err()
	case strings.HasPrefix(told, "slow"):
		time.Sleep(200 * time.Millisecond)
	}
	if err := queue.Write(ctx, a2a.NewArtifactEvent(rc, a2a.TextPart{Text: "did: " + told}, a2a.DataPart{Data: map[string]any{"context": rc.ContextID}})); err != nil {
		return err
	}
	return end(a2a.TaskStateCompleted, "")
}

func (peer) Cancel(ctx context.Context, rc *a2asrv.RequestContext, queue eventqueue.Queue) error {
	fmt.Println("cancelled")
	event := a2a.NewStatusUpdateEvent(rc, a2a.TaskStateCanceled, nil)
	event.Final = true
	return queue.Write(ctx, event)
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	address := "http://" + listener.Addr().String()
	card := &a2a.AgentCard{
		Name: "peer", Description: "does what it is told", Version: "1", URL: address + "/rpc",
		PreferredTransport: a2a.TransportProtocolJSONRPC, ProtocolVersion: "0.3.0",
		DefaultInputModes: []string{"text"}, DefaultOutputModes: []string{"text"}, Skills: []a2a.AgentSkill{},
	}
	mux := http.NewServeMux()
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(peer{})))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	fmt.Println("listening on " + address)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	panic(http.Serve(listener, mux))
}
