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
//   - A scorer of what was done (of tool calls and steps) judges an iteration by all that was done up to it, and the
//     run by everything. A run without calls has a score, too.
//
// types.go is the table of the scorers; each has a file of its own.
package scorers

import (
	"context"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/post"
	"github.com/agentbench/agentbench/engine/process"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Options are what scorers need of the suite around them.
type Options struct {
	// Resolved are the configurations: what `best` is in a run depends on the pattern of its loop. Without them none is
	// a checklist.
	Resolved []spec.Resolved
	// Outside is where scorers ask others; nil: those that do are unscored.
	Outside Outside
}

// Outside are the parts of a suite that scorers ask for a score.
type Outside interface {
	// Model is a model of the suite, behind its cache, its gate and the suite's
	// budget.
	Model(name string) (model.Model, error)
	// Program starts in the suite's folder.
	Program(argv []string, timeout time.Duration) process.Program
	// Endpoint fails where a header's variable is not set.
	Endpoint(url string, headers spec.Headers) (post.Endpoint, error)
}

// Set is the scorers of a suite, compiled. It is safe for concurrent use.
type Set struct {
	scorers   []*scorer
	checklist map[string]bool // the configurations whose best is the largest share of checks
}

// New compiles the scorers of a loaded suite. The faults point at their places in its file; the set is nil exactly if
// one of them is not a warning.
func New(scorers []spec.Scorer, options Options) (*Set, source.Faults) {
	s := &Set{checklist: map[string]bool{}}
	all := compilation{declared: scorers, outside: options.Outside, made: map[int]*scorer{}}
	for i := range scorers {
		s.scorers = append(s.scorers, all.at(i))
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

// Score judges a run: first the scores of the run itself (Iteration 0) by every scorer in the order declared, then
// those of its first iteration, and so on. It does not fail and does not panic: what cannot be judged is unscored.
// A run that ctx cancels is judged all the same.
func (s *Set) Score(ctx context.Context, task *spec.Task, run *record.Run) []record.Score {
	ctx = context.WithoutCancel(ctx)
	at := newSubject(task, run, s.checklist[run.Configuration])
	scores := make([]record.Score, len(s.scorers), len(s.scorers)*(1+len(run.Iterations)))
	for n := 1; n <= len(run.Iterations); n++ {
		at.stand(n, n)
		for i, scorer := range s.scorers {
			if scorer.runOnly() {
				continue
			}
			score := scorer.score(ctx, at)
			if n == run.Outcome.Returned && !scorer.looksAround {
				scores[i] = score
			}
			score.Iteration = n
			scores = append(scores, score)
		}
	}
	s.scoreRun(ctx, at, scores)
	return scores
}

// scoreRun judges the run where the score of the iteration that it returned does not already do so.
func (s *Set) scoreRun(ctx context.Context, at *subject, scores []record.Score) {
	at.stand(at.run.Outcome.Returned, len(at.run.Iterations))
	for i, scorer := range s.scorers {
		if scores[i].Name == "" {
			scores[i] = scorer.score(ctx, at)
		}
	}
}
