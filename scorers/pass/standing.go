package pass

import (
	"errors"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
)

// A mark says which score there is of one scorer on one thing. Those from other
// on are of scores that other versions of the scorer made.
const (
	none     byte = '-'
	scored   byte = 's' // by this version
	unscored byte = 'u' // by this version, which could not judge
	other    byte = 128
)

// mostOthers are the versions that are told apart; the last one stands for those
// beyond.
const mostOthers = 100

// mark is that of a version of the judge.
func (j *judge) mark(version string, isUnscored bool) byte {
	switch {
	case version == j.Hash && isUnscored:
		return unscored
	case version == j.Hash:
		return scored
	}
	at := slices.Index(j.others, version)
	if at < 0 && len(j.others) < mostOthers {
		at, j.others = len(j.others), append(j.others, strings.Clone(version))
	} else if at < 0 {
		at = mostOthers - 1
	}
	return other + byte(at)
}

// version is what made a score of that mark.
func (j *judge) version(mark byte) string {
	if mark < other {
		return j.Hash
	}
	return j.others[mark-other]
}

// standing are the marks of all runs. Those of a run are of itself by each scorer,
// then of its first iteration, and so on, as far as there are scores; runs that
// are alike share them, so that a run takes some 20 bytes.
type standing struct {
	seed  maphash.Seed
	of    map[uint64]int32 // by the hash of a run's id: an index of marks
	marks []string
	at    map[string]int32
}

// marksOf are those of a run, by their number; 0 has none.
func (s *standing) marksOf(run string) int32 { return s.of[maphash.String(s.seed, run)] }

func (s *standing) put(run string, marks []byte) {
	n, known := s.at[string(marks)]
	if !known {
		n = int32(len(s.marks))
		text := string(marks)
		s.marks = append(s.marks, text)
		s.at[text] = n
	}
	s.of[maphash.String(s.seed, run)] = n
}

// readScores finds the last score of each scorer on each thing.
func (p *Pass) readScores() (*standing, error) {
	s := &standing{seed: maphash.MakeSeed(), of: map[uint64]int32{}, marks: []string{""}, at: map[string]int32{"": 0}}
	var marks []byte
	for line, err := range record.ReadScored(p.Dir) {
		if err != nil {
			if err := p.unread(err); err != nil {
				return nil, err
			}
			continue
		}
		marks = append(marks[:0], s.marks[s.marksOf(line.Run)]...)
		for i := range line.Scores {
			marks = p.mark(marks, &line.Scores[i])
		}
		s.put(line.Run, marks)
	}
	return s, nil
}

// mark notes a score where one of the judges made it.
func (p *Pass) mark(marks []byte, s *record.ScoreHead) []byte {
	at := slices.IndexFunc(p.judges, func(j judge) bool { return j.Name == s.Name })
	if at < 0 || s.Iteration < 0 {
		return marks
	}
	place := s.Iteration*len(p.judges) + at
	for len(marks) <= place {
		marks = append(marks, none)
	}
	marks[place] = none
	if !s.Removed {
		marks[place] = p.judges[at].mark(s.Scorer, s.Unscored)
	}
	return marks
}

// at is the mark of a scorer on an iteration; 0 is the run.
func (p *Pass) at(marks string, iteration, judge int) byte {
	place := iteration*len(p.judges) + judge
	if place >= len(marks) {
		return none
	}
	return marks[place]
}

// unread notes bad lines; other errors end the pass.
func (p *Pass) unread(err error) error {
	var bad *record.Problem
	if !errors.As(err, &bad) {
		return err
	}
	p.Problems = append(p.Problems, bad)
	return nil
}
