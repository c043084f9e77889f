package command

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/cmd/agentbench/view"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/results"
)

type viewFlags struct {
	againstFlags
	port   int
	noOpen bool
}

func (p *program) viewCommand() *cobra.Command {
	var f viewFlags
	c := &cobra.Command{
		Use:     "view DIR...",
		Short:   "Browse results in a browser, also while they are made",
		GroupID: "look",
		Long: `Serves a page on 127.0.0.1 and opens it in a browser: the report, every run with its texts, charts. Results that are still made are followed: finished runs
appear, with the progress of agentbench run. Several results get a list with links to each, and to
comparisons of two. Only the browser that opens the printed link gets an answer, and nothing can be
changed. Ctrl-C ends it.

Arguments are result folders, baseline files or names of baselines.`,
		Args: arguments(1, -1, "results"),
		RunE: func(c *cobra.Command, args []string) error { return p.view(c.Context(), args, &f) },
	}
	f.declareMargins(c)
	declareBaselines(c, &f.baselines)
	portFlag(c, &f.port, "port to listen on (default: a free one)")
	c.Flags().BoolVar(&f.noOpen, "no-open", false, "only print the link")
	return c
}

func (p *program) view(ctx context.Context, args []string, f *viewFlags) error {
	pages, err := p.viewed(args, f)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(ctx, syscall.SIGHUP)
	defer stop()
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port)))
	if err != nil {
		return exit.With(exit.NotMeasured, "without --port a free port is used", "listening on port %d: %w", f.port, err)
	}
	pages.Now, pages.Look = p.now, func() <-chan time.Time { return p.tick(lookInterval) }
	handler, link := pages.Handler(listener)
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }, // who waits for news stops waiting
	}
	fmt.Fprintln(p.out, link)
	fmt.Fprintln(p.err, "agentbench: the link works once, on this machine; Ctrl-C ends view")
	if !f.noOpen {
		defer p.openBrowser(link)()
	}
	if err := serveUntil(ctx, server, listener); err != nil {
		return err
	}
	fmt.Fprintln(p.err, "agentbench: view ended")
	return nil
}

// lookInterval is between two looks at results that are followed.
const lookInterval = 300 * time.Millisecond

func (p *program) viewed(args []string, f *viewFlags) (*view.Server, error) {
	quiet := *p // warnings are on the page
	quiet.err = io.Discard
	reading := &sync.Mutex{}
	var places []*results.Place
	served := func(args []string, places ...*results.Place) view.Page {
		v := &viewing{program: &quiet, args: args, flags: &f.againstFlags, watched: &results.Watched{Places: places}, reading: reading}
		return view.Page{Name: strings.Join(args, " → "), Source: v, State: v.state}
	}
	s := &view.Server{}
	for _, arg := range args {
		at, err := p.openWhole(arg, f.baselines, "the page compares all of them")
		if err != nil {
			return nil, err
		}
		places = append(places, at)
		s.Pages = append(s.Pages, served([]string{arg}, at))
	}
	compared := map[[2]int]view.Page{}
	s.Compared = func(base, newest int) (view.Page, bool) {
		reading.Lock()
		defer reading.Unlock()
		pair := [2]int{base, newest}
		if _, known := compared[pair]; !known {
			compared[pair] = served([]string{args[base], args[newest]}, places[base], places[newest])
		}
		return compared[pair], true
	}
	return s, nil
}
