package choose

import (
	"context"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec/expr"
)

// Source are candidates and what they make of recorded runs; a *sweep.Sweep is
// one.
type Source interface {
	tune.Source
	// Totals visits every candidate, several at a time, with its sums over every part
	// of the runs: part[i] is that of run i.
	Totals(ctx context.Context, part []int, parts int, visit func(candidate int, totals []sweep.Totals)) error
	// Sums are those of one candidate over other parts of the runs.
	Sums(ctx context.Context, candidate int, parts *sweep.Parts) ([]sweep.Totals, error)
	// Recordings are those that answer, and Recording is the one that a candidate is replayed on. The first, 0, has
	// the Runs, and is the reference that losses are counted against; Lead makes
	// another one the first.
	Recordings() []sweep.Recording
	Recording(ctx context.Context, candidate int) (int, error)
	Lead(recording int)
}

// Options say how to choose. The zero value has all defaults.
type Options struct {
	// Objective is CEL over the metrics of a configuration ([expr.Objective]);
	// nil: the mean of the first score, or, where nothing is scored, the share of
	// runs that the loop believes in. The larger is the better unless Minimize.
	Objective *Term
	Minimize  bool
	// Constraints are CEL over the same metrics; all have to hold.
	Constraints []Term
	Choose      By
	// Folds is into how many parts the tasks are put, to choose by all but one and
	// report on that one; 0: 5, below 0: none. By says which tasks belong together
	// ([expr.Fold]): a whole number g is fold g mod Folds, tasks of another equal
	// value share a fold that the seed deals out; nil: the cluster of a task, or
	// the task.
	Folds int
	By    *Term
	// HoldOut is the share of the tasks that are held out instead, above 0 and below
	// 1; 0: none are. The choice is then made on the other tasks alone, and Folds is
	// not read. By and the clusters group tasks as above; all tasks of one whole
	// number are on one side.
	HoldOut float64
	Seed    uint64
	// Today is the number of the candidate that is today's configuration; below 0:
	// none is.
	Today int
	// All describes every candidate that can be chosen, not only those on the front.
	All bool
	// Level is that of intervals and bounds; 0: 0.95.
	Level float64
	About tune.ReplayOptions
	// Tuned is the configuration whose parameters are tried; "": there are several.
	Tuned string
}

// Term is an expression as it was written, and compiled.
type Term struct {
	Text string
	*expr.Program
}

// By says by which rule, with which number, and what is cheap.
type By struct {
	Rule   Rule    // "": MaxLoss
	Number float64 // most loss, or least share; 0 with the rule "": DefaultMaxLoss
	// Cost is CEL over the metrics; nil: the mean cost in USD where all of it is
	// known, else the tokens, else the iterations.
	Cost *Term
}
