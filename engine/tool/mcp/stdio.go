package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentbench/agentbench/engine/external"
)

// patience is how long a server may take after the end of a call to read it.
const patience = time.Second

var errNotRead = errors.New("it does not read what it is sent")

// program is a server that is a program.
type program struct {
	*external.Session
	kill context.CancelFunc
}

// start starts a program, which outlives the context.
func start(ctx context.Context, p *external.Program) (*program, error) {
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	s, err := p.Open(running)
	if err != nil {
		kill()
		return nil, err
	}
	return &program{s, kill}, nil
}

func (p *program) transport(s *session) sdk.Transport {
	streams := kept{p.Session}
	return &guarded{Transport: &sdk.IOTransport{Reader: streams, Writer: streams}, session: s, program: p}
}

// kept are streams that the protocol does not close: who closes the session does,
// after the program could say how it ended.
type kept struct{ io.ReadWriter }

func (kept) Close() error { return nil }

// fatal leaves it to the pipes: as long as they hold, an error is of one call.
func (p *program) fatal(error) bool { return false }

// close ends the program first: what is blocked on it would hold up the client.
func (p *program) close(leave func()) {
	_ = p.Session.Close()
	p.kill()
	leave()
}

// said waits a moment for the program's end, which comes after that of its output.
func (p *program) said() string {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.Done():
	case <-late.C:
	}
	if err := p.Err(); err != nil {
		return message(err)
	}
	return ""
}

// guarded is a transport that knows when the pipes are broken.
type guarded struct {
	sdk.Transport
	session *session
	program *program
}

func (g *guarded) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := g.Transport.Connect(ctx)
	return &guard{Connection: c, session: g.session, program: g.program}, err
}

type guard struct {
	sdk.Connection
	session *session
	program *program
}

func (g *guard) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := g.Connection.Read(ctx)
	switch {
	case errors.Is(err, io.EOF):
		g.session.end(err)
	case err != nil:
		g.session.end(fmt.Errorf("its output is not the protocol, in which its logs have no place: %w", err))
		g.program.kill() // nobody reads what it writes from now on
	}
	return m, err
}

// Write is not held up by a server that does not read: it is killed.
func (g *guard) Write(ctx context.Context, m jsonrpc.Message) error {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		late := time.NewTimer(patience)
		defer late.Stop()
		select {
		case <-done:
		case <-late.C:
			g.session.end(errNotRead)
			g.program.kill()
		}
	})
	err := g.Connection.Write(ctx, m)
	stop()
	close(done)
	switch {
	case err == nil:
		sentTo(ctx)
	case ctx.Err() == nil:
		g.session.end(err)
	}
	return err
}
