package temporal

import (
	"cmp"
	"context"
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
)

// Place is Temporal as a place where suites are run: run --executor temporal, and the command worker.
func Place() command.Place {
	var f serverFlags
	return command.Place{
		Name: "temporal",
		Flags: func(flags *pflag.FlagSet) {
			f.declare(flags)
			flags.DurationVar(&f.heartbeat, "worker-timeout", 10*time.Second, "how long a worker may be silent before its runs are made by another")
		},
		Open: func(ctx context.Context, s *command.Submission) (command.PlacedExecutor, error) {
			if f.heartbeat < 2*time.Second {
				return nil, exit.Usage("workers show twice a second that they are there", "--worker-timeout %v: want at least 2s", f.heartbeat)
			}
			store, err := f.open(ctx)
			if err != nil {
				return nil, err
			}
			return Open(ctx, Options{Submission: s, Server: f.Server, Store: store, Heartbeat: f.heartbeat, StorePatience: f.patience})
		},
		Commands: func(h *command.Host) []*cobra.Command { return []*cobra.Command{workerCommand(h)} },
	}
}

// serverFlags say where Temporal and the store are.
type serverFlags struct {
	Server
	store     string
	patience  time.Duration // with the store
	heartbeat time.Duration
}

// declare declares the flags. The variables are those of Temporal's own tools.
func (f *serverFlags) declare(flags *pflag.FlagSet) {
	flags.StringVar(&f.Address, "address", cmp.Or(os.Getenv("TEMPORAL_ADDRESS"), "127.0.0.1:7233"), "`HOST:PORT` of the Temporal server (variable TEMPORAL_ADDRESS)")
	flags.StringVar(&f.Namespace, "namespace", cmp.Or(os.Getenv("TEMPORAL_NAMESPACE"), "default"), "namespace in Temporal (variable TEMPORAL_NAMESPACE)")
	flags.StringVar(&f.Queue, "task-queue", "agentbench", "task queue that the workers listen at")
	flags.StringVar(&f.store, "store", "", "what all machines share: a folder, or s3://BUCKET/PREFIX")
	flags.DurationVar(&f.patience, "store-timeout", time.Minute, "how long the store may refuse or be silent before the suite ends")
}

// open reads the key of the server, and opens the store.
func (f *serverFlags) open(ctx context.Context) (Store, error) {
	if f.patience < time.Second {
		return nil, exit.Usage("--store-timeout 1m is the default", "--store-timeout %v: want at least 1s", f.patience)
	}
	f.APIKey = os.Getenv("TEMPORAL_API_KEY")
	return OpenStore(ctx, f.store, os.Getenv)
}

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
			return work(ctx, h, &f, dir, parallel, grace)
		},
	}
	f.declare(c.Flags())
	c.Flags().IntVar(&parallel, "concurrency", 8, "maximum runs at the same time")
	c.Flags().DurationVar(&grace, "grace", 30*time.Second, "grace period for runs in progress after an interrupt")
	c.Flags().StringVar(&dir, "dir", filepath.Join(os.TempDir(), "agentbench-worker"), "folder of this machine for suites and workspaces")
	return c
}

// work makes runs until the context ends.
func work(ctx context.Context, h *command.Host, f *serverFlags, dir string, parallel int, grace time.Duration) error {
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
	w := &Worker{
		Client: client, Store: store, Version: h.Version(), Host: host, Name: workerName(host, os.Getpid()), Dir: dir, StorePatience: f.patience, Now: time.Now, Alive: alive,
		Warn: func(text string) { fmt.Fprintf(h.Errors(), "agentbench: warning: %s\n", text) },
		Prepare: func(ctx context.Context, r *command.Recipe, at command.Folders) (Runs, error) {
			return h.Prepare(ctx, r, at)
		},
	}
	fmt.Fprintf(h.Errors(), "worker %s listens at the task queue %s of %s\n", w.Name, f.Queue, f.Address)
	if err := w.Listen(ctx, f.Queue, parallel, grace); err != nil {
		return exit.With(exit.NotMeasured, "", "listening at the task queue %s: %w", f.Queue, err)
	}
	return nil
}

// alive reports whether this machine has a process.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
