package browse

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/trajectory"
)

// Head is the chunk runs of a page whose texts are asked for one by one, as JSON.
func (s *Sources) Head() ([]byte, error) {
	t, err := s.read()
	if err != nil {
		return nil, err
	}
	texts := 0
	for i := range t.rows {
		if !s.Sides[t.rows[i].side].Baseline() {
			texts++
		}
	}
	return s.written(t.head(texts))
}

// ErrNone means that there are no texts of a run.
var ErrNone = errors.New("no texts of this run")

// Texts are those of a run of a side, read from its folder, as JSON.
func (s *Sources) Texts(side int, run string) ([]byte, error) {
	if side < 0 || side >= len(s.Sides) || s.Sides[side].Baseline() {
		return nil, ErrNone
	}
	from := &s.Sides[side]
	found, err := record.Find(from.Path, run)
	switch {
	case errors.Is(err, record.ErrNoRun), err == nil && from.Configuration != "" && found.Configuration != from.Configuration:
		return nil, ErrNone
	case err != nil:
		return nil, fmt.Errorf("reading the run: %w", err)
	}
	var scores []record.Score
	for score, err := range from.Scores() {
		if err != nil {
			return nil, fmt.Errorf("reading its scores: %w", err)
		}
		if score.Run == run {
			score.Votes = slices.Clone(score.Votes) // the reader uses its memory again
			scores = append(scores, score)
		}
	}
	made := changes{s, map[int]Workspaces{}}
	defer made.close()
	texts := trajectory.TextsOf(found, record.Standing(scores), made.of(side, found))
	texts.Side = side
	return s.written(texts)
}

// written is a value as JSON, without secrets.
func (s *Sources) written(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err == nil && s.Redact != nil {
		text = s.Redact(text)
	}
	return text, err
}
