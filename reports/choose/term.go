package choose

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

// term is an expression over metrics, or one of the defaults, which need no
// expression.
type term struct {
	text    string
	program *Term
	native  func(s *sums) float64 // NaN where it is not known
	// why says why it is not the usual default, "" where it is.
	why string
}

// of is its value; NaN where it reads what is not known, and why says so.
func (t *term) of(ctx context.Context, m *metrics) (value float64, why string) {
	if t.native != nil {
		if value = t.native(m.sums); math.IsNaN(value) {
			return value, t.text + " is not known"
		}
		return value, ""
	}
	m.missing = ""
	value, err := t.program.Number(ctx, m)
	if err != nil {
		return math.NaN(), m.because(t.text, err)
	}
	return value, ""
}

// because is why an expression has no value.
func (m *metrics) because(text string, err error) string {
	if m.missing != "" {
		return m.missing
	}
	return fmt.Sprintf("%s: %v", text, err)
}

// holds says whether a constraint does.
func holds(ctx context.Context, t *Term, m *metrics) (ok bool, why string) {
	m.missing = ""
	ok, err := t.Bool(ctx, m)
	if err != nil {
		return false, m.because(t.Text, err)
	}
	return ok, ""
}

// objective is what was asked for, or the mean of a score.
func objective(asked *Term, scores []string, score int) term {
	if asked != nil {
		return term{text: asked.Text, program: asked}
	}
	text := fmt.Sprintf("scores[%q].mean", scores[score])
	return term{text: text, native: func(s *sums) float64 {
		if v := s.score(score); v.Known() {
			return v.Number
		}
		return math.NaN()
	}}
}

// costTerm is what was asked for, or what of the usual is known of the recording.
func costTerm(asked *Term, known usageKnown) term {
	perRun := func(total func(s *sums) float64) func(s *sums) float64 {
		return func(s *sums) float64 { return total(s) / s.runs }
	}
	switch {
	case asked != nil:
		return term{text: asked.Text, program: asked}
	case known.cost:
		return term{text: "cost_usd.mean", native: perRun(func(s *sums) float64 { return numberOf(s.cost()) })}
	case known.tokens:
		return term{text: "tokens.mean", why: "the cost in USD is not known", native: perRun(func(s *sums) float64 { return numberOf(s.usedTokens()) })}
	}
	return term{text: "iterations.mean", why: "neither the cost in USD nor the tokens are known", native: perRun(func(s *sums) float64 { return s.iterations })}
}

// reads are the paths that the terms of a tuning read.
func (o *Options) reads() (paths []string) {
	terms := append([]*Term{o.Objective, o.Choose.Cost}, pointers(o.Constraints)...)
	for _, t := range terms {
		if t != nil {
			paths = append(paths, t.Reads()...)
		}
	}
	return paths
}

// ScoresRead are the scores that the terms of a tuning read, where the usual objective
// reads the first one.
func (o *Options) ScoresRead(first string) (names []string) {
	if o.Objective == nil {
		names = append(names, first)
	}
	for _, path := range o.reads() {
		if name, ok := scoreNamed(path); ok {
			names = append(names, name)
		}
	}
	return names
}

func pointers(terms []Term) (all []*Term) {
	for i := range terms {
		all = append(all, &terms[i])
	}
	return all
}

// readsQuantiles says that a path needs every run, not sums.
func readsQuantiles(paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return strings.HasSuffix(path, ".p50") || strings.HasSuffix(path, ".p95") })
}

// scoreRead is the first score, in their order, that a term reads; -1: none.
func scoreRead(t *Term, scores []string) int {
	if t == nil {
		return -1
	}
	reads := t.Reads()
	return slices.IndexFunc(scores, func(name string) bool {
		return slices.ContainsFunc(reads, func(path string) bool {
			return path == "scores."+name || strings.HasPrefix(path, "scores."+name+".")
		})
	})
}

// scoreNamed is the score that a path reads.
func scoreNamed(path string) (name string, ok bool) {
	name, ok = strings.CutPrefix(path, "scores.")
	for _, field := range []string{".mean", ".n"} {
		name = strings.TrimSuffix(name, field)
	}
	return name, ok
}

// UnknownScoreError says that an expression reads a score that nothing gives.
type UnknownScoreError struct {
	Name  string
	Known []string
}

// Error names those that there are.
func (e *UnknownScoreError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("no score is called %q: nothing is scored", e.Name)
	}
	return fmt.Sprintf("no score is called %q; there is %s", e.Name, strings.Join(e.Known, ", "))
}
