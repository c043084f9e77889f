// Package scorers decides how good a run was: it judges what a finished run, and each of its iterations, gave against
// the target of its task, which nothing inside the loop has seen.
//
// The stages of a judgement, in order: the target (target, or a CEL expression), the value (the output, or a CEL
// expression), the extraction of the answer out of it, the comparison that is the scorer's own, and not.
//
// What every scorer keeps to:
//
//   - No answer is worth 0: an output, value or extraction that is empty (nothing, null, or only white space) scores 0
//     with the answer "none", under not as well. A run that returns nothing cannot be right.
//   - Unscored means that the scorer could not judge: the target is missing, an expression failed, there is no
//     evaluation whose checks could be counted, the value is larger than what may be searched, or the result is no
//     number between 0 and 1.
//   - An iteration's score is that of its own output, seen as if the run had stopped there: best, iterations and usage
//     are those up to it. The run's score is that of the iteration that it returned, seen from the end. A scorer that
//     reads stop judges the run alone, because how a shorter run would have stopped only a replay can say.
//   - A scorer that asks others (a judge, a program, an endpoint) judges the output that is returned, and iterations
//     only where that is declared or asked for. Each of its scores is numbered for itself: asked again for the same
//     score, it makes the same calls, which are in the cache. What they took is in the score and in no run's usage.
//   - A scorer of what was done (of tool calls and steps) judges an iteration by all that was done up to it, and the
//     run by everything. A run without calls has a score, too.
//
// types.go is the table of the scorers; each has a file of its own.
package scorers

