package mockserver

import (
	"net/http"
	"strconv"
)

const (
	typeHTML = "text/html; charset=utf-8"
	page     = "<!DOCTYPE html>\n<html><head><title>Welcome</title></head><body><h1>It works</h1></body></html>\n"

	serverError = `{"error":{"message":"The server had an error while processing your request","type":"server_error","param":null,"code":null}}`
)

// canned is an error as some server words it.
type canned struct {
	status int
	text   string
}

var (
	quotaOfOpenAI = canned{429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`}

	quotaOfLiteLLM = canned{400, `{"error":{"message":"Budget has been exceeded! Current cost: 10.1, Max budget: 10.0","type":"budget_exceeded","param":null,"code":"400"}}`}

	contextOfOpenAI = canned{400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`}

	contextOfVLLM = canned{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.","type":"BadRequestError","param":null,"code":400}`}

	contextOfAnthropic = canned{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`}

	contentFilter = canned{400, `{"error":{"message":"The response was filtered due to the prompt triggering the content management policy.","type":null,"param":"prompt","code":"content_filter"}}`}
)

// refusal is a kind that answers with an error.
func refusal(c canned) kind {
	return kind{options: retryOptions, instead: func(x *exchange) { x.refuseWith(c.status, typeJSON, c.text) }}
}

// refuse answers with the status of the fault.
func (x *exchange) refuse() {
	status := x.fault.status
	switch x.fault.Body {
	case "html":
		x.refuseWith(status, typeHTML, "<html><h1>"+strconv.Itoa(status)+" "+http.StatusText(status)+"</h1></html>\n")
	case "empty":
		x.refuseWith(status, "text/plain", "")
	default:
		about := describe(status)
		x.tellAgain()
		x.fail(status, &about)
	}
}

func (x *exchange) refuseWith(status int, contentType, text string) {
	x.tellAgain()
	p := &payload{}
	p.replace(status, contentType, text)
	x.send(p)
}

func (x *exchange) tellAgain() { x.fault.tellRetry(x.w.Header(), x.server.options.Now()) }

// describe words a status as OpenAI does.
func describe(status int) apiError {
	text := func(message, kind, code string) apiError {
		return apiError{Message: message, Type: kind, Code: nullable(code)}
	}
	switch status {
	case http.StatusUnauthorized:
		return text("Incorrect API key provided.", "invalid_request_error", "invalid_api_key")
	case http.StatusForbidden:
		return text("You are not allowed to use this model.", "invalid_request_error", "")
	case http.StatusNotFound:
		return text("The model does not exist or you do not have access to it.", "invalid_request_error", "model_not_found")
	case http.StatusTooManyRequests:
		return text("Rate limit reached.", "requests", "rate_limit_exceeded")
	}
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	return text(statusText(strconv.Itoa(status)), kind, "")
}

// statusText also knows the status of Anthropic for a server with too much to do.
func statusText(name string) string {
	if name == "529" {
		return "Overloaded"
	}
	status, _ := strconv.Atoi(name)
	return http.StatusText(status)
}

// redirect sends the client to the same server under another name, which to a
// client is another host.
func redirect(x *exchange) {
	host, port, found := cutPort(x.host)
	other := "localhost"
	if host == other {
		other = "127.0.0.1"
	}
	if found {
		other += ":" + port
	}
	x.w.Header().Set("Location", "http://"+other+"/v1/chat/completions")
	x.begin(http.StatusTemporaryRedirect, nil, 0)
}
