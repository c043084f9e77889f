package openai

import (
	"context"
	"fmt"
	"io"
	"time"
)

// silent is the fault of a server that says nothing for too long.
type silent struct {
	began bool // it had begun to answer
	after time.Duration
}

func (s silent) Error() string {
	if s.began {
		return fmt.Sprintf("the server said nothing more for %v", s.after)
	}
	return fmt.Sprintf("the server did not begin to answer within %v", s.after)
}

// silence ends a request whose server says nothing for too long: before the
// first byte of the answer's body, and from then on between any two.
type silence struct {
	idle  time.Duration
	timer *time.Timer
	end   context.CancelCauseFunc
}

func listen(firstByte, idle time.Duration, end context.CancelCauseFunc) *silence {
	s := &silence{idle: idle, end: end}
	s.timer = time.AfterFunc(firstByte, func() { end(silent{after: firstByte}) })
	return s
}

func (s *silence) stop() { s.timer.Stop() }

// within allows that much silence from now on.
func (s *silence) within(d time.Duration) {
	s.timer.Stop()
	s.timer = time.AfterFunc(d, func() { s.end(silent{began: true, after: d}) })
}

// reader listens to what is read.
func (s *silence) reader(from io.Reader) io.Reader { return &listened{silence: s, from: from} }

type listened struct {
	*silence
	from  io.Reader
	began bool
}

// Read implements io.Reader.
func (l *listened) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	switch {
	case n == 0:
	case !l.began:
		l.began = true
		l.within(l.idle)
	default:
		l.timer.Reset(l.idle)
	}
	return n, err
}
