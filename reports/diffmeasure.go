package reports

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

func newComparison(base, new *Report, options *DiffOptions) *Comparison {
	filled := options.Filled()
	c := &Comparison{
		Schema: DiffSchema, Suite: new.Suite, Alpha: filled.Alpha, ScoreMargin: max(0, filled.ScoreMargin), RatioMargin: max(0, filled.RatioMargin),
		Pairs: []Pair{}, Spec: options.Spec, Warnings: []Warning{}, margins: options.Margins,
		base: base, new: new,
	}
	if c.Spec == nil {
		c.Spec = []SpecDifference{}
	}
	if primary := new.Primary(); slices.Contains(base.Scorers, primary) {
		c.Primary = primary
	}
	c.Incomplete = new.Incomplete
	if base.Incomplete != "" && base != new {
		c.Incomplete = strings.Join(slices.DeleteFunc([]string{"base: " + base.Incomplete, new.Incomplete}, func(text string) bool { return text == "" }), "; ")
	}
	c.Simulated = slices.Compact(slices.Sorted(slices.Values(slices.Concat(base.Simulated, new.Simulated))))
	return c
}

// compare fills the pairs. The values of one base and one new configuration at
// a time are in columns.
func (c *Comparison) compare(base, new *Report, couples []couple, options *DiffOptions) error {
	c.couples = couples
	results := make([]*compare.Result, len(couples))
	var x *compare.Side
	for i, of := range couples {
		if i == 0 || of.base != couples[i-1].base {
			x = base.side(of.base)
		}
		y := new.side(of.new)
		result, err := compare.Sides(x, y, options.Options)
		switch {
		case errors.Is(err, compare.ErrNoCommonTask):
			result = &compare.Result{Pairing: compare.Pairing{OnlyBase: len(x.Tasks), OnlyNew: len(y.Tasks)}}
		case err != nil:
			return err
		}
		results[i] = result
		c.Pairs = append(c.Pairs, newPair(base, new, of, options))
		c.Pairs[i].How, c.Pairs[i].Flips = pairedHow(&result.Pairing, options), flipsOf(x, y, result)
	}
	if !slices.ContainsFunc(results, func(r *compare.Result) bool { return len(r.Lines) > 0 }) {
		return nothingCommon(base, new, couples[0], options)
	}
	c.Correction = compare.Correct(results, options.Options)
	for i, of := range couples {
		for l := range results[i].Lines {
			c.Pairs[i].Differences = append(c.Pairs[i].Differences, difference(&results[i].Lines[l]))
		}
		c.Pairs[i].warn(base, new, of)
	}
	return nil
}

func nothingCommon(base, new *Report, of couple, options *DiffOptions) error {
	x, y := &base.Configurations[of.base], &new.Configurations[of.new]
	for _, side := range []struct {
		of    *Configuration
		where string
	}{{x, place(options.BaseName, "the base")}, {y, place(options.NewName, "the new side")}} {
		if side.of.Runs == 0 {
			return fmt.Errorf("%w: configuration %q of %s has no run that counts", compare.ErrNoCommonTask, side.of.Name, side.where)
		}
	}
	return fmt.Errorf("%w: %d of suite %q, %d of suite %q", compare.ErrNoCommonTask, x.Tasks, base.Suite, y.Tasks, new.Suite)
}

func newPair(base, new *Report, of couple, options *DiffOptions) Pair {
	x, y := &base.Configurations[of.base], &new.Configurations[of.new]
	return Pair{
		Name: y.Name, Base: pairSide(x, options.BaseName), New: pairSide(y, options.NewName),
		Differences: []Difference{}, Warnings: []Warning{},
	}
}

func pairSide(c *Configuration, where string) PairSide {
	return PairSide{
		Where: where, Configuration: c.Name, Aliases: c.Aliases,
		Tasks: c.Tasks, Runs: c.Runs, Expected: c.Expected, Coverage: c.Coverage,
	}
}

func pairedHow(p *compare.Pairing, options *DiffOptions) PairedHow {
	how := PairedHow{
		Paired: p.Paired, Tasks: p.Common, Runs: p.Runs,
		BaseOnly: p.OnlyBase, NewOnly: p.OnlyNew, LoneBase: p.LoneBase, LoneNew: p.LoneNew,
	}
	switch {
	case p.Paired:
	case options.Unpaired:
		how.Why = "that was asked for"
	case p.Common == 0:
		how.Why = "no task is common"
	case p.Runs == 0:
		how.Why = "no trial is common"
	default:
		how.Why = fmt.Sprintf("only %s common", page.Plural(p.Common, "task is", "tasks are"))
	}
	return how
}

func difference(l *compare.Line) Difference {
	number := func(x float64) page.Value {
		v := page.ValueOf(x, true)
		if !v.Known() && l.Missing != "" {
			v.Missing = l.Missing
		}
		return v
	}
	return Difference{
		Sequential: sequential(l.Sequential), Quantity: l.Name, Score: !l.Ratio, Base: number(l.Base), New: number(l.New),
		Change: number(l.Change), Low: number(l.Low), High: number(l.High), Relative: l.Relative,
		P: number(l.P), Adjusted: number(l.Adjusted), Test: l.Test, Method: l.Method, Paired: l.Paired,
		Tasks: l.Tasks, BaseTasks: l.BaseTasks, Runs: l.Runs, LeftOut: l.LeftOut, Wins: l.Wins, Losses: l.Losses, Ties: l.Ties,
		Verdict: l.Verdict, Margin: page.Raw(l.Margin), NotWorse: l.NotWorse, Needed: l.Needed, TooFew: l.TooFew, few: tooFew(l),
		Clusters: l.Clusters, ClustersNeeded: l.ClustersNeeded, Contrary: l.Contrary,
	}
}

// sequential is nil where none was asked for.
func sequential(q *compare.Sequential) *Sequential {
	if q == nil {
		return nil
	}
	s := &Sequential{Evidence: page.ValueOf(q.Evidence, true), Needed: q.Needed, Units: q.Units, After: q.After, Verdict: q.Verdict}
	if q.Missing != "" {
		s.Evidence = page.Missing(q.Missing)
	}
	return s
}

// tooFew tells how many tasks differ, or clusters of them.
func tooFew(l *compare.Line) Warning {
	w := Warning{Kind: TooFewDiffer, Name: "task", Count: l.Differing, Of: l.Fewest}
	if l.Clusters > 0 {
		w.Name = "cluster"
	}
	return w
}

// flipsOf tells the tasks that changed, score by score, and the ids of their
// runs, which follow from what they are of.
func flipsOf(base, new *compare.Side, result *compare.Result) []Flip {
	flips := []Flip{}
	for i := range result.Lines {
		l := &result.Lines[i]
		for _, f := range l.Flips {
			flips = append(flips, Flip{
				Score: l.Name, Task: f.Task, Base: page.Known(f.Base), New: page.Known(f.New),
				BaseRuns: runIDs(base, f.BaseAt), NewRuns: runIDs(new, f.NewAt),
				worse: (f.New < f.Base) != l.Lower,
			})
		}
		l.Flips = nil
	}
	return flips
}

func runIDs(s *compare.Side, task int32) []string {
	trials := s.Trials[s.Starts[task]:s.Starts[task+1]]
	ids := make([]string, len(trials))
	for i, trial := range trials {
		ids[i] = record.RunID(s.Name, s.Tasks[task], int(trial))
	}
	return ids
}
