package scorers

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// scorer is one compiled scorer.
type scorer struct {
	name    string
	hash    string // of its spec
	not     bool
	value   *expr.Program // nil: the output
	target  *expr.Program // nil: the task's target
	extract extraction    // nil: the value is the answer
	compare comparison

	needsTarget bool
	needsAnswer bool
	readsOutput bool
	readsBest   bool
	shared      bool   // it is a part of a set as well: its score is kept for that
	looksAround bool   // what it says of an iteration depends on where the run ended
	ofRun       bool   // it sees how the run stopped, and says nothing of iterations even if it is asked
	asks        bool   // it asks others, or a part of it does
	pairs       bool   // it judges a run beside another one
	against     string // of which configuration
	judges      string // which outputs: one of the words of spec.Scorer.Score
	unable      error  // why it cannot ask whom it has to
}

// within is where the scorer works: what makes no call is done even if the suite was cancelled, and the calls of every
// score are numbered anew.
func (s *scorer) within(ctx context.Context) context.Context {
	if s.asks {
		return cache.WithRun(ctx)
	}
	return context.WithoutCancel(ctx)
}

// runOnly: it says nothing of iterations unless it is asked.
func (s *scorer) runOnly() bool { return s.judges != spec.ScoreEveryIteration }

// score judges where the subject stands, once.
func (s *scorer) score(ctx context.Context, at *subject) record.Score {
	if !s.shared && !s.asks {
		return s.make(ctx, at)
	}
	place := s.place(at)
	known, ok := at.known[place]
	if !ok {
		known = s.make(ctx, at)
		at.keep(place, known)
	}
	return known
}

// place is where the subject stands, as far as it makes a difference to the scorer.
func (s *scorer) place(at *subject) standing {
	if s.looksAround {
		return standing{s, at.n, at.seen}
	}
	return standing{s, at.n, 0}
}

// make judges. A panic is no more than a score that is missing.
func (s *scorer) make(ctx context.Context, at *subject) (score record.Score) {
	if s.asks {
		var span trace.Score
		ctx, span = trace.StartScore(ctx, s.name, at.run, at.n)
		defer func() { span.End(&score) }()
	}
	defer func() {
		if cause := recover(); cause != nil {
			score = record.Score{Run: at.run.ID, Name: s.name, Scorer: s.hash, Unscored: short(fmt.Sprintf("panic: %v", cause), maxAnswer)}
		}
	}()
	score = record.Score{Run: at.run.ID, Name: s.name, Scorer: s.hash}
	v := s.judge(s.within(ctx), at)
	if s.not {
		v = v.turned()
	}
	if v.answer == "" && s.needsAnswer && v.unscored == "" {
		v.answer = short(strings.TrimSpace(text(at.value)), maxAnswer)
	}
	if v.nothing {
		at.keepNothing(s.place(at))
	}
	v.write(&score)
	return score
}

// judge finds the target and the answer and compares.
func (s *scorer) judge(ctx context.Context, at *subject) verdict {
	at.begin()
	if s.pairs && at.run.Configuration == s.against {
		return isBaseline
	}
	if s.target != nil {
		target, err := s.target.Value(ctx, at)
		if err != nil {
			return unscored("target: %v", err)
		}
		at.target = target
	}
	if s.needsTarget && at.target == nil {
		return unscored("the target is missing")
	}
	if s.nothingToSee(at) {
		return s.ofNothing(ctx, at)
	}
	if !s.needsAnswer {
		return s.compare(ctx, at)
	}
	switch err := s.answer(ctx, at); {
	case err != nil:
		return unscored("%v", err)
	case isEmpty(at.value):
		return s.ofNothing(ctx, at)
	}
	return s.compare(ctx, at)
}

// ofNothing is the verdict where there is no answer.
func (s *scorer) ofNothing(ctx context.Context, at *subject) verdict {
	if s.pairs {
		return s.pairOfNothing(ctx, at)
	}
	return nothing
}

// nothingToSee: the scorer looks at an output, and there is none.
func (s *scorer) nothingToSee(at *subject) bool {
	if !s.readsOutput && !s.readsBest {
		return false
	}
	return !(s.readsOutput && !isEmpty(at.output(at.n))) && !(s.readsBest && at.best() > 0)
}

// answer leaves the answer as the subject's value.
func (s *scorer) answer(ctx context.Context, at *subject) error {
	if s.value == nil {
		at.value = at.output(at.n)
	} else {
		value, err := s.value.Value(ctx, at)
		if err != nil {
			return fmt.Errorf("value: %w", err)
		}
		at.value = value
	}
	if s.extract == nil || isEmpty(at.value) {
		return nil
	}
	value, err := s.extract(ctx, at)
	if err != nil {
		return fmt.Errorf("extract: %w", err)
	}
	at.value = value
	return nil
}
