package sweep

import (
	"context"
	"slices"
	"sync"

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

// timing is when a candidate stops: under one configuration of points that several
// candidates share. Points are nil where that cannot be said.
type timing struct {
	points        *replay.Points
	configuration replay.Configuration
}

// kinds are the points of candidates so far. Several may ask at a time.
type kinds struct {
	one    sync.Mutex
	points []*replay.Points
}

// timing finds the points that serve a loop, or begins new ones.
func (k *kinds) timing(l *spec.Loop) timing {
	k.one.Lock()
	defer k.one.Unlock()
	at := slices.IndexFunc(k.points, func(p *replay.Points) bool { return p.Serves(l) == "" })
	if at < 0 {
		p := replay.NewPoints(l)
		if p.Serves(l) != "" {
			return timing{}
		}
		at, k.points = len(k.points), append(k.points, p)
	}
	c, _ := k.points[at].Configuration(l) // it has no error where Serves has no objection
	return timing{k.points[at], c}
}

// families are those of candidates, and of each candidate the family.
func families(candidates []Candidate) (all []*family, of []*family) {
	shared, known := map[*replay.Points]*family{}, &kinds{}
	for i := range candidates {
		if p := candidates[i].when.points; p != nil && !slices.Contains(known.points, p) {
			known.points = append(known.points, p)
		}
	}
	for i := range candidates {
		when := candidates[i].when
		if candidates[i].Loop != nil {
			when = known.timing(candidates[i].Loop)
		}
		f := shared[when.points]
		if f == nil {
			f = &family{points: when.points}
			all = append(all, f)
		}
		if when.points != nil {
			shared[when.points] = f
			f.configurations = append(f.configurations, when.configuration)
		}
		f.members = append(f.members, i)
		of = append(of, f)
	}
	return all, of
}

// walk walks the runs of a recording once for all members.
func (s *Sweep) walk(ctx context.Context, f *family) error {
	if f.paths != nil {
		return nil
	}
	r := &s.recordings[f.recording]
	endless := s.options.replay(r.Loop, replay.Endless(s.candidates[f.members[0]].Declared()))
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
	return replay.New(r.Loop, s.candidates[candidate].Declared(), replay.Options{Announced: r.Announced}).Tells() != ""
}
