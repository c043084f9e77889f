package browse

import (
	"context"
	"errors"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

// kept are the workspaces of a folder: those of the run "whole" can be read.
type kept struct{ closed *int }

func (k kept) Differences(_ context.Context, run *record.Run) ([]*record.Workspace, error) {
	if run.ID != "whole" {
		return nil, errors.New("damaged")
	}
	return []*record.Workspace{{Diff: "+two"}}, nil
}

func (k kept) Close() error { *k.closed++; return nil }

// Workspaces are opened once, for a run that has one, and closed. Damage makes no page fail.
func TestWorkspacesAreOpenedOnce(t *testing.T) {
	opened, closed := 0, 0
	s := &Sources{Sides: []Side{{Results: &record.Results{Path: "r"}}, {Results: &record.Results{Path: "gone"}}}}
	s.Workspaces = func(dir string) (Workspaces, error) {
		opened++
		if dir == "gone" {
			return nil, errors.New("no such folder")
		}
		return kept{&closed}, nil
	}
	c := changes{s, map[int]Workspaces{}}
	for _, run := range []struct {
		side     int
		id, seed string
		want     bool
	}{{0, "none", "", false}, {0, "whole", "seed", true}, {0, "damaged", "seed", false}, {0, "whole", "seed", true}, {1, "whole", "seed", false}, {1, "whole", "seed", false}} {
		if made := c.of(run.side, &record.Run{ID: run.id, Seed: run.seed}); (made != nil) != run.want {
			t.Errorf("%+v: %v", run, made)
		}
	}
	if c.close(); opened != 2 || closed != 1 {
		t.Errorf("%d were opened and %d closed", opened, closed)
	}
}
