package external

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// Session is a program that stays: what is written is its standard input, what
// is read its standard output. It is safe for concurrent use, and has to be
// closed even where the program has ended.
type Session struct {
	program *Program
	running *Running
	stdin   *os.File
	stdout  *os.File
	closed  sync.Once
	closing chan struct{}
}

// Open starts the program. It ends with the context, too, and then at once. Timeout
// and MaxOutput are not for sessions.
func (p *Program) Open(ctx context.Context) (*Session, error) {
	theirInput, stdin, err := os.Pipe()
	if err != nil {
		return nil, record.Errorf(record.Internal, "opening a pipe: %v", err)
	}
	stdout, theirOutput, err := os.Pipe()
	if err != nil {
		theirInput.Close()
		stdin.Close()
		return nil, record.Errorf(record.Internal, "opening a pipe: %v", err)
	}
	s := &Session{program: p, stdin: stdin, stdout: stdout, closing: make(chan struct{})}
	passed := func() {
		theirInput.Close() // theirs alone, so that the end of either side is seen
		theirOutput.Close()
	}
	s.running = p.launch(ctx, theirInput, theirOutput, -1, passed)
	if !s.running.hasBegun() {
		passed()
		s.release()
		return nil, s.running.whyNot(ctx)
	}
	context.AfterFunc(s.running.ctx, func() {
		<-s.running.over
		// A child that left the group may still hold the output.
		_ = s.stdout.SetReadDeadline(time.Now().Add(drain))
	})
	return s, nil
}

// Read reads of the program's standard output.
func (s *Session) Read(p []byte) (int, error) {
	n, err := s.stdout.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

// Write writes to the program's standard input. It waits while the program does
// not read, until the session is closed.
func (s *Session) Write(p []byte) (int, error) { return s.stdin.Write(p) }

// Done is closed when the program has ended and its children are killed.
func (s *Session) Done() <-chan struct{} { return s.running.over }

// Err is how the program ended by itself, as a *record.Error; nil while it runs,
// and where it was closed.
func (s *Session) Err() error {
	select {
	case <-s.running.over:
	default:
		return nil
	}
	select {
	case <-s.closing:
		return nil
	default:
	}
	if ended := s.running.ended; ended != nil {
		return s.program.explain(ended, s.Stderr())
	}
	message := s.program.called() + " ended"
	if line := errorLine(s.Stderr()); line != "" {
		message += ": " + line
	}
	return &record.Error{Class: record.Program, Message: message}
}

// Stderr is what the program wrote there so far, head and tail where it is much;
// not always UTF-8.
func (s *Session) Stderr() string { return string(s.running.stderr.Bytes()) }

// Close ends the program's input, gives it a moment to end by itself, and kills
// it with all its children.
func (s *Session) Close() error {
	s.closed.Do(func() {
		close(s.closing)
		s.stdin.Close()
		late := time.After(cmp.Or(s.program.Farewell, defaultFarewell))
		select {
		case <-s.running.over:
		case <-late:
		}
		s.running.Kill(nil)
		s.release()
	})
	return nil
}

func (s *Session) release() {
	s.stdin.Close()
	s.stdout.Close()
}
