package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/temporal"
)

// serverFlags say where Temporal and the store are.
type serverFlags struct {
	temporal.Server
	store     string
	patience  time.Duration // with the store
	heartbeat time.Duration
}

// The variables are those of Temporal's own tools.
func (f *serverFlags) declare(flags *pflag.FlagSet) {
	flags.StringVar(&f.Address, "address", cmp.Or(os.Getenv("TEMPORAL_ADDRESS"), "127.0.0.1:7233"), "`HOST:PORT` of the Temporal server (variable TEMPORAL_ADDRESS)")
	flags.StringVar(&f.Namespace, "namespace", cmp.Or(os.Getenv("TEMPORAL_NAMESPACE"), "default"), "namespace in Temporal (variable TEMPORAL_NAMESPACE)")
	flags.StringVar(&f.Queue, "task-queue", "agentbench", "task queue that the workers listen at")
	flags.StringVar(&f.store, "store", "", "what all machines share: a folder, or s3://BUCKET/PREFIX")
	flags.DurationVar(&f.patience, "store-timeout", temporal.DefaultStorePatience, "how long the store may refuse or be silent before the suite ends")
}

// open reads the key of the server, and opens the store.
func (f *serverFlags) open(ctx context.Context) (temporal.Store, error) {
	if f.patience < time.Second {
		return nil, exit.Usage("--store-timeout 1m is the default", "--store-timeout %v: want at least 1s", f.patience)
	}
	f.APIKey = os.Getenv("TEMPORAL_API_KEY")
	return temporal.OpenStore(ctx, f.store, os.Getenv)
}

// place is Temporal as a place where suites are run.
func place() command.Place {
	var f serverFlags
	return command.Place{
		Name: "temporal",
		Flags: func(flags *pflag.FlagSet) {
			f.declare(flags)
			flags.DurationVar(&f.heartbeat, "worker-timeout", temporal.DefaultHeartbeat, "how long a worker may be silent before its runs are made by another")
		},
		Open: func(ctx context.Context, s *command.Submission) (command.PlacedExecutor, error) {
			return submit(ctx, &f, s)
		},
		Commands: func(h *command.Host) []*cobra.Command {
			return []*cobra.Command{workerCommand(h)}
		},
	}
}

// submit makes the executor of a suite.
func submit(ctx context.Context, f *serverFlags, s *command.Submission) (command.PlacedExecutor, error) {
	if f.heartbeat < 2*time.Second {
		return nil, exit.Usage("workers show twice a second that they are there", "--worker-timeout %v: want at least 2s", f.heartbeat)
	}
	store, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	recipe, err := json.Marshal(s.Recipe)
	if err != nil {
		return nil, err
	}
	models := map[string]temporal.Limits{}
	for name, l := range s.Limits {
		models[name] = temporal.Limits(l)
	}
	return temporal.Open(ctx, temporal.Options{
		Server: f.Server, Store: store, Version: s.Recipe.Agentbench, Recipe: recipe, Folder: s.Folder, Repository: s.Repository, Reads: s.Reads, Dir: s.Dir, Workers: s.Workers,
		Configurations: s.Recipe.Configurations, Longest: s.Longest, Duration: s.Duration, Heartbeat: f.heartbeat, StorePatience: f.patience,
		States: s.States, Budget: s.Budget, Models: models, Gates: s.Gates, Started: s.Started, Observe: s.Observe, Warn: s.Warn, Note: s.Note,
	})
}

// runs are those of a suite that this process has prepared.
type runs struct{ *command.Prepared }

func (r runs) Draws() (*pace.Budget, map[string]*pace.Gate) { return r.Budget, r.Gates }

func workerCommand(h *command.Host) *cobra.Command {
	var f serverFlags
	var parallel int
	var grace time.Duration
	var dir string
	c := &cobra.Command{
		Use:     "worker",
		Short:   "Make the runs of suites that run --executor temporal gives away",
		GroupID: "run",
		Long: `Takes runs from a task queue of a Temporal server and makes them, for any suite, until
it is interrupted. Runs in progress then have a grace to end; those that do not are made
again by another worker. The keys of models are read from this process's environment.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if parallel < 1 {
				return exit.Usage("--concurrency 1 is one after the other", "--concurrency %d: want at least 1", parallel)
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return work(ctx, h, &f, &temporal.Worker{Dir: dir, StorePatience: f.patience}, parallel, grace)
		},
	}
	f.declare(c.Flags())
	c.Flags().IntVar(&parallel, "concurrency", 8, "maximum runs at the same time")
	c.Flags().DurationVar(&grace, "grace", 30*time.Second, "grace period for runs in progress after an interrupt")
	c.Flags().StringVar(&dir, "dir", filepath.Join(os.TempDir(), "agentbench-worker"), "folder of this machine for suites and workspaces")
	return c
}

// alive reports whether this machine has a process.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

func work(ctx context.Context, h *command.Host, f *serverFlags, w *temporal.Worker, parallel int, grace time.Duration) error {
	store, err := f.open(ctx)
	if err != nil {
		return err
	}
	client, err := f.Dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	host, _ := os.Hostname() // part of a name
	w.Client, w.Store, w.Version, w.Host, w.Name = client, store, h.Version(), host, temporal.WorkerName(host, os.Getpid())
	w.Now, w.Alive = time.Now, alive
	w.Warn = func(text string) { fmt.Fprintf(h.Errors(), "agentbench: warning: %s\n", text) }
	w.Prepare = func(ctx context.Context, at temporal.Files) (temporal.Runs, error) {
		var r command.Recipe
		if err := json.Unmarshal(at.Recipe, &r); err != nil {
			return nil, err
		}
		prepared, err := h.Prepare(ctx, &r, command.Folders{Suite: at.Folder, Workspaces: at.Workspaces, Cache: at.Cache})
		if err != nil {
			return nil, err
		}
		return runs{prepared}, nil
	}
	w.Wrong = func(err error) bool {
		var wrong *command.WrongSuite
		return errors.As(err, &wrong)
	}
	fmt.Fprintf(h.Errors(), "worker %s listens at the task queue %s of %s\n", w.Name, f.Queue, f.Address)
	if err := w.Listen(ctx, f.Queue, parallel, grace); err != nil {
		return exit.With(exit.NotMeasured, "", "listening at the task queue %s: %w", f.Queue, err)
	}
	return nil
}
