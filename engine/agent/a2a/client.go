// Package a2a decides how a remote agent is handed a task over the
// agent-to-agent protocol, as JSON-RPC over HTTP in both of its wires: 0.3 and
// 1.0. The remote agent executes an iteration, or is a delegate of another agent.
package a2a

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
)

// The limits of a remote agent where none are declared.
const (
	DefaultTimeout     = 10 * time.Minute
	DefaultMaxResponse = 16 << 20
	maxCard            = 1 << 20
	// cancelTime is how long a remote agent has to take note that nobody waits for
	// its task any more.
	cancelTime = 2 * time.Second
)

// Options say which agent it is, and how long it is waited for.
type Options struct {
	Address     string            // below which the agent's card lies, or the card itself
	Headers     map[string]string // of every request, for instance with a key
	Timeout     time.Duration     // of a task, from sending it to its answer; 0: DefaultTimeout
	MaxResponse int64             // bytes; 0: DefaultMaxResponse
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

	mu   sync.Mutex
	card *endpoint // nil: not known yet
}

// New makes a client. Nothing is sent; it fails on an address that is none.
func New(o Options) (*Client, error) {
	address, err := url.Parse(o.Address)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, fmt.Errorf("the remote agent %q is not an http or https address", o.Address)
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxResponse = cmp.Or(o.MaxResponse, DefaultMaxResponse)
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{
		options: o, address: address,
		http:    &http.Client{Transport: o.Transport, CheckRedirect: stay},
		secrets: secret.New(secret.OfServer(o.Address, "", o.Headers)...),
	}, nil
}

// Told is a client that can only tell what it would send. It must not send.
func Told(address string) *Client { return &Client{options: Options{Address: address}} }

// Name is how records call the agent: its host.
func (c *Client) Name() string { return c.address.Host }

// Hash identifies what the agent is told, as records name a request. Which
// conversation it belongs to is not in it: that name is the agent's own.
func (c *Client) Hash(text string) string {
	sum := sha256.Sum256([]byte(c.options.Address + "\x00" + text))
	return hex.EncodeToString(sum[:8])
}

// Send hands over a task and waits for its answer. The conversation is the
// Context of an earlier answer, "" begins a new one. Errors are *record.Error and
// the context's cause; a task that is not waited for any more is cancelled.
func (c *Client) Send(ctx context.Context, text, conversation string) (answer Answer, took time.Duration, err error) {
	waiting, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	begin := c.options.Now()
	answer, err = c.converse(waiting, text, conversation)
	took = c.options.Now().Sub(begin)
	switch {
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case err != nil && waiting.Err() != nil:
		took = c.options.Timeout
		err = failure(record.CallTimeout, "the remote agent took longer than %v", c.options.Timeout)
	}
	return answer, took, err
}

// converse sends the task, and asks for it until it is over.
func (c *Client) converse(ctx context.Context, text, conversation string) (Answer, error) {
	to, err := c.endpoint(ctx)
	if err != nil {
		return Answer{}, err
	}
	result, err := c.call(ctx, to, to.wire.send(), to.wire.message(text, conversation, rand.Text()))
	if err != nil {
		return Answer{}, err
	}
	task, err := readAnswer(result)
	if err != nil {
		return Answer{}, err
	}
	if task.pending() {
		task, err = c.await(ctx, to, task)
	}
	if err != nil {
		return task, err
	}
	return task, task.failed()
}

// The pauses between two questions after a task: a tenth of what it has taken so
// far, so that what is measured is at most a tenth too long.
const (
	shortestPause = 25 * time.Millisecond
	longestPause  = 2 * time.Second
	lostQuestions = 3 // so many in a row may fail
)

// await asks after a task until it is over. Whoever gives up waiting cancels it.
func (c *Client) await(ctx context.Context, to *endpoint, task Answer) (Answer, error) {
	begin, lost := c.options.Now(), 0
	for task.pending() {
		pause := min(max(c.options.Now().Sub(begin)/10, shortestPause), longestPause)
		if err := sleep(ctx, pause); err != nil {
			c.cancel(ctx, to, task.Task)
			return task, err
		}
		next, err := c.ask(ctx, to, task.Task)
		switch {
		case err == nil:
			task, lost = next, 0
		case ctx.Err() != nil:
			c.cancel(ctx, to, task.Task)
			return task, err
		case !passing(err) || lost+1 >= lostQuestions:
			return task, err
		default:
			lost++
		}
	}
	return task, nil
}

func (c *Client) ask(ctx context.Context, to *endpoint, id string) (Answer, error) {
	result, err := c.call(ctx, to, to.wire.get(), to.of(id))
	if err != nil {
		return Answer{}, err
	}
	answer, err := readAnswer(result)
	if err == nil && answer.Task != id {
		return answer, failure(record.BadResponse, "asked after task %q the remote agent tells of %q", id, answer.Task)
	}
	return answer, err
}

// cancel tells the agent that nobody waits for the task any more. What it says to
// that changes nothing.
func (c *Client) cancel(ctx context.Context, to *endpoint, id string) {
	bounded, done := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer done()
	_, _ = c.call(bounded, to, to.wire.cancel(), to.of(id))
}

func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
