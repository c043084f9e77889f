package browse

import (
	"context"

	"github.com/agentbench/agentbench/engine/record"
)

// Workspaces tell what each iteration of a run changed in its workspace.
type Workspaces interface {
	Differences(context.Context, *record.Run) ([]*record.Workspace, error)
	Close() error
}

// changes are the workspaces of sides, opened for the first run that has one.
type changes struct {
	sources *Sources
	opened  map[int]Workspaces // by side; nil: they cannot be read
}

// of is what each iteration of a run changed; nil: it had no workspace, or its states are not here.
func (c *changes) of(side int, run *record.Run) []*record.Workspace {
	if run.Seed == "" || c.sources.Workspaces == nil {
		return nil
	}
	states, known := c.opened[side]
	if !known {
		if found, err := c.sources.Workspaces(c.sources.Sides[side].Path); err == nil {
			states = found
		}
		c.opened[side] = states
	}
	if states == nil {
		return nil
	}
	made, err := states.Differences(context.Background(), run)
	if err != nil {
		return nil
	}
	return made
}

func (c *changes) close() {
	for _, states := range c.opened {
		if states != nil {
			_ = states.Close() // nothing was written
		}
	}
}
