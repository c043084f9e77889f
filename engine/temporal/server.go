package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/agentbench/agentbench/engine/exit"
)

// Server is where Temporal is, and what of it is ours.
type Server struct {
	Address   string
	Namespace string
	// Queue is the task queue of the workers.
	Queue string
	// APIKey is for Temporal Cloud and other servers that want one; "": none.
	APIKey string
}

// dialTimeout is how long a server may take to answer first.
const dialTimeout = 10 * time.Second

// Dial connects to the server, and fails where it is not there, or has no such namespace.
func (s *Server) Dial(ctx context.Context) (client.Client, error) {
	o := client.Options{HostPort: s.Address, Namespace: s.Namespace, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))}
	if s.APIKey != "" {
		o.Credentials = client.NewAPIKeyStaticCredentials(s.APIKey)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return nil, exit.With(exit.NotMeasured, "temporal server start-dev starts one for trials; --address names another", "no Temporal server answers at %s: %w", s.Address, err)
	}
	if _, err := s.retention(ctx, c); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// retention is how long the namespace keeps workflows that have ended.
func (s *Server) retention(ctx context.Context, c client.Client) (time.Duration, error) {
	found, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: s.Namespace})
	var missing *serviceerror.NamespaceNotFound
	if errors.As(err, &missing) {
		return 0, exit.With(exit.NotMeasured, "temporal operator namespace create --namespace "+exit.ShellWord(s.Namespace)+" makes it", "the Temporal server at %s has no namespace %s", s.Address, s.Namespace)
	}
	if err != nil {
		return 0, exit.With(exit.NotMeasured, "", "asking the Temporal server at %s: %w", s.Address, err)
	}
	return found.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), nil
}

// leastKept is how long ended workflows should be kept where a suite has no limit of time.
const leastKept = 24 * time.Hour

// outlasts refuses a namespace that forgets what was spent while the suite still runs. It
// warns where that is unknown, and little is kept.
func (s *Server) outlasts(ctx context.Context, c client.Client, suite time.Duration, warn func(string)) error {
	kept, err := s.retention(ctx, c)
	if err == nil && suite == 0 && 0 < kept && kept < leastKept {
		warn(fmt.Sprintf("the namespace %s keeps ended workflows for %v: a coordinator that comes back later cannot learn what was spent", s.Namespace, kept))
	}
	if err != nil || kept == 0 || suite < kept {
		return err
	}
	return exit.With(exit.NotMeasured, fmt.Sprintf("temporal operator namespace update --namespace %s --retention %dh", exit.ShellWord(s.Namespace), int(suite.Hours())+24),
		"the namespace %s keeps ended workflows for %v, and the suite may take %v: a coordinator that comes back later could not learn what was spent", s.Namespace, kept, suite)
}

// listening reports whether a worker has asked the task queue for work lately.
func (s *Server) listening(ctx context.Context, c client.Client) bool {
	found, err := c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: s.Namespace, TaskQueue: &taskqueue.TaskQueue{Name: s.Queue}, TaskQueueType: enums.TASK_QUEUE_TYPE_ACTIVITY,
	})
	return err != nil || len(found.GetPollers()) > 0
}

// mostSkew is how much clocks may differ: what is kept beside a time, such as an answer in
// the cache, is compared with the clocks of other machines.
const mostSkew = 2 * time.Minute

// skewed says that this machine's clock differs from the server's; nil: it does not, much.
func skewed(server, here time.Time) error {
	if d := here.Sub(server); d.Abs() > mostSkew {
		return fmt.Errorf("the clock of this machine differs from that of the Temporal server by %v; at most %v will do", d.Round(time.Second), mostSkew)
	}
	return nil
}
