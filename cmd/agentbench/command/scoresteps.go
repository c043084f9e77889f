package command

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/overview"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/scorers/pass"
)

// atStep is the word for the moments at which calls of programs arrive.
const atStep = "step"

// steps scores what programs had left when their calls arrived, and tells what was done.
func (s *scoring) steps(ctx context.Context) error {
	steps, left, err := s.stepPass()
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	done, err := s.makeSteps(ctx, steps)
	if err != nil {
		return exit.Unmeasured(err)
	}
	if err := s.tellSteps(done, left); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return exit.With(exit.Stopped, "finished scores are saved; rerun the same command to continue", "interrupted")
	case done.Runs == 0:
		return exit.With(exit.NotMeasured, "workspace: {snapshot: step} keeps them, of programs with models", "no run of %s has states of its workspace at steps", s.dir)
	case done.Taskless == done.Runs:
		return exit.With(exit.NotMeasured, "name the suite of the runs: agentbench score "+exit.ShellWord(s.dir)+" SUITE --at step", "no state could be scored: the tasks are not in the folder")
	case done.Unknown == done.Distinct && !s.flags.dry:
		return exit.With(exit.NotMeasured, "", "no state could be scored: %s", done.Why)
	case !s.flags.dry && !slices.ContainsFunc(done.Scorers, func(c pass.StepCount) bool { return c.Kept+c.Made > 0 }):
		return exit.With(exit.NotMeasured, "", "no state could be scored: %s", done.Scorers[0].Reason)
	}
	return nil
}

// scoreSteps makes the scores at steps of the scorers that are declared with at: step. Tables show what has none.
func (p *program) scoreSteps(ctx context.Context, j *job) error {
	var names []string
	for i := range j.Suite.Scorers {
		if j.Suite.Scorers[i].At == atStep {
			names = append(names, j.Suite.Scorers[i].Name)
		}
	}
	if names == nil {
		return nil
	}
	m, err := p.openManifest(j.dir)
	if err != nil {
		return err
	}
	s := &scoring{
		program: p, dir: j.dir, manifest: m, suite: j.Document, edited: true,
		flags: &scoreFlags{scorers: names, concurrency: workers(j.Suite), q: true},
	}
	if err := s.prepare(); err != nil {
		return err
	}
	steps, _, err := s.stepPass()
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	if !j.flags.quiet {
		fmt.Fprintf(p.err, "scoring what workspaces held at steps, by %s\n", page.Visible(exit.Some(names)))
	}
	if _, err = s.makeSteps(ctx, steps); err == nil && ctx.Err() != nil {
		return exit.With(exit.Stopped, "the runs are saved; finish with: agentbench score "+exit.ShellWord(j.dir)+" "+exit.ShellWord(j.path)+" --at step", "interrupted while states at steps were scored")
	}
	return exit.Unmeasured(err)
}

// stepPass is the pass that is asked for. Left are the scorers that would call models or endpoints.
func (s *scoring) stepPass() (steps *pass.Steps, left []string, err error) {
	found := &results.Snapshots{}
	if !s.flags.again {
		if found, err = results.OpenSnapshots(s.dir); err != nil {
			return nil, nil, err
		}
	}
	all := s.suite.Suite
	var judging []string
	for i := range all.Scorers {
		switch name := all.Scorers[i].Name; {
		case !slices.Contains(s.judging, name):
		case all.Scorers[i].AsksModels(all.Scorers):
			left = append(left, name)
		default:
			judging = append(judging, name)
		}
	}
	if len(judging) == 0 {
		return nil, nil, exit.Usage("scorers that call models or endpoints judge outputs only", "%s has no scorer that judges what programs left", s.dir)
	}
	steps = &pass.Steps{
		Dir: s.dir, Set: s.set.Only(func(name string) bool { return slices.Contains(judging, name) }), Found: found, Dry: s.flags.dry,
		Loop: s.folder.Stepped, Cut: s.parts.Cutting(found), Workers: runtime.GOMAXPROCS(0),
		Key: s.parts.StateKey, Tasks: s.folder.Tasks(),
	}
	if s.flags.concurrency > 0 {
		steps.Workers = s.flags.concurrency
	}
	return steps, left, nil
}

// makeSteps scores while the folder is held.
func (s *scoring) makeSteps(ctx context.Context, steps *pass.Steps) (done *pass.StepCounts, err error) {
	if s.flags.dry {
		return steps.Make(ctx, nil)
	}
	err = s.held(func(journal *record.Journal) (err error) {
		done, err = steps.Make(ctx, journal)
		return err
	})
	return done, err
}

// tellSteps writes what a pass over states found and did.
func (s *scoring) tellSteps(done *pass.StepCounts, left []string) error {
	var all []overview.Scored
	for _, c := range done.Scorers {
		all = append(all, overview.Scored{Scorer: c.Name, Version: c.Hash, Kept: c.Kept, Made: c.Made, Unscored: c.Unscored, ToDo: c.Wanted, Reason: s.secrets.String(c.Reason)})
	}
	head := fmt.Sprintf("%s of %s, %d of them different within their run", page.Plural(done.States, "state", "states"), page.Plural(done.Runs, "run", "runs"), done.Distinct)
	if err := s.write(overview.Scores(s.dir, head, all, s.flags.dry, true), &s.flags.reportFlags); err != nil {
		return err
	}
	if s.flags.q {
		return nil
	}
	if done.Unknown > 0 {
		fmt.Fprintf(s.err, "agentbench: warning: %s not scored, one of the reasons: %s\n", page.Plural(done.Unknown, "state is", "states are"), page.Visible(done.Why))
	}
	if done.Taskless > 0 && done.Taskless < done.Runs {
		fmt.Fprintf(s.err, "agentbench: warning: %s of tasks that are not available, and not scored\n", page.Plural(done.Taskless, "run is", "runs are"))
	}
	for _, c := range s.manifest.Configurations { // of some, only they themselves could evaluate states
		if l := s.folder.Loop(c.Name); l != nil && l.Workspace.BySteps() {
			if why := l.Evaluate.Elsewhere(); why != "" {
				fmt.Fprintf(s.err, "states of %s are scored and not evaluated, because %s: replay and tune need calls for them\n", page.Visible(c.Name), why)
			}
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(s.err, "not scored at steps, because they call models or endpoints: %s\n", page.Visible(exit.Some(left)))
	}
	if !s.flags.dry {
		fmt.Fprintf(s.err, "score by limit of steps: agentbench report %s --table steps\n", exit.ShellWord(s.dir))
	}
	return nil
}
