package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/scorers/pass"
)

// rescore makes the scores that finished runs lack, because a crash came in
// between, or because they were taken back. Those that are there stay.
func (j *job) rescore(ctx context.Context, journal *record.Journal) error {
	if j.earlier.found == nil || len(j.earlier.found.Unscored) == 0 {
		return nil
	}
	if _, err := j.scoreMissing(ctx, journal, func(v scorers.Version) bool { return !v.Pairs }); err != nil {
		return fmt.Errorf("scoring what was not scored: %w", err)
	}
	return nil
}

// scorePairs has runs judged beside each other, once all are made. spent says that
// the budget did not last for that.
func (j *job) scorePairs(ctx context.Context, journal *record.Journal) (spent bool, err error) {
	if err := journal.Flush(); err != nil {
		return false, err
	}
	spent, err = j.scoreMissing(ctx, journal, func(v scorers.Version) bool { return v.Pairs })
	if err != nil {
		return spent, fmt.Errorf("scoring runs beside each other: %w", err)
	}
	return spent, nil
}

// scoreMissing makes the scores that there are not by some of the scorers. What
// those could not judge is tried again that judge runs beside others: these may
// have been made since.
func (j *job) scoreMissing(ctx context.Context, journal *record.Journal, by func(scorers.Version) bool) (spent bool, err error) {
	var names []string
	missing := true
	for _, v := range j.set.Versions() {
		if by(v) {
			names = append(names, v.Name)
			missing = missing && !v.Pairs
		}
	}
	if len(names) == 0 {
		return false, nil
	}
	p, err := pass.Look(pass.Options{
		Dir: j.dir, Set: j.set, Tasks: j.Tasks(), Scorers: names, Missing: missing, Workers: workers(j.Suite), Spent: j.budget.Refused,
	})
	if err != nil {
		return false, err
	}
	ctx, end := j.untilDraining(ctx)
	defer end()
	err = p.Make(ctx, journal)
	return p.Ended(), err
}

// untilDraining is a context that ends when no run is to be begun any more: what is
// not scored then, the next session scores.
func (j *job) untilDraining(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-j.draining:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		waiting.Wait()
	}
}

// scoreWanted has some iterations of recorded runs judged by some scorers, as far
// as they have no score, and puts the scores down. It says how many calls that
// took. The folder has to be free.
//
// suite names the suite that has the scorers; "": those that were recorded.
func (p *program) scoreWanted(ctx context.Context, dir, suite string, wanted map[string][]int, by []string, cached cacheFlags) (record.Usage, error) {
	var used record.Usage
	args := []string{dir}
	if suite != "" {
		args = append(args, suite)
	}
	s, err := p.openScoring(args, &scoreFlags{cacheFlags: cached, scorers: by, q: true})
	if err != nil {
		return used, err
	}
	journal, m, err := record.OpenScores(dir, p.recording())
	if err != nil {
		return used, unscorable(dir, err)
	}
	s.manifest = m
	done, err := s.wanted(ctx, journal, wanted)
	if err = errors.Join(err, journal.Close()); err != nil {
		return used, fail(notMeasured, "", "%w", err)
	}
	for i := range done.Counts {
		used = used.Plus(done.Counts[i].Usage)
	}
	s.tellProblems(done)
	return used, s.verdict(ctx, done)
}

// wanted makes the scores of some iterations, while the folder is held.
func (s *scoring) wanted(ctx context.Context, journal *record.Journal, wanted map[string][]int) (*pass.Pass, error) {
	o := s.options()
	o.Wanted, o.Scorers = wanted, slices.Clone(s.judging)
	done, err := pass.Look(o)
	if err != nil {
		return nil, err
	}
	endLedger, err := s.keepLedger()
	if err != nil {
		return nil, err
	}
	return done, errors.Join(done.Make(ctx, journal), endLedger())
}
