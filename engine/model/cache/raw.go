package cache

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/model"
)

// A program does more than to read an answer: while one comes, its tools and its other calls go on. So an answer that is
// given again to a program comes when it once came, first byte and end. In between it comes evenly.

// give is the answer as if the call had been made. To a program it is passed on, in the time that it took.
func (e *Entry) give(ctx context.Context, request *model.Request) (*model.Reply, error) {
	reply := e.reply()
	if request.Raw == nil {
		return reply, nil
	}
	to, began := request.Raw.Answer, time.Now()
	header := http.Header{"Content-Type": {e.ContentType}}
	reply.Raw = &model.RawAnswer{Status: http.StatusOK, Header: header, Body: e.Raw, FirstByte: e.FirstByte}
	parts := e.parts(request.Raw.Stream)
	for i, part := range parts {
		select {
		case <-time.After(time.Until(began.Add(part.at))):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if i == 0 {
			to.Begin(http.StatusOK, header)
		}
		if i == len(parts)-1 {
			to.Last()
		}
		if _, err := to.Write(part.text); err != nil {
			break // it went away; its answer is the same
		}
	}
	return reply, nil
}

// timed is a part of an answer, and when it came.
type timed struct {
	text []byte
	at   time.Duration
}

// mostParts bounds the number of waits for one answer.
const mostParts = 256

// parts are the events of a stream, several together where there are many: the first comes when the answer began, the
// last when it ended. What was no stream is one part.
func (e *Entry) parts(stream bool) (all []timed) {
	events := bytes.SplitAfter(e.Raw, []byte("\n\n"))
	if last := len(events) - 1; len(events[last]) == 0 {
		events = events[:last]
	}
	if !stream || len(events) < 2 {
		return []timed{{e.Raw, e.Duration}}
	}
	for some := range slices.Chunk(events, (len(events)+mostParts-1)/mostParts) {
		all = append(all, timed{text: bytes.Join(some, nil)})
	}
	for i := range all {
		all[i].at = e.FirstByte + time.Duration(float64(e.Duration-e.FirstByte)*float64(i)/float64(len(all)-1))
	}
	return all
}
