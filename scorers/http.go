package scorers

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
)

// endpoint takes the score from an endpoint: it is posted what a program reads, and answers what a program writes.
func endpoint(c *compiler) comparison {
	if c.all.outside == nil {
		return c.unable(errNobody)
	}
	at, err := c.all.outside.Endpoint(c.spec.URL, c.spec.Headers)
	if err != nil {
		return c.unable(err)
	}
	answers := pace.Retry(answering{at, cmp.Or(c.spec.Timeout, defaultTimeout)}, pace.RetryOptions{})
	return c.asked(func(ctx context.Context, request []byte) ([]byte, error) {
		reply, err := answers.Call(ctx, &model.Request{Messages: []model.Message{{Role: "user", Text: string(request)}}})
		if err != nil {
			return nil, err
		}
		return []byte(reply.Text), nil
	})
}

// answering is an endpoint as what answers a request, so that failures that pass are tried again as those of models are.
type answering struct {
	endpoint external.Endpoint
	timeout  time.Duration // of one attempt
}

// Call posts once.
func (a answering) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	answer, err := a.endpoint.PostWithin(ctx, a.timeout, []byte(request.Messages[0].Text))
	if failed, ok := errors.AsType[*record.Error](err); ok {
		return nil, model.Fail(failed.Class, "the endpoint: "+failed.Message, answer.Duration)
	}
	if err != nil {
		return nil, err
	}
	return &model.Reply{Text: string(answer.Body), Duration: answer.Duration}, nil
}
