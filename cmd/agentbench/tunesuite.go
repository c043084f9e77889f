package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// tuneRecording records a suite as its tuning needs it, and recommends from that.
func (p *program) tuneRecording(ctx context.Context, path string, f *tuneFlags) error {
	if f.suite != "" {
		return usage("leave it out", "--suite names the suite of a result folder, and %s is a suite", path)
	}
	o, err := p.openSuite(path, nil)
	if err != nil {
		return err
	}
	p.warn(o, nil)
	if f.termFlags.changed("seed") {
		o.Suite.Seed = f.seed
	}
	l, today, err := p.liveOf(o, f)
	if err != nil {
		return err
	}
	if f.plan {
		return p.planLive(l)
	}
	if f.edit {
		if err := p.unedited(o.Editable(today.Name)); err != nil {
			return err
		}
	}
	made, err := l.record(ctx)
	if err != nil {
		return err
	}
	if err := p.tuneRecorded(ctx, l, o, today, made, f); err != nil {
		return cmp.Or(made.ended, err)
	}
	return made.ended
}

// liveOf is what is to be recorded, and the configuration that is tuned.
func (p *program) liveOf(o *opened, f *tuneFlags) (*live, *spec.Resolved, error) {
	today, err := tunedIn(o, f.configuration)
	if err != nil {
		return nil, nil, err
	}
	axes, err := p.axesOf(o, today, f)
	if err != nil {
		return nil, nil, err
	}
	var scorers []string
	for i := range o.Suite.Scorers {
		scorers = append(scorers, o.Suite.Scorers[i].Name)
	}
	terms, err := p.terms(&f.termFlags, o.Suite.Tune, scorers)
	if err != nil {
		return nil, nil, err
	}
	if err := p.withoutComparing(o, &terms, f.quiet); err != nil {
		return nil, nil, err
	}
	l, err := p.openLive(o, today, axes, &terms, f.recordFlags.running(f.all))
	unusable := tuning{recordedRuns: &recordedRuns{program: p}, flags: f, suite: o}
	return l, today, unusable.fromSpec(unusable.unusable(err))
}

// tunedIn is the configuration of a suite whose loop is tuned.
func tunedIn(o *opened, name string) (*spec.Resolved, error) {
	var known []string
	for i := range o.Suite.Resolved {
		known = append(known, o.Suite.Resolved[i].Name)
	}
	wanted := cmp.Or(name, o.Suite.Baseline)
	if wanted == "" && len(known) == 1 {
		wanted = known[0]
	}
	found := o.Suite.Configuration(wanted)
	switch {
	case wanted == "":
		return nil, usage("there are: "+some(known), "%s has %d configurations and no baseline: --configuration names the one that is tuned", o.path, len(known))
	case found == nil:
		return nil, usage(didYouMean(wanted, known, "there are: "+some(known)), "%s has no configuration %q", o.path, wanted)
	}
	return found, nil
}

// axesOf are the parameters that are named, else the limits of the loop and of the
// suite's configurations that take its path.
func (p *program) axesOf(o *opened, today *spec.Resolved, f *tuneFlags) ([]sweep.Axis, error) {
	axes, err := p.named(f, o.Suite.Tune)
	if err != nil || len(axes) > 0 {
		return axes, err
	}
	var all []sweep.Base
	for i := range o.Suite.Resolved {
		all = append(all, sweep.Base{Name: o.Suite.Resolved[i].Name, Loop: o.Suite.Resolved[i].Loop})
	}
	axes = limitsOf(today.Loop, all, false)
	if !f.quiet {
		p.tellLoosest(o, today, axes)
	}
	return axes, nil
}

// planLive says what would be recorded.
func (p *program) planLive(l *live) error {
	planned, err := l.plan()
	if err != nil {
		return err
	}
	paths := "one configuration is recorded, under the loosest values"
	if n := len(l.paths); n > 1 {
		paths = fmt.Sprintf("%d configurations are recorded, each under the loosest values, because they need calls of their own; they race, so that the worse ones leave early", n)
	}
	notes := []string{paths}
	for i := range l.replayed {
		notes = append(notes, "replayed without a call: "+tried(&l.replayed[i]))
	}
	return p.tellPlan(l.opened, planned, notes)
}

// tried says which values of a parameter are tried. Counts that lie between ends
// are among those.
func tried(a *sweep.Axis) string {
	var values []string
	for i := range a.Between {
		values = append(values, fmt.Sprintf("from %v to %v", a.Between[i].From, a.Between[i].To))
	}
	for _, v := range a.Values {
		n, _ := sweep.Number(v.Text)
		among := func(e sweep.Ends) bool { return v.Kind == source.Int && n >= e.From && n <= e.To }
		if !slices.ContainsFunc(a.Between, among) {
			values = append(values, v.Text)
		}
	}
	return a.Path + " " + strings.Join(values, ", ")
}

// tuneRecorded recommends from what was recorded of the paths that are left.
func (p *program) tuneRecorded(ctx context.Context, l *live, o *opened, today *spec.Resolved, made *recording, f *tuneFlags) error {
	runs, err := p.openRecordedRuns(made.dir, &recordedFlags{suite: o.path})
	if err != nil {
		return err
	}
	runs.bases = []sweep.Base{{Name: today.Name, Loop: today.Loop}}
	t := &tuning{recordedRuns: runs, flags: f, suite: o, axes: l.axes}
	if err := firstFailing(t.ask, t.asked); err != nil {
		return err
	}
	if made.raced != nil {
		for _, line := range made.raced.Lines(printable) {
			t.options.About.Warnings = append(t.options.About.Warnings, tune.ReplayNote{Kind: tune.RaceTold, More: line})
		}
	}
	defer leanly()()
	if err := t.grid(); err != nil {
		return err
	}
	of, err := t.sweep(t.candidates)
	if err != nil {
		return err
	}
	if of, err = t.scored(ctx, of, f.cacheFlags); err != nil {
		return err
	}
	if !f.quiet {
		defer fmt.Fprintf(p.err, "\nrecorded: %s\nmore: agentbench tune %s --suite %s%s\n", made.dir, shellWord(made.dir), shellWord(o.path), f.again())
	}
	return t.choose(ctx, of)
}
