package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec"
)

// whenAsked are the scorers that judge the iterations that a replay asks for.
func (r *recordedRuns) whenAsked() (names []string) {
	scorers := r.folder.Document.Suite.Scorers
	for i := range scorers {
		if scorers[i].Score == spec.ScoreWhenAsked {
			names = append(names, scorers[i].Name)
		}
	}
	return names
}

// scored is a sweep whose scores are there as far as scorers judge when they are
// asked: those of iterations that a candidate returns, and no others. They are made
// once, and stand in the folder from then on. Where they cannot be made they stay
// missing.
func (r *recordedRuns) scored(ctx context.Context, s *sweep.Sweep, cached cacheFlags) (*sweep.Sweep, error) {
	names := r.whenAsked()
	if len(names) == 0 {
		return s, nil
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	missing, err := s.Unscored(ctx, names)
	if err != nil {
		return nil, fail(stopped, "", "%w", err)
	}
	if len(missing) == 0 {
		return s, nil
	}
	used, err := r.scoreWanted(ctx, r.place, r.suite, missing, names, cached)
	var told *failure
	switch {
	case ctx.Err() != nil:
		return nil, fail(stopped, "what was made is kept; the same command goes on", "interrupted while scores were made")
	case err == nil:
		r.tellAsked(missing, names, used)
	case !errors.As(err, &told) || told.err != nil: // else it said so
		r.warn("scores of iterations are missing: %v", err)
	}
	if r.replayed, _, err = r.folder.Read(r.selection); err != nil {
		return nil, fail(notMeasured, "", "%w", err)
	}
	return r.held(s.Candidates())
}

// tellAsked says what was judged, and what it took.
func (r *recordedRuns) tellAsked(judged map[string][]int, names []string, used record.Usage) {
	iterations := 0
	for _, of := range judged {
		iterations += len(of)
	}
	fmt.Fprintf(r.err, "%s of %s judged by %s: %s, %s as if nothing were cached\n", count(iterations, "iteration", "iterations"), count(len(judged), "run", "runs"),
		printable(some(names)), count(int(used.Calls), "call", "calls"), costOf(used))
}
