package mockserver

import (
	"bytes"
	"net"
	"slices"
	"strings"
)

// What follows changes an answer that is sent whole or as a stream alike.

func noFinish(c *completion) { c.Choices[0].Finish = nil }

func noChoices(c *completion) { c.Choices = []choice{} }

func nullContent(c *completion) {
	c.Choices[0].Message.Content, c.Choices[0].Message.ToolCalls = null, nil
}

func refused(c *completion) {
	c.Choices[0].Message.Content, c.Choices[0].Message.Refusal = null, "I'm sorry, I cannot assist with that request."
}

func empty(c *completion) { c.Choices[0].Message.Content = "" }

func tooLong(c *completion) {
	finish := "length"
	c.Choices[0].Finish = &finish
	if text, ok := c.Choices[0].Message.Content.(string); ok {
		c.Choices[0].Message.Content = validPrefix(text, len(text)/2)
	}
}

func used(prompt, output int64) func(*completion) {
	return func(c *completion) { c.Usage = &tokens{Prompt: prompt, Completion: output, Total: prompt + output} }
}

// written tells the right usage in another form.
func written(as string) func(*completion) { return func(c *completion) { c.Usage.as = as } }

func twoChoices(c *completion) {
	finish := "stop"
	second := choice{Index: 1, Message: &spoken{Role: "assistant", Content: "another", Refusal: null}, Finish: &finish}
	c.Choices = append(c.Choices, second)
}

func otherChoiceFirst(c *completion) {
	twoChoices(c)
	slices.Reverse(c.Choices)
}

// tools adds calls of tools with these ids.
func tools(ids ...string) func(*completion) {
	return func(c *completion) {
		for _, id := range ids {
			call := toolCall{ID: id, Type: "function"}
			call.Function.Name, call.Function.Arguments = "lookup", `{"q":"x"}`
			c.Choices[0].Message.ToolCalls = append(c.Choices[0].Message.ToolCalls, call)
		}
	}
}

// What follows changes how an answer is sent.

func wrongType(_ *exchange, p *payload) { p.header["Content-Type"] = "text/plain; charset=utf-8" }

func keepAlive(x *exchange, p *payload) {
	line := "\n"
	if x.request.Stream {
		line = ": keep-alive\n\n"
	}
	p.pieces = append([][]byte{[]byte(strings.Repeat(line, 1000))}, p.pieces...)
	if p.length >= 0 {
		p.length += 1000
	}
}

func crlf(x *exchange, p *payload) { p.inStreams(x, "\n", "\r\n") }

func noSpace(x *exchange, p *payload) { p.inStreams(x, "data: ", "data:") }

func (p *payload) inStreams(x *exchange, old, new string) {
	if !x.request.Stream {
		return
	}
	for i := range p.pieces {
		p.pieces[i] = bytes.ReplaceAll(p.pieces[i], []byte(old), []byte(new))
	}
}

// halfJSON ends the JSON early, but nothing else.
func halfJSON(x *exchange, p *payload) {
	p.keepHalf()
	if x.request.Stream {
		last := &p.pieces[len(p.pieces)-1]
		*last = append((*last)[:len(*last)/2:len(*last)/2], "\n\ndata: [DONE]\n\n"...)
		return
	}
	p.length = len(p.pieces[0])
}

// body is a kind that answers 200 with a text of its own.
func body(contentType, text string) kind {
	return kind{payload: func(_ *exchange, p *payload) { p.replace(200, contentType, text) }}
}

// cutPort parts host and port; the port is optional.
func cutPort(hostport string) (host, port string, found bool) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return hostport, "", false
	}
	return host, port, true
}
