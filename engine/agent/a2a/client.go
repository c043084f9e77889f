// Package a2a decides how a remote agent is given a task over the agent-to-agent
// protocol, as JSON-RPC over HTTP in both of its versions, 0.3 and 1.0. The remote
// agent executes an iteration, or is a delegate of another agent.
//
// It is no stable API.
package a2a

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

// The limits of a remote agent.
const (
	defaultMaxResponse = 16 << 20
	maxCard            = 1 << 20
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

	mu   sync.Mutex
	card *endpoint // nil: not known yet
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
	return &Client{
		options: o, address: address,
		http:    &http.Client{Transport: o.Transport, CheckRedirect: stay},
		secrets: secret.New(secret.OfServer(o.Address, "", o.Headers)...),
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
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case err != nil && waiting.Err() != nil:
		took = c.options.Timeout
		err = record.Errorf(record.CallTimeout, "the remote agent took longer than %v", c.options.Timeout)
	}
	return answer, took, err
}

// converse sends the task, and polls it until it is over.
func (c *Client) converse(ctx context.Context, text, conversation string) (Answer, error) {
	to, err := c.endpoint(ctx)
	if err != nil {
		return Answer{}, err
	}
	result, err := c.call(ctx, to, to.wire.send, to.wire.message(text, conversation, rand.Text()))
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

// The pauses between two polls of a task: a tenth of what it has taken so
// far, so that what is measured is at most a tenth too long.
const (
	shortestPause = 25 * time.Millisecond
	longestPause  = 2 * time.Second
	lostPolls     = 3 // so many in a row may fail
)

// await polls a task until it is over, and cancels it where the context ends first.
func (c *Client) await(ctx context.Context, to *endpoint, task Answer) (Answer, error) {
	begin, lost := c.options.Now(), 0
	for task.pending() {
		pause := min(max(c.options.Now().Sub(begin)/10, shortestPause), longestPause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			c.cancel(ctx, to, task.Task)
			return task, ctx.Err()
		}
		next, err := c.poll(ctx, to, task.Task)
		switch {
		case err == nil:
			task, lost = next, 0
		case ctx.Err() != nil:
			c.cancel(ctx, to, task.Task)
			return task, err
		case !passing(err) || lost+1 >= lostPolls:
			return task, err
		default:
			lost++
		}
	}
	return task, nil
}

func (c *Client) poll(ctx context.Context, to *endpoint, id string) (Answer, error) {
	result, err := c.call(ctx, to, to.wire.get, map[string]any{"id": id})
	if err != nil {
		return Answer{}, err
	}
	answer, err := readAnswer(result)
	if err == nil && answer.Task != id {
		return answer, record.Errorf(record.BadResponse, "asked for task %q the remote agent answers about task %q", id, answer.Task)
	}
	return answer, err
}

// cancel asks the agent to stop the task. Its answer changes nothing.
func (c *Client) cancel(ctx context.Context, to *endpoint, id string) {
	bounded, done := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer done()
	_, _ = c.call(bounded, to, to.wire.cancel, map[string]any{"id": id})
}

// rpcRequest is one JSON-RPC request. One connection carries one at a time, so
// that all have the same id.
type rpcRequest struct {
	Version string `json:"jsonrpc"`
	ID      string `json:"id"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

type rpcResponse struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

const requestID = "1"

func (c *Client) call(ctx context.Context, to *endpoint, method string, params map[string]any) (json.RawMessage, error) {
	if to.tenant != "" {
		params["tenant"] = to.tenant
	}
	body, err := json.Marshal(rpcRequest{Version: "2.0", ID: requestID, Method: method, Params: params})
	if err != nil {
		return nil, record.Errorf(record.Internal, "encoding the request: %v", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(body))
	if err != nil {
		return nil, record.Errorf(record.InvalidRequest, "%s: %v", method, err)
	}
	request.Header.Set("Content-Type", "application/json")
	if to.wire == wire10 {
		request.Header.Set("A2A-Version", wire10.version)
	}
	status, text, err := c.do(request, c.options.MaxResponse)
	if err != nil {
		return nil, err
	}
	return c.read(status, text, method)
}

// read takes the result out of an answer; an error may come with any status.
func (c *Client) read(status int, text []byte, method string) (json.RawMessage, error) {
	text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	var response rpcResponse
	err := json.Unmarshal(text, &response)
	switch {
	case err == nil && response.Error != nil:
		return nil, c.told(response.Error, method)
	case status != http.StatusOK:
		return nil, c.refused(status, text, method)
	case err != nil:
		return nil, record.Errorf(record.BadResponse, "%s: the answer is not JSON-RPC: %s", method, c.secrets.String(shorten(string(text))))
	case len(response.Result) == 0 || string(response.Result) == "null":
		return nil, record.Errorf(record.BadResponse, "%s: the answer has neither a result nor an error", method)
	case string(response.ID) != `"`+requestID+`"`:
		return nil, record.Errorf(record.BadResponse, "%s: the answer is to another request, %s", method, shorten(string(response.ID)))
	}
	return response.Result, nil
}

func (c *Client) do(request *http.Request, most int64) (status int, text []byte, err error) {
	request.Header.Set("Accept", "application/json")
	for name, value := range c.options.Headers {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if ours := record.OutOfFiles(err); ours != nil {
			return 0, nil, record.Errorf(ours.Class, "%s", c.secrets.String(shorten(ours.Message)))
		}
		return 0, nil, record.Errorf(record.Network, "%s", c.secrets.String(shorten(err.Error())))
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, most+1))
	switch {
	case err != nil:
		return 0, nil, record.Errorf(record.Incomplete, "the connection ended inside the answer: %v", err)
	case int64(len(text)) > most:
		return 0, nil, record.Errorf(record.BadResponse, "the answer is longer than %d bytes", most)
	}
	return response.StatusCode, text, nil
}

// stay follows no redirect to another host: keys and tasks are for the one that
// was named.
func stay(request *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) >= 5 || request.URL.Host != first.URL.Host || request.URL.Scheme != first.URL.Scheme || request.Method != first.Method {
		return http.ErrUseLastResponse
	}
	return nil
}

func (c *Client) refused(status int, text []byte, what string) error {
	class := record.InvalidRequest
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		class = record.Auth
	case status == http.StatusTooManyRequests:
		class = record.RateLimit
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		class = record.CallTimeout
	case status >= 500:
		class = record.Server
	case status < 300:
		class = record.BadResponse
	}
	message := fmt.Sprintf("%s: status %d", what, status)
	if status >= 300 && status < 400 {
		message += ", which sends the request on: give the right address"
	} else if told := strings.TrimSpace(string(text)); told != "" {
		message += ": " + told
	}
	return &statusError{status, record.Errorf(class, "%s", c.secrets.String(shorten(message)))}
}

// told classes an error by its code: those of JSON-RPC, and of them the
// protocol's own from -32001 on.
func (c *Client) told(e *rpcError, method string) error {
	class := record.Server
	switch e.Code {
	case -32700, -32600, -32601, -32602, -32001, -32002, -32003, -32004, -32005, -32007, -32008, -32009:
		class = record.InvalidRequest
	case -32006:
		class = record.BadResponse
	}
	return record.Errorf(class, "%s: error %d: %s", method, e.Code, c.secrets.String(shorten(e.Message)))
}

type statusError struct {
	status int
	cause  *record.Error
}

func (e *statusError) Error() string { return e.cause.Error() }
func (e *statusError) Unwrap() error { return e.cause }

// passing reports whether a poll that failed so may be repeated.
func passing(err error) bool {
	var failed *record.Error
	if !errors.As(err, &failed) {
		return false
	}
	switch failed.Class {
	case record.Network, record.Server, record.RateLimit, record.Incomplete, record.CallTimeout:
		return true
	}
	return false
}

func shorten(text string) string { return tool.Shorten(text, 500) }

// wire is a version of the protocol, as it is spoken over JSON-RPC.
type wire struct{ version, send, get, cancel string }

// The wires. Until 0.3 methods have the names of resources, and parts and results
// name their kinds; since 1.0 the wire is that of protobuf's JSON.
var (
	wire03 = wire{"0.3", "message/send", "tasks/get", "tasks/cancel"}
	wire10 = wire{"1.0", "SendMessage", "GetTask", "CancelTask"}
)

// message is the parameter of send. The agent is asked to answer at once, with a
// task that is polled: only a task that is known can be cancelled, and long
// answers do not outlive what lies between.
func (w wire) message(text, conversation, id string) map[string]any {
	message := map[string]any{"messageId": id}
	configuration := map[string]any{"acceptedOutputModes": []string{"text/plain", "application/json"}}
	if conversation != "" {
		message["contextId"] = conversation
	}
	if w == wire10 {
		message["role"] = "ROLE_USER"
		message["parts"] = []any{map[string]any{"text": text}}
		configuration["returnImmediately"] = true
	} else {
		message["kind"], message["role"] = "message", "user"
		message["parts"] = []any{map[string]any{"kind": "text", "text": text}}
		configuration["blocking"] = false
	}
	return map[string]any{"message": message, "configuration": configuration}
}
