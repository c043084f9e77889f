package temporal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/engine/workspace"
)

// The states of workspaces travel beside the records that name them. What a run began with
// is sent once, its other states without what they have in common with that. The names of
// both follow from the record.

func seedName(id workspace.ID) string { return stateName("seeds", id) }

// statesName is that of the states of a run.
func statesName(seeds, others []workspace.ID) string {
	all := sha256.New()
	for _, ids := range [][]workspace.ID{seeds, others} {
		fmt.Fprintln(all, len(ids))
		for _, id := range ids {
			all.Write(id[:])
		}
	}
	return stateName("states", [sha256.Size]byte(all.Sum(nil)))
}

func stateName(folder string, id [sha256.Size]byte) string {
	name := hex.EncodeToString(id[:])
	return folder + "/" + name[:2] + "/" + name[2:]
}

// sender sends the states of the runs of a suite. It is safe for concurrent use.
type sender struct {
	store  Store
	states *workspace.Store
	dir    string // for what is on its way

	sending singleflight.Group // of seeds: who waits for one shares its failure
	sent    sync.Map           // seeds
}

// send sends what a run names. A store that loses something has to be a new one for new
// workers: nothing is sent again.
func (s *sender) send(ctx context.Context, run *record.Run) error {
	seeds, others, err := results.StatesOf(run)
	if err != nil {
		return err
	}
	for _, id := range seeds {
		if err := s.seed(ctx, id); err != nil {
			return err
		}
	}
	if len(others) == 0 {
		return nil
	}
	return s.parcel(ctx, statesName(seeds, others), others, seeds...)
}

// seed sends what runs begin with, the first time.
func (s *sender) seed(ctx context.Context, id workspace.ID) error {
	_, err, _ := s.sending.Do(id.String(), func() (any, error) {
		if _, sent := s.sent.Load(id); sent {
			return nil, nil
		}
		err := s.parcel(ctx, seedName(id), []workspace.ID{id})
		if err == nil {
			s.sent.Store(id, true)
		}
		return nil, err
	})
	return err
}

// parcel sends trees, without what others need that were sent before.
func (s *sender) parcel(ctx context.Context, name string, trees []workspace.ID, others ...workspace.ID) error {
	dir, err := temporary(s.dir)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "parcel")
	if err := s.states.Export(path, trees, others...); err != nil {
		return err
	}
	return s.store.Send(ctx, name, path)
}

func temporary(in string) (string, error) {
	if err := os.MkdirAll(in, 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(in, "travel-")
}

// receiver takes states into the store of a result folder. It is safe for concurrent use.
type receiver struct {
	store  Store
	states *workspace.Store
	dir    string

	fetching singleflight.Group // of seeds: what many runs begin with is fetched once
}

// receive takes all that a run names.
func (r *receiver) receive(ctx context.Context, run *record.Run) error {
	seeds, others, err := results.StatesOf(run)
	if err != nil || len(seeds)+len(others) == 0 {
		return err
	}
	for _, id := range seeds {
		_, err, _ := r.fetching.Do(id.String(), func() (any, error) { return nil, r.take(ctx, seedName(id), id) })
		if err != nil {
			return err
		}
	}
	if err := r.take(ctx, statesName(seeds, others), others...); err != nil {
		return err
	}
	return r.states.Sync()
}

// take takes a parcel, unless all that is in it is there.
func (r *receiver) take(ctx context.Context, name string, trees ...workspace.ID) error {
	missing := false
	for _, id := range trees {
		missing = missing || !r.states.Has(id)
	}
	if !missing {
		return nil
	}
	dir, err := temporary(r.dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "parcel")
	if err = r.store.Fetch(ctx, name, path); err == nil {
		err = r.states.Import(path, trees)
	}
	return errors.Join(err, os.RemoveAll(dir))
}
