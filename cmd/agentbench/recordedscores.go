package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/signal"
	"syscall"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/scorers"
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

// judgesAround are the scorers that ask nobody and of whose scores those of
// iterations tell only some: they judge the runs again that a replay gives.
func (r *recordedRuns) judgesAround() (names []string) {
	if !r.folder.KnowsTasks() {
		return nil
	}
	all := r.folder.Document.Suite.Scorers
	for i := range all {
		switch r.folder.Reads(all[i].Name) {
		case sweep.ReadsAround, sweep.ReadsStop:
			if !all[i].Asks(all) {
				names = append(names, all[i].Name)
			}
		}
	}
	return names
}

// judge judges runs as the recorded suite does, by scorers that ask nobody; nil
// where the runs have no texts, or the tasks are not at hand.
func (r *recordedRuns) judge() sweep.Judge {
	suite := r.folder.Document.Suite
	if !r.texts || !r.folder.KnowsTasks() {
		return nil
	}
	set, _ := scorers.New(suite.Scorers, scorers.Options{Resolved: suite.Resolved, Baseline: suite.Baseline})
	if set == nil {
		return nil
	}
	by := map[string]*scorers.Set{}
	for i := range suite.Scorers {
		if name := suite.Scorers[i].Name; !suite.Scorers[i].Asks(suite.Scorers) {
			by[name] = set.Only(func(one string) bool { return one == name })
		}
	}
	return func(run *sweep.Run, as *record.Run, score string) float64 {
		if by[score] == nil {
			return math.NaN()
		}
		for _, s := range by[score].At(context.Background(), run.Task, as, []int{0}) {
			if s.Unscored == "" {
				return s.Value
			}
		}
		return math.NaN()
	}
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
