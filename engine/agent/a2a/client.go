// Package a2a hands tasks to remote agents over the agent-to-agent protocol,
// version 0.3, as JSON-RPC over HTTP. New makes a client; an Agent executes
// iterations with it, and Client.Delegate makes it a tool of another agent.
//
// It is no stable API.
package a2a

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"

	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/spec"
)

// The limits of a remote agent.
const (
	defaultMaxResponse = 16 << 20
	// cancelTime is how long a remote agent has to acknowledge that its task is cancelled.
	cancelTime = 2 * time.Second
)

// Options are the agent's address, and the limits of its tasks.
type Options struct {
	Address     string            // below which the agent's card lies, or the card itself
	Headers     map[string]string // of every request, for instance with a key
	Timeout     time.Duration     // of a task, from sending it to its answer; 0: spec.DefaultProgramTimeout
	MaxResponse int64             // bytes; 0: defaultMaxResponse
	Transport   http.RoundTripper // nil: http.DefaultTransport
	Now         func() time.Time  // nil: time.Now
	Budget      *pace.Budget      // of the suite, in which every task counts as a call; nil: none
}

// Client hands tasks to one remote agent. It is safe for concurrent use.
type Client struct {
	options Options
	address *url.URL
	http    *http.Client
	secrets *secret.Redactor
	remote  atomic.Pointer[a2aclient.Client] // nil until the agent's card was read
}

// New makes a client. Nothing is sent; it fails on an invalid address.
func New(o Options) (*Client, error) {
	address, err := url.Parse(o.Address)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, fmt.Errorf("the remote agent %q is not an http or https address", o.Address)
	}
	o.Timeout = cmp.Or(o.Timeout, spec.DefaultProgramTimeout)
	o.MaxResponse = cmp.Or(o.MaxResponse, defaultMaxResponse)
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	secrets := secret.New(secret.OfServer(o.Address, "", o.Headers)...)
	return &Client{
		options: o, address: address, secrets: secrets,
		http: &http.Client{Transport: &transport{o.Transport, o.Headers, o.MaxResponse, secrets}, CheckRedirect: sameServer},
	}, nil
}

// Offline is a client that only computes hashes. It must not send.
func Offline(address string) *Client { return &Client{options: Options{Address: address}} }

// Hash identifies a task, as records name a request. The conversation is not in it:
// the agent chooses its name.
func (c *Client) Hash(text string) string {
	sum := sha256.Sum256([]byte(c.options.Address + "\x00" + text))
	return hex.EncodeToString(sum[:8])
}

// Send sends a task and waits for its answer. The conversation is the
// Context of an earlier answer, "" begins a new one. Errors are *record.Error and
// the context's cause; a task is cancelled when the wait for it ends.
func (c *Client) Send(ctx context.Context, text, conversation string) (answer Answer, took time.Duration, err error) {
	waiting, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	begin := c.options.Now()
	answer, err = c.converse(waiting, text, conversation)
	took = c.options.Now().Sub(begin)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case waiting.Err() != nil:
		took = c.options.Timeout
		err = record.Errorf(record.CallTimeout, "the remote agent took longer than %v", c.options.Timeout)
	default:
		err = c.fault(err)
	}
	return answer, took, err
}

// fault classes an error. What the transport let pass is an answer that the
// protocol's library could not read.
func (c *Client) fault(err error) *record.Error {
	if known, ok := errors.AsType[*record.Error](err); ok {
		return known
	}
	said := c.secrets.String(secret.Shorten(err.Error(), 500))
	return record.Errorf(record.BadResponse, "the remote agent's answer is not what the protocol promises: %s", said)
}

// converse sends the task, and polls it until it is over. The agent is asked to
// answer at once, with a task: only a task that is known can be cancelled, and
// long answers do not outlive what lies between.
func (c *Client) converse(ctx context.Context, text, conversation string) (Answer, error) {
	remote, err := c.connect(ctx)
	if err != nil {
		return Answer{}, err
	}
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.TextPart{Text: text})
	message.ContextID = conversation
	sent, err := remote.SendMessage(ctx, &a2a.MessageSendParams{Message: message})
	if err != nil {
		return Answer{}, err
	}
	task, ok := sent.(*a2a.Task)
	if !ok {
		return messageAnswer(sent.(*a2a.Message)), nil
	}
	if task.ID == "" || task.Status.State == a2a.TaskStateUnspecified {
		return Answer{}, record.Errorf(record.BadResponse, "the remote agent's task has no id or no status")
	}
	if task, err = c.await(ctx, remote, task); err != nil {
		return Answer{}, err
	}
	answer := taskAnswer(task)
	return answer, answer.failure()
}

// The pauses between two polls of a task: a tenth of what it has taken so
// far, so that what is measured is at most a tenth too long.
const (
	shortestPause = 25 * time.Millisecond
	longestPause  = 2 * time.Second
	lostPolls     = 3 // so many in a row may fail
)

// await polls a task until it is over, and cancels it where the context ends first.
func (c *Client) await(ctx context.Context, remote *a2aclient.Client, task *a2a.Task) (*a2a.Task, error) {
	begin, lost := time.Now(), 0
	for pending(task.Status.State) {
		select {
		case <-time.After(min(max(time.Since(begin)/10, shortestPause), longestPause)):
		case <-ctx.Done():
		}
		next, err := remote.GetTask(ctx, &a2a.TaskQueryParams{ID: task.ID})
		switch {
		case ctx.Err() != nil:
			cancel(ctx, remote, task.ID)
			return nil, ctx.Err()
		case err == nil && next.ID != task.ID:
			return nil, record.Errorf(record.BadResponse, "asked for task %q the remote agent answers about task %q", task.ID, next.ID)
		case err == nil:
			task, lost = next, 0
		default:
			if lost++; lost == lostPolls || !passing(c.fault(err).Class) {
				return nil, err
			}
		}
	}
	return task, nil
}

// pending reports whether a task is still running.
func pending(state a2a.TaskState) bool {
	return !state.Terminal() && state != a2a.TaskStateInputRequired && state != a2a.TaskStateAuthRequired
}

// cancel asks the agent to stop a task. Its answer changes nothing.
func cancel(ctx context.Context, remote *a2aclient.Client, id a2a.TaskID) {
	bounded, done := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer done()
	_, _ = remote.CancelTask(bounded, &a2a.TaskIDParams{ID: id})
}

// passing reports whether a poll that failed so may be repeated.
func passing(class record.ErrorClass) bool {
	switch class {
	case record.Network, record.Server, record.RateLimit, record.Incomplete, record.CallTimeout:
		return true
	}
	return false
}
