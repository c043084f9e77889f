package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
)

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

// call makes one JSON-RPC request and gives its result.
func (c *Client) call(ctx context.Context, to *endpoint, method string, params map[string]any) (json.RawMessage, error) {
	body, err := json.Marshal(rpcRequest{Version: "2.0", ID: requestID, Method: method, Params: to.with(params)})
	if err != nil {
		return nil, failure(record.Internal, "encoding the request: %v", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(body))
	if err != nil {
		return nil, failure(record.InvalidRequest, "%s: %v", method, err)
	}
	request.Header.Set("Content-Type", "application/json")
	if to.wire == wire10 {
		request.Header.Set("A2A-Version", string(wire10))
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
		return nil, failure(record.BadResponse, "%s: the answer is not JSON-RPC: %s", method, c.secrets.String(shorten(string(text))))
	case len(response.Result) == 0 || string(response.Result) == "null":
		return nil, failure(record.BadResponse, "%s: the answer has neither a result nor an error", method)
	case string(response.ID) != `"`+requestID+`"`:
		return nil, failure(record.BadResponse, "%s: the answer is to another request, %s", method, shorten(string(response.ID)))
	}
	return response.Result, nil
}

// do sends a request and reads its answer whole.
func (c *Client) do(request *http.Request, most int64) (status int, text []byte, err error) {
	request.Header.Set("Accept", "application/json")
	for name, value := range c.options.Headers {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if ours := record.OutOfFiles(err); ours != nil {
			return 0, nil, failure(ours.Class, "%s", c.secrets.String(shorten(ours.Message)))
		}
		return 0, nil, failure(record.Network, "%s", c.secrets.String(shorten(err.Error())))
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, most+1))
	switch {
	case err != nil:
		return 0, nil, failure(record.Incomplete, "the connection ended inside the answer: %v", err)
	case int64(len(text)) > most:
		return 0, nil, failure(record.BadResponse, "the answer is longer than %d bytes", most)
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

// refused classes an answer by its status.
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
	return &statusError{status, failure(class, "%s", c.secrets.String(shorten(message)))}
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
	return failure(class, "%s: error %d: %s", method, e.Code, c.secrets.String(shorten(e.Message)))
}

// statusError is an error that came with a status of HTTP.
type statusError struct {
	status int
	cause  *record.Error
}

func (e *statusError) Error() string { return e.cause.Error() }
func (e *statusError) Unwrap() error { return e.cause }

func missing(err error) bool {
	var told *statusError
	return errors.As(err, &told) && (told.status == http.StatusNotFound || told.status == http.StatusGone)
}

// passing says whether a question that failed so may be asked again.
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

func failure(class record.ErrorClass, format string, arguments ...any) *record.Error {
	return &record.Error{Class: class, Message: fmt.Sprintf(format, arguments...)}
}

// shorten keeps messages readable.
func shorten(text string) string {
	const most = 500
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s … (%d bytes)", secret.Prefix(text, most), len(text))
}
