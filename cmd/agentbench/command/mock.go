package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/model/offline"
)

// mockFlags say how the server of agentbench mock behaves.
type mockFlags struct {
	host                    string
	port                    int
	replies, models, faults []string
	file, suite, key        string
	latency, pause          time.Duration
	requests, tokens        int // a minute
	seed                    uint64
}

func (p *program) mockCommand() *cobra.Command {
	var f mockFlags
	c := &cobra.Command{
		Use:     "mock",
		Short:   "Run a mock server of OpenAI's and Anthropic's APIs, with fault injection",
		GroupID: "write",
		Long: `Serves OpenAI's chat completions (POST /v1/chat/completions) and Responses (/v1/responses) and Anthropic's Messages
(/v1/messages) on this machine, without a model. It echoes the last message or gives the replies of --reply and
--replies, with the latency, rate limit and faults that the flags set. Its first line is the address to use as the
base_url of a model. GET /stats counts requests.

  agentbench mock --latency 200ms --rpm 600
  agentbench mock --reply '{"answer": 42}' --fault every=5:500 --fault share=0.01:cut

A --fault is KIND[:OPTION=VALUE], preceded by every=N:, first=N:, at=N: or share=P:. The kinds:
` + kindsListing(),
		Args: arguments(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			options, err := f.options(p)
			if err != nil {
				return err
			}
			return p.mock(c.Context(), mockserver.New(options), net.JoinHostPort(f.host, strconv.Itoa(f.port)))
		},
	}
	f.declare(c)
	return c
}

func (f *mockFlags) declare(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.host, "host", "127.0.0.1", "address to listen on; any but the default is open to the network")
	f.port = 8787
	portFlag(c, &f.port, "port to listen on; 0 takes a free one")
	flags.StringArrayVar(&f.replies, "reply", nil, "reply; several are used in turn (repeatable; default: echo the last message)")
	flags.StringVar(&f.file, "replies", "", "`FILE` of replies: a YAML or JSON list of texts or of {match, replies} or {match, steps}")
	flags.StringVar(&f.suite, "suite", "", "serve the script and simulated models of a suite by their names")
	flags.StringArrayVar(&f.models, "model", nil, "name listed by GET /v1/models (repeatable; requests may name any)")
	flags.DurationVar(&f.latency, "latency", 0, "time until a reply begins")
	flags.DurationVar(&f.pause, "pause", 0, "time between the events of a stream")
	flags.IntVar(&f.requests, "rpm", 0, "requests per minute (default: unlimited)")
	flags.IntVar(&f.tokens, "tpm", 0, "tokens per minute, input plus allowed output, in place of --rpm (default: unlimited)")
	flags.StringArrayVar(&f.faults, "fault", nil, "fault to inject (repeatable; the first that applies is used)")
	flags.StringVar(&f.key, "key", "", "API key that requests must have (default: any or none)")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of identifiers and random faults")
}

func kindsListing() string {
	var b strings.Builder
	for _, kind := range mockserver.Kinds {
		fmt.Fprintf(&b, "  %-18s %s\n", kind.Name, kind.About)
	}
	b.WriteString("Any status from 400 to 599 is a kind, with the option retry-after.")
	return b.String()
}

func (f *mockFlags) options(p *program) (mockserver.Options, error) {
	o := mockserver.Options{
		Models: f.models, Latency: f.latency, Pause: f.pause, Seed: f.seed, Key: f.key, Now: p.now,
		Limit: mockserver.Limit{Requests: f.requests, Tokens: f.tokens},
	}
	switch {
	case f.latency < 0 || f.pause < 0:
		return o, exit.Usage("", "--latency and --pause are durations of at least 0")
	case f.requests < 0 || f.tokens < 0 || f.requests > 0 && f.tokens > 0:
		return o, exit.Usage("", "want one of --rpm and --tpm, a number above 0")
	}
	var err error
	if o.Faults, err = mockserver.ParseFaults(f.faults...); err != nil {
		return o, exit.Usage("agentbench mock --help lists the kinds", "--fault %w", err)
	}
	if f.suite != "" {
		if err := f.serveSuite(p, &o); err != nil {
			return o, err
		}
	}
	o.Rules, err = f.rules(p)
	return o, err
}

// serveSuite lets the models of a suite that call no server reply to requests for them.
func (f *mockFlags) serveSuite(p *program, o *mockserver.Options) error {
	opened, err := p.openSuite(f.suite, nil)
	if err != nil {
		return err
	}
	if o.Offline, err = offline.Models(opened.Document); err != nil {
		return exit.With(exit.WrongSpec, "", "--suite %s: %w", f.suite, err)
	}
	if len(o.Offline) == 0 {
		return exit.Usage("declare one: models: {m: {provider: script, responses: [...]}}", "--suite %s: the suite has no script or simulated model", f.suite)
	}
	o.Models = append(o.Models, slices.Sorted(maps.Keys(o.Offline))...)
	return nil
}

// rules are the file's replies, then those of the command line for what the
// file's do not match.
func (f *mockFlags) rules(p *program) ([]mockserver.Rule, error) {
	var rules []mockserver.Rule
	if f.file != "" {
		text, err := os.ReadFile(f.file)
		if err != nil {
			return nil, exit.Usage("", "reading the replies: %w", err)
		}
		read, faults := mockserver.ParseRules(f.file, text)
		p.print(faults)
		if faults.Err() != nil {
			return nil, exit.Quiet(exit.WrongSpec)
		}
		rules = read
	}
	if len(f.replies) > 0 {
		rules = append(rules, mockserver.Texts(f.replies...))
	}
	return rules, nil
}

func (p *program) mock(ctx context.Context, handler *mockserver.Server, address string) error {
	ctx, stop := untilSignal(ctx, syscall.SIGHUP)
	defer stop()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return exit.With(exit.NotMeasured, "--port 0 takes a free port", "listening on %s: %w", address, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(p.out, "listening on http://%s/v1\n", listener.Addr())
	return serveUntil(ctx, server, listener)
}

// serveUntil serves until a context ends. Answers that are on their way get a second, then
// their connections are closed.
func serveUntil(ctx context.Context, server *http.Server, listener net.Listener) (err error) {
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err = <-served:
	case <-ctx.Done():
		ending, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err = server.Shutdown(ending); err != nil {
			err = server.Close()
		}
		<-served
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return exit.With(exit.NotMeasured, "", "serving: %w", err)
	}
	return nil
}
