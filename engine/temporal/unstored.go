package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/agentbench/agentbench/engine/record"
)

// insist repeats what the store refuses, for a while; that it is silent for too long is a refusal.
// The first one is a warning, and the last one ends the suite. A store that refused for too long is tried once.
func (w *Worker) insist(ctx context.Context, try func() error) error {
	patience := w.StorePatience
	err := try() // which may take long: states are files
	for began, pause := time.Now(), patience/32; err != nil && !errors.Is(err, errSilent) && !w.gaveUp.Load() && time.Since(began) < patience; pause *= 2 {
		w.complain(ctx, fmt.Sprintf("the store %v cannot be used: %v; it is tried again for %v, then the suite ends", w.Store, err, patience))
		if wait(ctx, pause); ctx.Err() != nil {
			return fmt.Errorf("worker %s: the store %v: %w", w.Name, w.Store, err)
		}
		err = try()
	}
	w.gaveUp.Store(err != nil)
	if err != nil {
		return w.never(kindStore, fmt.Errorf("the store %v cannot be used: %w", w.Store, err))
	}
	w.complained.Store(false)
	w.reported.Store(false)
	return nil
}

// complain warns that the store refuses or is silent: once on this machine, and once at the coordinator if a
// run meets it, until the store takes something again.
func (w *Worker) complain(ctx context.Context, text string) {
	text = "worker " + w.Name + ": " + text
	if !w.complained.Swap(true) {
		w.Warn(text)
	}
	if !activity.IsActivity(ctx) || w.reported.Swap(true) {
		return
	}
	batch := activity.GetInfo(ctx).WorkflowExecution.ID
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	_ = w.Client.SignalWorkflow(ctx, batch, "", signalWarn, text) // the end of the suite says it as well
}

// unstored are records that were paid and that the store refused, until it takes them. They
// are files as well, for the next worker of the machine. It is safe for concurrent use.
type unstored struct {
	store Store
	dir   string

	mu      sync.Mutex
	records map[string]pendingRecord
}

// pendingRecord is a record. Its states are sent before it; nil: it has none.
type pendingRecord struct {
	Name   string `json:"name"`
	Record []byte `json:"record"`
	states func(context.Context) error
}

// openUnstored reads what workers left that have ended.
func openUnstored(store Store, dir string) (*unstored, error) {
	s := &unstored{store: store, dir: filepath.Join(dir, "unstored", digest([]byte(fmt.Sprint(store)))), records: map[string]pendingRecord{}}
	files, err := filepath.Glob(filepath.Join(s.dir, "*.json"))
	for _, file := range files {
		var r pendingRecord
		text, wrong := os.ReadFile(file)
		if errors.Is(wrong, fs.ErrNotExist) {
			continue // another worker was faster
		}
		if wrong == nil {
			wrong = json.Unmarshal(text, &r)
		}
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", file, wrong))
			continue
		}
		s.records[r.Name] = r
	}
	return s, err
}

func (s *unstored) file(name string) string { return digest([]byte(name)) + ".json" }

// put holds a record. States end with the worker, so a record that names some is no file.
func (s *unstored) put(r pendingRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, there := s.records[r.Name]
	s.records[r.Name] = r
	if there || r.states != nil {
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	return record.ReplaceFile(s.dir, s.file(r.Name), text)
}

// drop forgets a record that is stored.
func (s *unstored) drop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, there := s.records[name]; there && r.states == nil {
		_ = os.Remove(filepath.Join(s.dir, s.file(name)))
	}
	delete(s.records, name)
}

// write writes a record into the store.
func (s *unstored) write(ctx context.Context, name string) error {
	s.mu.Lock()
	r, there := s.records[name]
	s.mu.Unlock()
	if !there {
		return nil
	}
	if r.states != nil {
		if err := r.states(ctx); err != nil {
			return err
		}
	}
	if _, err := s.store.Create(ctx, name, r.Record); err != nil {
		return err
	}
	s.drop(name)
	return nil
}

// clear writes all, until the store refuses.
func (s *unstored) clear(ctx context.Context) error {
	s.mu.Lock()
	names := slices.Sorted(maps.Keys(s.records))
	s.mu.Unlock()
	for _, name := range names {
		if err := s.write(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// storeRest writes the records that the store refused, whether or not a suite runs.
func (w *Worker) storeRest(ctx context.Context) {
	if err := w.unstored.clear(ctx); err == nil {
		w.gaveUp.Store(false)
	}
}
