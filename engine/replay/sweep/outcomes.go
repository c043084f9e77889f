package sweep

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/spec"
)

// Outcomes are what a candidate makes of each run, in the order of Runs. The
// error is that of the context.
func (s *Sweep) Outcomes(ctx context.Context, candidate int) ([]Outcome, error) {
	on, err := s.fit(ctx, candidate)
	if err != nil {
		return nil, err
	}
	if f := s.of[candidate]; f.points != nil && !s.told(candidate, on) {
		return s.along(ctx, candidate, f)
	}
	return s.outcomes(ctx, candidate, on)
}

// along are those on the paths of the candidate's family.
func (s *Sweep) along(ctx context.Context, candidate int, f *family) ([]Outcome, error) {
	if err := s.walk(ctx, f); err != nil {
		return nil, err
	}
	stops, r := replay.NewStops(s.candidates[candidate].Declared()), &s.recordings[f.recording]
	asIf := func(i int, result *replay.Result) *record.Run { return f.paths[i].AsIf(r.Runs[i].Run, result) }
	if !s.judgesAlike(candidate, f.recording) {
		asIf = nil
	}
	return r.outcomes(ctx, func(i int) replay.Result { return stops.Along(&f.paths[i]) }, asIf)
}

// judgesAlike reports whether the best iteration is found alike in a candidate and a
// recording, so that whoever judges recorded runs can judge those of the candidate.
func (s *Sweep) judgesAlike(candidate, on int) bool {
	checklist := func(l *spec.Loop) bool { return l.Pattern == spec.PatternChecklist }
	return checklist(s.candidates[candidate].Declared()) == checklist(s.recordings[on].Loop)
}

// outcomes are those on a recording, by a walk of its own.
func (s *Sweep) outcomes(ctx context.Context, candidate, on int) ([]Outcome, error) {
	r := &s.recordings[on]
	replayed := s.options.replay(r.Loop, s.candidates[candidate].Declared(), r.Announced...)
	asIf := func(i int, _ *replay.Result) *record.Run {
		_, made := replayed.AsIf(ctx, r.Runs[i].Run, r.Runs[i].Task)
		return made
	}
	if !s.judgesAlike(candidate, on) {
		asIf = nil
	}
	return r.outcomes(ctx, func(i int) replay.Result { return replayed.Run(ctx, r.Runs[i].Run, r.Runs[i].Task) }, asIf)
}

// outcomes are results with what they are worth. asIf gives the runs that are left
// behind, nil where nobody can judge them.
func (r *Recording) outcomes(ctx context.Context, replayed func(run int) replay.Result, asIf func(run int, result *replay.Result) *record.Run) ([]Outcome, error) {
	n := len(r.Scores)
	all, scores := make([]Outcome, len(r.Runs)), make([]Range, n*len(r.Runs))
	err := each(ctx, len(all), chunk, func(i int) {
		all[i].Result = replayed(i)
		var left func() *record.Run
		if asIf != nil {
			left = func() *record.Run { return asIf(i, &all[i].Result) }
		}
		all[i].Scores, all[i].Unscored = r.value(scores[n*i:n*(i+1):n*(i+1)], i, &all[i].Result, left)
	})
	return all, err
}

// chunk is how many runs a worker takes at a time.
const chunk = 64

// each does something with each of n things, on all processors.
func each(ctx context.Context, n, chunk int, do func(i int)) error {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk) {
		workers.Go(func() {
			for ctx.Err() == nil {
				from := int(next.Add(int64(chunk))) - chunk
				if from >= n {
					return
				}
				for i := from; i < min(from+chunk, n); i++ {
					do(i)
				}
			}
		})
	}
	workers.Wait()
	return ctx.Err()
}

// Recording is the index, among Recordings, of the one that a candidate is
// replayed on: the one whose path it takes, else the one that leaves most of its
// runs exact. The error is that of the context.
func (s *Sweep) Recording(ctx context.Context, candidate int) (int, error) {
	return s.fit(ctx, candidate)
}

func (s *Sweep) fit(ctx context.Context, candidate int) (int, error) {
	f := s.of[candidate]
	if f.chosen {
		return f.recording, nil
	}
	recording, err := s.choose(ctx, f.members[0])
	if err != nil {
		return 0, err
	}
	f.chosen, f.recording = true, recording
	return recording, nil
}

func (s *Sweep) choose(ctx context.Context, candidate int) (int, error) {
	if len(s.recordings) == 1 {
		return 0, nil
	}
	for i := range s.recordings {
		if replay.Apart(s.recordings[i].Loop, s.candidates[candidate].Declared()) == "" {
			return i, nil
		}
	}
	best, most := 0, -1
	for i := range s.recordings {
		outcomes, err := s.outcomes(ctx, candidate, i)
		if err != nil {
			return 0, err
		}
		exact := 0
		for k := range outcomes {
			if outcomes[k].Verdict == replay.Exact {
				exact++
			}
		}
		if exact > most {
			best, most = i, exact
		}
	}
	return best, nil
}
