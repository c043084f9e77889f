package tune

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec"
)

// Source are configurations and what they make of recorded runs; a *sweep.Sweep
// is one.
type Source interface {
	Candidates() []sweep.Candidate
	Scores() []string
	Runs() []sweep.Run
	// Outcomes are those of a candidate, in the order of the runs.
	Outcomes(ctx context.Context, candidate int) ([]sweep.Outcome, error)
}

// Recorded are replays that know on which recording each candidate is replayed.
type Recorded interface {
	Source
	// Recordings are those that answer, each with the same runs in one order.
	Recordings() []sweep.Recording
	// Recording is the index of the one that a candidate is replayed on.
	Recording(ctx context.Context, candidate int) (int, error)
}

// Options are what the runs do not say.
type ReplayOptions struct {
	Suite      string
	Simulated  []string // models
	PricesAsOf string
	Warnings   []ReplayNote // on the recording, for example runs that were left out
}

// LabelRecorded is the label of what was recorded itself.
const LabelRecorded = "recorded"

// Collect holds every candidate against the recorded runs. What was recorded comes
// first, unless a candidate is that.
func Collect(ctx context.Context, of Recorded, o ReplayOptions) (*Replay, error) {
	r := &Replay{
		Schema: ReplaySchema, Suite: o.Suite, Recordings: []string{}, Scorers: append([]string{}, of.Scores()...),
		PricesAsOf: o.PricesAsOf, Configurations: []Configuration{},
	}
	candidates, recordings := of.Candidates(), of.Recordings()
	held := make([]*Held, len(recordings))
	for i := range recordings {
		held[i] = Hold(recordings[i].Runs, r.Scorers)
		name := recordings[i].Configuration
		r.Recordings = append(r.Recordings, name)
		if !slices.ContainsFunc(candidates, func(c sweep.Candidate) bool { return len(c.Params) == 0 && c.Name == name }) {
			r.Configurations = append(r.Configurations, held[i].asRecorded(name))
		}
	}
	for i := range candidates {
		c, err := replayed(ctx, of, i, held)
		if err != nil {
			return nil, fmt.Errorf("replaying %s: %w", candidates[i].Name, err)
		}
		r.Configurations = append(r.Configurations, c)
	}
	r.whole(held, o)
	return r, nil
}

// replayed is a candidate on the recording that it is replayed on.
func replayed(ctx context.Context, of Recorded, i int, held []*Held) (c Configuration, err error) {
	at, err := of.Recording(ctx, i)
	if err != nil {
		return c, err
	}
	outcomes, err := of.Outcomes(ctx, i)
	if err != nil {
		return c, err
	}
	candidate := &of.Candidates()[i]
	c = held[at].Configuration(candidate, outcomes)
	c.Recording = of.Recordings()[at].Configuration
	c.Recorded = len(c.Params) == 0 && c.Name == c.Recording
	return c, nil
}

// whole fills in what holds for all configurations.
func (r *Replay) whole(held []*Held, o ReplayOptions) {
	if len(held) == 0 {
		r.Warnings = append([]ReplayNote{}, o.Warnings...)
		return
	}
	first := held[0]
	r.Tasks, r.Runs, r.Clusters = len(first.Tasks), len(first.Runs), first.Clusters
	if slices.ContainsFunc(held, func(b *Held) bool { return b.Simulated }) {
		r.Simulated = o.Simulated
	}
	r.Warnings = append(r.wholeNotes(held), o.Warnings...)
}

// asRecorded is what was recorded.
func (b *Held) asRecorded(name string) Configuration {
	c := b.Configuration(&sweep.Candidate{Name: name}, b.Recorded)
	c.Recording, c.Recorded, c.Label = name, true, LabelRecorded
	return c
}

// Configuration is what a candidate makes of the runs.
func (b *Held) Configuration(candidate *sweep.Candidate, outcomes []sweep.Outcome) Configuration {
	c := Configuration{
		Name: candidate.Name, Params: Params(candidate.Params), Runs: len(outcomes), Scores: []Score{}, Warnings: []ReplayNote{},
		Stops: StopCounts(outcomes), Unknown: Unknowns(outcomes),
	}
	label := replay.PointExact
	for i := range outcomes {
		o := &outcomes[i]
		label = max(label, o.Label())
		c.Exact += count(o.Verdict == replay.Exact && !o.Excluded())
		c.Faults += count(o.Excluded())
		c.Censored += count(o.Verdict == replay.Censored)
		c.Branches += count(o.Verdict == replay.Branches)
		c.Told += count(o.Told)
	}
	c.Label = label.String()
	for s := range b.Scores {
		c.Scores = append(c.Scores, b.score(s, outcomes, label == replay.PointExact))
	}
	b.amounts(&c, outcomes)
	c.note()
	return c
}

// primary is the score that says what a success is, "" where nothing is scored.
func (r *Replay) primary() string {
	if len(r.Scorers) == 0 {
		return ""
	}
	return r.Scorers[0]
}

// Params are those of a candidate as records have them.
func Params(params []spec.Param) (all []record.Param) {
	for _, p := range params {
		value, err := json.Marshal(p.Value)
		if err != nil {
			value = []byte("null")
		}
		all = append(all, record.Param{Path: p.Path, Value: value})
	}
	return all
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
