package sweep

import (
	"context"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/spec"
)

// family is candidates that take one path and differ only in when they stop,
// after an iteration; or one candidate of which that cannot be said.
type family struct {
	members []int // candidates; the first stands for all where a recording is chosen
	points  *replay.Points
	// configurations are those of the members; nil: the family has no points.
	configurations []replay.Configuration

	chosen    bool
	recording int
	walked
}

// walked is what is known of a family once its runs were walked.
type walked struct {
	paths  []replay.Path // by run; nil: not walked yet
	ledger *ledger
	tracer *replay.Tracer
	traces []*replay.Trace
	cursor *replay.Cursor // of all runs
}

// families are those of candidates, and of each candidate the family.
func families(candidates []Candidate) (all []*family, of []*family) {
	var shared []*family
	for i := range candidates {
		f := familyOf(shared, candidates[i].Loop)
		if f == nil {
			f = newFamily(candidates[i].Loop)
			all = append(all, f)
			if f.points != nil {
				shared = append(shared, f)
			}
		}
		if f.points != nil {
			c, _ := f.points.Configuration(candidates[i].Loop) // it has no error where Serves has no objection
			f.configurations = append(f.configurations, c)
		}
		f.members = append(f.members, i)
		of = append(of, f)
	}
	return all, of
}

func familyOf(shared []*family, l *spec.Loop) *family {
	for _, f := range shared {
		if f.points.Serves(l) == "" {
			return f
		}
	}
	return nil
}

func newFamily(l *spec.Loop) *family {
	if p := replay.NewPoints(l); p.Serves(l) == "" {
		return &family{points: p}
	}
	return &family{}
}

// walk walks the runs of a recording once for all members.
func (s *Sweep) walk(ctx context.Context, f *family) error {
	if f.paths != nil {
		return nil
	}
	r := &s.recordings[f.recording]
	endless := s.options.replay(r.Loop, replay.Endless(s.candidates[f.members[0]].Loop))
	paths := make([]replay.Path, len(r.Runs))
	err := each(ctx, len(paths), chunk, func(i int) {
		paths[i] = endless.Path(ctx, r.Runs[i].Run, r.Runs[i].Task)
	})
	if err == nil {
		f.paths = paths
		s.warm(f)
	}
	return err
}

// warmFamilies are those of which the walks are kept: with many runs they are
// large, and they can be made again.
const warmFamilies = 4

// warm keeps a family's walks, and forgets those of the one walked longest ago.
func (s *Sweep) warm(f *family) {
	s.walked = append(s.walked, f)
	if len(s.walked) > warmFamilies {
		cold := s.walked[0]
		cold.walked = walked{}
		s.walked = s.walked[1:]
	}
}

// told says that the agent was told, other than in its requests, what a candidate
// changes.
func (s *Sweep) told(candidate, on int) bool {
	r := &s.recordings[on]
	if len(r.Announced) == 0 {
		return false
	}
	return replay.New(r.Loop, s.candidates[candidate].Loop, replay.Options{Announced: r.Announced}).Tells() != ""
}