import (
	"context"
	"fmt"
	"time"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Options are what scorers need of the suite around them.
type Options struct {
	// Resolved are the configurations: what `best` is in a run depends on the pattern of its loop. Without them none is
	// a checklist.
	Resolved []spec.Resolved
	// Baseline is the configuration that those are compared with whose scorer names none.
	Baseline string
	// Outside is where scorers ask others; nil: those that do are unscored.
	Outside Outside
}

// Outside are the parts of a suite that scorers ask for a score.
type Outside interface {
	// Model is a model of the suite, behind its cache, its gate and the suite's
	// budget.
	Model(name string) (model.Model, error)
	// Program starts in the suite's folder.
	Program(argv []string, timeout time.Duration) external.Program
	// Endpoint fails where a header's variable is not set.
	Endpoint(url string, headers spec.Headers) (external.Endpoint, error)
}

// Set is the scorers of a suite, compiled. It is safe for concurrent use.
type Set struct {
	declared  []*scorer
	scorers   []*scorer       // those that need no other run
	checklist map[string]bool // the configurations whose best is the largest share of checks
}

// Version is one scorer of a set.
type Version struct {
	Name string
	Hash string // of what it does
	Asks bool   // it asks others: its scores cost something
	// Pairs says that it judges a run beside another one, that of the configuration
	// Against: Pair does.
	Pairs   bool
	Against string
	// OfRun says that it says nothing of iterations, even if it is asked.
	OfRun bool
	// LooksAround says that what it says of an iteration depends on where the run
	// ended, so that it may say something else of the one that was returned.
	LooksAround bool
	// Judges is what it judges unasked: spec.ScoreReturned, ScoreEveryIteration or
	// ScoreWhenAsked.
	Judges string
}

// New compiles the scorers of a loaded suite. The faults point at their places in its file; the set is nil exactly if
// one of them is not a warning.
func New(scorers []spec.Scorer, options Options) (*Set, source.Faults) {
	s := &Set{checklist: map[string]bool{}}
	all := compilation{declared: scorers, outside: options.Outside, resolved: options.Resolved, baseline: options.Baseline, made: map[int]*scorer{}}
	for i := range scorers {
		s.add(all.at(i))
	}
	if all.faults.Err() != nil {
		return nil, all.faults
	}
	for i := range options.Resolved {
		r := &options.Resolved[i]
		s.checklist[r.Name] = r.Loop.Pattern == spec.PatternChecklist
	}
	return s, all.faults
}

func (s *Set) add(added *scorer) {
	s.declared = append(s.declared, added)
	if !added.pairs {
		s.scorers = append(s.scorers, added)
	}
}

// Versions are the scorers in the order declared.
func (s *Set) Versions() []Version {
	all := make([]Version, len(s.declared))
	for i, scorer := range s.declared {
		all[i] = Version{
			Name: scorer.name, Hash: scorer.hash, Asks: scorer.asks, Pairs: scorer.pairs, Against: scorer.against,
			OfRun: scorer.ofRun, LooksAround: scorer.looksAround, Judges: scorer.judges,
		}
	}
	return all
}

// Only has the wanted scorers alone. What they need of the others stays.
func (s *Set) Only(wanted func(name string) bool) *Set {
	only := &Set{checklist: s.checklist}
	for _, scorer := range s.declared {
		if wanted(scorer.name) {
			only.add(scorer)
		}
	}
	return only
}

// Unable says why scorers cannot ask whom they have to, as where a key is not
// set; nil: all can. Their scores would be unscored.
func (s *Set) Unable() error {
	for _, scorer := range s.declared {
		if scorer.unable != nil {
			return fmt.Errorf("scorer %q: %w", scorer.name, scorer.unable)
		}
	}
	return nil
}

// subject is a run of which the scorers' scores are told.
func (s *Set) subject(task *spec.Task, run *record.Run) *subject {
	at := newSubject(task, run, s.checklist[run.Configuration])
	at.told = s.scorers
	return at
}

// Score judges a run: first the scores of the run itself (Iteration 0) by every scorer in the order declared, then
// those of its first iteration, and so on, by the scorers that judge every one. It does not fail and does not panic:
// what cannot be judged is unscored. Once ctx has ended, only those are that ask others.
//
// What was asked for once stands once: where the score of the run is that of the iteration that it returned, Votes and
// Usage are the run's alone.
func (s *Set) Score(ctx context.Context, task *spec.Task, run *record.Run) []record.Score {
	at := s.subject(task, run)
	scores := make([]record.Score, len(s.scorers), len(s.scorers)*(1+len(run.Iterations)))
	for n := 1; n <= len(run.Iterations); n++ {
		scores = s.scoreIteration(ctx, at, n, scores)
	}
	at.standAtEnd()
	for i, scorer := range s.scorers {
		if scores[i].Name == "" {
			scores[i] = scorer.score(ctx, at)
		}
	}
	return scores
}

// scoreIteration adds the scores of an iteration. Those of the one that the run returned are the run's, too, where they
// do not depend on where the run ended.
func (s *Set) scoreIteration(ctx context.Context, at *subject, n int, scores []record.Score) []record.Score {
	at.stand(n, n)
	for i, scorer := range s.scorers {
		if scorer.runOnly() {
			continue
		}
		score := scorer.score(ctx, at)
		if n == at.run.Outcome.Returned && !scorer.looksAround {
			scores[i] = score
			score.Votes, score.Usage = nil, record.Usage{}
		}
		score.Iteration = n
		scores = append(scores, score)
	}
	return scores
}

// At judges a run at some of its iterations, whether or not its scorers judge them unasked; 0 is the run itself. Of
// iterations that it does not have, and by scorers that say nothing of iterations, there are no scores.
func (s *Set) At(ctx context.Context, task *spec.Task, run *record.Run, iterations []int) []record.Score {
	at := s.subject(task, run)
	told := map[*scorer]bool{}
	var scores []record.Score
	for _, n := range iterations {
		if n < 0 || n > len(run.Iterations) {
			continue
		}
		at.stand(n, n)
		if n == 0 {
			at.standAtEnd()
		}
		scores = s.scoreAt(ctx, at, n, told, scores)
	}
	return scores
}

// scoreAt adds the scores where the subject stands. Told are those who judged the output that the run returned.
func (s *Set) scoreAt(ctx context.Context, at *subject, n int, told map[*scorer]bool, scores []record.Score) []record.Score {
	for _, scorer := range s.scorers {
		if n > 0 && scorer.ofRun {
			continue
		}
		score := scorer.score(ctx, at)
		score.Iteration = n
		if at.n == at.run.Outcome.Returned && !scorer.looksAround {
			if told[scorer] {
				score.Votes, score.Usage = nil, record.Usage{}
			}
			told[scorer] = true
		}
		scores = append(scores, score)
	}
	return scores
}
