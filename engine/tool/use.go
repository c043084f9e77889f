package tool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// Use uses a tool once, with arguments that were checked. A try that takes too
// long is ended, one that failed is made again as often as the tool allows, a
// pure tool is only asked what it was not asked before, a long result is cut,
// and the result of a tool that breaks the loop ends the run.
func (s *Set) Use(ctx context.Context, name string, use *Use) (Result, error) {
	m := s.find(name)
	if m == nil {
		return Result{}, badCall("%s", s.unknown(name))
	}
	if !m.defined.Pure || s.memory == nil {
		return m.use(ctx, use)
	}
	return s.memory.recall(ctx, name, keyOf(&m.defined, use.Arguments), func() (Result, error) { return m.use(ctx, use) })
}

// use asks the tool, again where it failed.
func (m *member) use(ctx context.Context, use *Use) (result Result, err error) {
	var before Result
	for attempt := 1; ; attempt++ {
		result, err = m.try(ctx, use)
		result.Attempts, result.Duration, result.Waited = attempt, before.Duration+result.Duration, before.Waited+result.Waited
		if attempt > m.defined.Retries || !again(err) {
			break
		}
		pause := pauseBefore(attempt)
		if err := wait(ctx, pause); err != nil {
			return result, err
		}
		before = Result{Duration: result.Duration + pause, Waited: result.Waited + pause}
	}
	result.Content, result.Bytes, err = bounded(result.Content), boundedBytes(result.Bytes), boundedFault(err)
	if m.defined.Breaks != "" && err == nil && result.Ended == nil {
		result.Ended = &record.Ended{Reason: string(m.defined.Breaks), Output: result.Content}
	}
	return result, err
}

// try asks the tool once, for as long as it may take. One that took too long
// took that long, however late it was noticed.
func (m *member) try(ctx context.Context, use *Use) (Result, error) {
	limit := m.defined.Timeout
	if limit <= 0 {
		return m.tool.Use(ctx, use)
	}
	trying, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	result, err := m.tool.Use(trying, use)
	if err == nil || trying.Err() == nil {
		return result, err
	}
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	result.Duration = limit
	return result, &record.Error{Class: record.Tool, Message: fmt.Sprintf("timed out after %v", limit)}
}

// again says whether another try may do better: not where the call itself is
// wrong, and not where the run is over.
func again(err error) bool {
	failed, ok := errors.AsType[*record.Error](err)
	return ok && failed.Class == record.Tool
}

// pauseBefore is how long to wait before the next attempt.
func pauseBefore(attempt int) time.Duration {
	const first, most = 100 * time.Millisecond, 5 * time.Second
	return min(most, first<<min(attempt-1, 10))
}

func wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
