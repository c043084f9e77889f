package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
)

type replayFlags struct {
	set  []spec.Setting
	axes []sweep.Axis
	recordedFlags
	reportFlags
	cacheFlags
}

func (p *program) replayCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:     "replay DIR[:CONFIGURATION]",
		Short:   "Evaluate configurations on recorded runs, without model calls",
		GroupID: "look",
		Long: `Applies other configurations to recorded runs. Each stop decision is computed again from the
recorded history, exactly: no agent is called and nothing is estimated. The labels of a configuration:

  exact           every run would have stopped at a recorded iteration
  bounded         some runs would have continued past the end of the recording: an interval
  needs calls     some runs would have sent or evaluated something else from an iteration on
  counterfactual  a changed limit was announced to the agent, so its behaviour is unknown

--set changes a parameter; several --set make one configuration. --parameter tries values: a list, a
range from..to (only values that make a difference on the recorded runs), or both as in 1..9,off;
several --parameter multiply.
Without either, every recorded configuration is replayed; with DIR:CONFIGURATION, on the runs of
that configuration.

Scorers with score: when_asked score the returned iterations that have no score yet. This may take
calls, which use the cache and count against the suite's budget; --cache only makes no calls.`,
		Example: `  agentbench replay results/nightly --set terminate.max_iterations=5
  agentbench replay results/nightly --parameter terminate.max_iterations=1..10 --parameter terminate.no_improvement.patience=2,3,off
  agentbench replay results/nightly:careful`,
		Args: arguments(1, 1, "one result folder"),
		RunE: func(c *cobra.Command, args []string) error { return p.replay(c.Context(), args[0], &f) },
	}
	setFlag(c, &f.set, "set a parameter")
	axisFlag(c, &f.axes, "try values of a parameter: path=a,b,c or path=from..to, or both (repeatable)")
	f.recordedFlags.declare(c)
	f.reportFlags.declare(c, tune.ReplayTableNames)
	f.cacheFlags.declare(c)
	return c
}

func (p *program) replay(ctx context.Context, place string, f *replayFlags) error {
	set, axes := assigned(f.set), f.axes
	r, err := p.openRecordedRuns(place, &f.recordedFlags)
	if err != nil {
		return err
	}
	defer r.shared.Close()
	r.Faults = true
	if len(set)+len(axes) == 0 && len(f.configurations) == 0 {
		r.Bases = r.All()
	}
	candidates, err := r.Candidates(set, axes)
	if err != nil {
		return err
	}
	s, err := r.Sweep(candidates)
	if err != nil {
		return err
	}
	if s, err = r.scored(ctx, s, f.cacheFlags); err != nil {
		return err
	}
	m := &r.Folder.Manifest
	told, err := tune.Collect(ctx, s, tune.ReplayOptions{Suite: m.Suite, Simulated: m.Simulated, PricesAsOf: m.PricesAsOf, Warnings: r.left()})
	if err != nil {
		return exit.With(exit.Stopped, "", "%w", err)
	}
	r.keepFound(ctx)
	return p.write(told, &f.reportFlags)
}
