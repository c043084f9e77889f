// Package http decides how an endpoint executes an iteration: it is posted what a
// program is given, and answers what a program writes.

package agent

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// DefaultTimeout is how long an answer may take where the agent says nothing of it.
const DefaultEndpointTimeout = 10 * time.Minute

// Agent is an endpoint that executes iterations.
type Endpoint struct {
	Endpoint external.Endpoint
	Spec     *spec.Agent // of the stage, overrides applied
}

// writer is how errors tell of endpoints.
var endpointWriter = Writer{Name: "the endpoint", Class: record.BadResponse, Empty: "answered nothing"}

// Execute posts once.
func (a *Endpoint) Execute(ctx context.Context, turn *Turn) (Result, error) {
	given, err := input(turn)
	if err != nil {
		return Result{}, err
	}
	result := Result{Request: a.hash(given)}
	answer, err := a.Endpoint.PostWithin(ctx, cmp.Or(a.Spec.Timeout, DefaultEndpointTimeout), given)
	call := record.Call{
		Role: record.RoleHTTP, Model: host(a.Endpoint.URL), Request: result.Request,
		Usage: Unreported, Duration: answer.Duration,
	}
	if err == nil {
		err = endpointWriter.Read(answer.Body, a.Spec.Reply, &result, &call)
	}
	if err == nil && NothingMore(&result) {
		return Result{Request: result.Request}, model.ErrEnded
	}
	errors.As(err, &call.Error)
	result.Calls = []record.Call{call}
	if err != nil {
		return result, err
	}
	result.Ended, err = FinalResponse(ctx, a.Spec, turn.Scope, &result)
	return result, err
}

// Sends is the hash of what would be posted.
func (a *Endpoint) Sends(turn *Turn) (hash string, err error) {
	given, err := input(turn)
	if err != nil {
		return "", err
	}
	return a.hash(given), nil
}

func (a *Endpoint) hash(given []byte) string {
	return Hash([]string{"POST", a.Endpoint.URL}, given)
}

func input(turn *Turn) ([]byte, error) {
	given, err := Input(turn)
	if err != nil {
		return nil, &record.Error{Class: record.Internal, Message: err.Error()}
	}
	return given, nil
}

// host is how records call the endpoint.
func host(address string) string {
	if parsed, err := url.Parse(address); err == nil && parsed.Host != "" {
		return parsed.Host
	}
	return "http"
}
