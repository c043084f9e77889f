package cache

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/agentbench/agentbench/engine/model"
)

// A program does more than to read an answer: while one comes, its tools and its other calls go on. So an answer that is
// given again to a program comes when it once came, first byte and end. In between it comes evenly.

// whole reports whether an answer can be given again: to a program only if all of it was kept.
func whole(request *model.Request, reply *model.Reply) bool {
	return request.Raw == nil || reply.Raw != nil && reply.Raw.Body != nil && !reply.Raw.Broken
}

// give is the answer as if the call had been made. To a program it is passed on, in the time that it took.
func (e *entry) give(ctx context.Context, request *model.Request) (*model.Reply, error) {
	reply := e.reply()
	if request.Raw == nil {
		return reply, nil
	}
	to, began := request.Raw.Answer, time.Now()
	header := http.Header{"Content-Type": {e.ContentType}}
	reply.Raw = &model.RawAnswer{Status: http.StatusOK, Header: header, Body: e.raw, FirstByte: e.FirstByte}
	parts := e.parts(request.Raw.Stream)
	for i, part := range parts {
		if err := until(ctx, began.Add(part.at)); err != nil {
			return nil, err
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

// mostParts bounds how often is waited for one answer.
const mostParts = 256

// parts are the events of a stream, several together where there are many: the first comes when the answer began, the last when
// it ended. What was no stream is one.
func (e *entry) parts(stream bool) (all []timed) {
	const between = "\n\n"
	least := len(e.raw) / mostParts
	for rest := e.raw; stream && len(rest) > 0; {
		end := min(len(rest), least)
		if next := bytes.Index(rest[end:], []byte(between)); next >= 0 {
			end += next + len(between)
		} else {
			end = len(rest)
		}
		all = append(all, timed{text: rest[:end]})
		rest = rest[end:]
	}
	if len(all) < 2 {
		return []timed{{e.raw, e.Duration}}
	}
	for i := range all {
		all[i].at = e.FirstByte + time.Duration(float64(e.Duration-e.FirstByte)*float64(i)/float64(len(all)-1))
	}
	return all
}

func until(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
