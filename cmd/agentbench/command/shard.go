package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
)

// shardFlags say which part of a suite is run here.
type shardFlags struct{ shard string }

func (f *shardFlags) declare(c *cobra.Command) {
	c.Flags().StringVar(&f.shard, "shard", "", "run part `I/N` of the tasks; auto reads it from the variables of the CI system or Kubernetes")
}

// shardPlan narrows a plan to the shard that the flags name, and the suite's
// limits to its share.
func (p *program) shardPlan(o *opened, planned *plan.Plan, f *shardFlags) error {
	if f.shard == "" {
		return nil
	}
	shard, err := p.shardNamed(f)
	if err != nil {
		return err
	}
	if err := planned.Shard(shard, o.Tasks()); err != nil {
		if few := (*plan.FewTasksError)(nil); errors.As(err, &few) {
			return exit.Usage(fmt.Sprintf("at most %d shards", few.Tasks), "--shard %s: %w", f.shard, err)
		}
		return exit.With(exit.WrongSpec, "", "%w", err)
	}
	const hint = "take fewer shards, or allow more; all shards together never get more than the suite allows"
	if o.Suite.Budget, err = planned.Part.Budget(o.Suite.Budget); err != nil {
		return exit.Usage(hint, "%w", err)
	}
	for i := range o.Suite.Models {
		m := &o.Suite.Models[i]
		if m.Value, err = planned.Part.Rates(page.Visible(m.Key), m.Value); err != nil {
			return exit.Usage(hint, "%w", err)
		}
	}
	return nil
}

// shardNamed reads --shard, which from then on is a plain i/n.
func (p *program) shardNamed(f *shardFlags) (plan.Shard, error) {
	if f.shard == "auto" {
		shard, err := results.ShardOfMachine(p.env)
		f.shard = shard.String()
		return shard, err
	}
	shard, err := plan.ParseShard(f.shard)
	if err != nil {
		return shard, exit.Usage("--shard 1/3 is the first of three", "--shard %s: %w", f.shard, err)
	}
	return shard, nil
}
