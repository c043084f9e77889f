package command

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
)

// shardFlags say which part of a suite is run here.
type shardFlags struct{ shard, weights string }

func (f *shardFlags) declare(c *cobra.Command) {
	c.Flags().StringVar(&f.shard, "shard", "", "only part i of n of the tasks, as i/n; auto takes it from the variables of the CI system or of Kubernetes")
	c.Flags().StringVar(&f.weights, "shard-weights", "", "deal the tasks by their durations in these earlier results, not by a hash of their ids")
}

// dealPlan narrows a plan to the shard that the flags name, and the suite's
// limits to its share.
func (p *program) dealPlan(o *opened, planned *plan.Plan, f *shardFlags) error {
	if f.shard == "" {
		if f.weights != "" {
			return exit.Usage("for example --shard 1/3 --shard-weights "+exit.ShellWord(f.weights), "--shard-weights means nothing without --shard")
		}
		return nil
	}
	shard, err := p.shardNamed(f)
	if err != nil {
		return err
	}
	weights, err := durationsIn(f.weights)
	if err != nil {
		return err
	}
	if err := planned.Shard(shard, o.Tasks(), weights); err != nil {
		return undealt(f, err)
	}
	return shareLimits(o.Suite, planned.Part)
}

// shardNamed reads --shard, which from then on is a plain i/n.
func (p *program) shardNamed(f *shardFlags) (plan.Shard, error) {
	if f.shard == "auto" {
		shard, err := p.shardOfMachine()
		f.shard = shard.String()
		return shard, err
	}
	shard, err := plan.ParseShard(f.shard)
	if err != nil {
		return shard, exit.Usage("--shard 1/3 is the first of three", "--shard %s: %w", f.shard, err)
	}
	return shard, nil
}

// undealt says why the tasks could not be dealt.
func undealt(f *shardFlags, err error) error {
	var few *plan.FewTasksError
	switch {
	case errors.As(err, &few):
		return exit.Usage(fmt.Sprintf("at most %d shards", few.Tasks), "--shard %s: %w", f.shard, err)
	case errors.Is(err, plan.ErrNoWeight):
		return exit.Usage("without --shard-weights tasks are dealt by a hash of their ids", "--shard-weights %s: %w", f.weights, err)
	}
	return exit.With(exit.WrongSpec, "", "%w", err)
}

// shareLimits leaves a suite the part's share of its budget and of the rates of
// its models.
func shareLimits(s *spec.Suite, part *plan.Part) error {
	const hint = "take fewer shards, or allow more; all shards together never get more than the suite allows"
	var err error
	if s.Budget, err = part.Budget(s.Budget); err != nil {
		return exit.Usage(hint, "%w", err)
	}
	for i := range s.Models {
		m := &s.Models[i]
		if m.Value, err = part.Rates(page.Visible(m.Key), m.Value); err != nil {
			return exit.Usage(hint, "%w", err)
		}
	}
	return nil
}

// durationsIn are how long the runs of each task took in earlier results, in the
// mean; nil where no results are named.
func durationsIn(path string) (map[string]time.Duration, error) {
	if path == "" {
		return nil, nil
	}
	earlier, err := record.Open(path)
	if err != nil {
		return nil, exit.Usage(results.Hint(path), "--shard-weights %s: %w", path, err)
	}
	return meanDurations(earlier.Signals())
}

// meanDurations are the means over the runs that count.
func meanDurations(signals iter.Seq2[*record.Signals, error]) (map[string]time.Duration, error) {
	type sum struct {
		elapsed time.Duration
		runs    int64
	}
	sums := map[string]sum{}
	for s, err := range signals {
		if record.Unreadable(err) {
			return nil, exit.With(exit.NotMeasured, "", "reading the weights: %w", err)
		}
		if err == nil && s.Outcome.Counts() && !s.Untimed {
			of := sums[s.Task]
			sums[s.Task] = sum{of.elapsed + s.Elapsed, of.runs + 1}
		}
	}
	means := make(map[string]time.Duration, len(sums))
	for task, of := range sums {
		means[task] = of.elapsed / time.Duration(of.runs)
	}
	return means, nil
}

// shardVariable names a shard as i/n wherever nothing else does, and before all
// else.
const shardVariable = "AGENTBENCH_SHARD"

// shardVariables are where --shard auto looks, in this order. The first index
// that is set decides.
var shardVariables = []struct {
	system string
	index  string
	first  int      // what the index of the first shard is
	of     []string // the first that is set
}{
	{"a Kubernetes indexed Job", "JOB_COMPLETION_INDEX", 0, []string{"AGENTBENCH_SHARDS", "JOB_COMPLETIONS"}},
	{"GitLab", "CI_NODE_INDEX", 1, []string{"CI_NODE_TOTAL"}},
	{"CircleCI", "CIRCLE_NODE_INDEX", 0, []string{"CIRCLE_NODE_TOTAL"}},
	{"Buildkite", "BUILDKITE_PARALLEL_JOB", 0, []string{"BUILDKITE_PARALLEL_JOB_COUNT"}},
}

// shardOfMachine reads the shard from the variables of the system that runs the
// program.
func (p *program) shardOfMachine() (plan.Shard, error) {
	if text := p.env(shardVariable); text != "" {
		shard, err := plan.ParseShard(text)
		if err != nil {
			return shard, exit.Usage(shardVariable+"=1/3 is the first of three", "%s=%s: %w", shardVariable, page.Visible(text), err)
		}
		return shard, nil
	}
	for _, v := range shardVariables {
		index := p.env(v.index)
		if index == "" {
			continue
		}
		name, of := p.firstSet(v.of)
		if of == "" {
			return plan.Shard{}, exit.Usage("set "+name+" to the number of shards, for "+v.system+" its completions", "--shard auto: %s is set, but not how many shards there are", v.index)
		}
		number, err := strconv.Atoi(index)
		if err != nil {
			return plan.Shard{}, exit.Usage("", "--shard auto: %s=%s: want a whole number", v.index, page.Visible(index))
		}
		shard, err := plan.ShardOf(strconv.Itoa(number-v.first+1), of)
		if err != nil {
			return shard, exit.Usage("", "--shard auto: %s=%s and %s=%s: %w", v.index, page.Visible(index), name, page.Visible(of), err)
		}
		return shard, nil
	}
	if p.env("CI_NODE_TOTAL") == "1" { // GitLab, of a job without parallel
		return plan.Shard{Number: 1, Of: 1}, nil
	}
	return plan.Shard{}, exit.Usage("set "+shardVariable+"=i/n, or name the shard: --shard 1/3", "--shard auto: none of the variables is set that %s",
		"Kubernetes, GitLab, CircleCI and Buildkite number jobs with")
}

// firstSet is the first variable that is set; where none is, the name of the first.
func (p *program) firstSet(names []string) (name, value string) {
	for _, name := range names {
		if value := p.env(name); value != "" {
			return name, value
		}
	}
	return names[0], ""
}
