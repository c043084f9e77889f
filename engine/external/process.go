// Package external decides how what is outside of agentbench is used. A program reads
// bytes on its standard input and writes bytes to its standard output, with a small
// environment without keys. What holds its processes (where possible, a PID namespace)
// ends them as a whole, also when we are killed, and lets them stand still; a sandbox
// decides what they see of the machine. An endpoint is sent JSON over HTTP, and the
// caller learns whether a byte of the request was sent.
//
// It is no stable API.
package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http/httptrace"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
)

// The limits of a program where it declares none.
const (
	defaultMaxOutput = 256 << 10
	maxStderr        = 16 << 10
	maxSaid          = 300 // bytes that an error quotes
	// defaultFarewell is how long a session's program may take to end by itself
	// once its input is over.
	defaultFarewell = 2 * time.Second
	// drain is how long pipes may stay open after the program ended, for
	// children that hold them.
	drain = 500 * time.Millisecond
)

// Program is how a program is run.
type Program struct {
	Argv      []string
	Dir       string        // relative programs and files are looked up here
	Env       []string      // the whole environment, see Environment; nil: empty
	Timeout   time.Duration // 0: as long as the context
	MaxOutput int           // bytes of standard output; 0: defaultMaxOutput
	// Cuts leaves too much output at its head and tail; otherwise it is a failure.
	Cuts     bool
	Called   string           // what errors call it; "": the program and its name
	Farewell time.Duration    // of a session; 0: defaultFarewell
	Now      func() time.Time // nil: time.Now
	// Confinement holds the program's children; nil: its process group alone does.
	Confinement *Confinement

	container *container // that Argv starts; nil: none
}

// Finished is what a program left.
type Finished struct {
	Stdout   []byte        // head and tail where there was too much
	Stderr   string        // likewise; not always UTF-8
	Duration time.Duration // without the time during which it was frozen
	Frozen   time.Duration
	Exit     int // the exit code of a program that ended by itself; for a signal 128 and its number
}

// Run runs the program to its end, or kills it with all its children. Errors
// are *record.Error and the context's cause; what was left so far is given with
// them.
func (p *Program) Run(ctx context.Context, stdin []byte) (Finished, error) {
	running, err := p.Start(ctx, stdin)
	if err != nil {
		return Finished{}, err
	}
	return running.Wait()
}

func (p *Program) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}

func (p *Program) called() string { return cmp.Or(p.Called, fmt.Sprintf("the program %q", p.Argv[0])) }

// start gives run what starts the program, in a namespace where it can; run may
// be given a second one where that was refused.
func (p *Program) start(run func(*held) error) error {
	path, err := p.find()
	if err != nil {
		return err
	}
	argv := append([]string{path}, p.Argv[1:]...)
	if !p.Confinement.keeps() {
		h := inGroup(argv)
		h.cmd.Args[0] = p.Argv[0]
		return run(p.placed(h))
	}
	if err := startable(p.Dir, path); err != nil {
		return err
	}
	kind := p.Confinement.namespace()
	if p.container != nil {
		kind = namespace{} // an engine of containers names processes by their ids
	}
	err = p.hold(kind, argv, run)
	if !kind.pid || !refused(err) {
		return afterConfined(err)
	}
	if kind.hides() { // without it, the program could read what is hidden from others
		return notNow("the system refused a namespace this time", err)
	}
	return afterConfined(p.hold(namespace{}, argv, run))
}

// notNow is the error of what the system refused us, which is no failure of the program.
func notNow(what string, err error) error {
	if ours := outOfFiles(err); ours != nil {
		return ours
	}
	return record.Errorf(record.Internal, "%s: %v", what, err)
}

// outOfFiles is record.OutOfFiles for the start of a program too: what is passed on gets
// another number in the new process, and a number beyond the limit is a bad descriptor.
func outOfFiles(err error) *record.Error {
	var starting *fs.PathError
	if errors.As(err, &starting) && starting.Op == "fork/exec" && errors.Is(starting.Err, syscall.EBADF) {
		err = fmt.Errorf("%w: %w", err, syscall.EMFILE)
	}
	return record.OutOfFiles(err)
}

func (p *Program) hold(kind namespace, argv []string, run func(*held) error) error {
	h, err := p.Confinement.hold(kind, p.container, argv...)
	if err != nil {
		return err
	}
	return run(p.placed(h))
}

func (p *Program) placed(h *held) *held {
	h.cmd.Dir, h.cmd.Env = p.Dir, p.Env
	if h.cmd.Env == nil {
		h.cmd.Env = []string{} // nil would be ours
	}
	return h
}

func (p *Program) explain(err error, stderr string) error {
	var exit *exec.ExitError
	var died signalled
	var known *record.Error
	name := p.called()
	if ours := outOfFiles(err); ours != nil {
		return ours
	}
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &exit), errors.As(err, &died):
		message := fmt.Sprintf("%s failed: %s", name, err)
		if line := errorLine(stderr); line != "" {
			message += ": " + line
		}
		return &record.Error{Class: record.Program, Message: message}
	case errors.Is(err, exec.ErrNotFound):
		return record.Errorf(record.InvalidRequest, "%s was not found; is it installed and on PATH?", name)
	case errors.Is(err, fs.ErrNotExist):
		return record.Errorf(record.InvalidRequest, "%s was not found; a path is relative to the folder of the file that names it", name)
	case errors.Is(err, fs.ErrPermission):
		return record.Errorf(record.InvalidRequest, "%s may not be executed; is it marked as executable?", name)
	}
	return record.Errorf(record.InvalidRequest, "%s did not start: %v", name, err)
}

// complaint matches a line in which a program says what is wrong.
var complaint = regexp.MustCompile(`(?i)error|exception|panic|fatal|fail|\berr\b|cannot|can't|could not|unable|denied|refused|not found|no such|invalid|missing`)

// errorLine is the line of a program's stderr that says what was wrong: of its last 20
// lines the last that complains, else the last one. Indented lines, as those of a stack
// trace, and lines without a letter do not count.
func errorLine(text string) string {
	const most = 20
	lines := slices.DeleteFunc(strings.Split(strings.ToValidUTF8(text, "\uFFFD"), "\n"), func(line string) bool {
		return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") || !strings.ContainsFunc(line, unicode.IsLetter)
	})
	lines = lines[max(0, len(lines)-most):]
	for _, line := range slices.Backward(lines) {
		if complaint.MatchString(line) {
			return short(strings.TrimSpace(line))
		}
	}
	if len(lines) > 0 {
		return short(strings.TrimSpace(lines[len(lines)-1]))
	}
	text = strings.TrimSpace(text) // all lines are indented, or without a letter
	return short(text[strings.LastIndexByte(text, '\n')+1:])
}

// short keeps what programs and endpoints say to the beginning that a message has room for.
func short(text string) string {
	if len(text) > maxSaid {
		text = strings.TrimSpace(secret.Prefix(text, maxSaid)) + " …"
	}
	return text
}

// capture keeps the head and the tail of what is written, half of the limit
// each. It can be read while it is written.
type capture struct {
	mu    sync.Mutex
	half  int
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring continues
	total int64
}

func newCapture(limit int) *capture { return &capture{half: max(1, limit/2)} }

// Write never fails and never stops the writer.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += int64(len(p))
	rest := p
	if room := c.half - len(c.head); room > 0 {
		n := min(room, len(rest))
		c.head, rest = append(c.head, rest[:n]...), rest[n:]
	}
	if len(rest) > c.half {
		rest = rest[len(rest)-c.half:]
	}
	if room := c.half - len(c.tail); room > 0 {
		n := min(room, len(rest))
		c.tail, rest = append(c.tail, rest[:n]...), rest[n:]
	}
	for len(rest) > 0 {
		n := copy(c.tail[c.next:], rest)
		c.next, rest = (c.next+n)%c.half, rest[n:]
	}
	return len(p), nil
}

// Cut is how many bytes were dropped.
func (c *capture) Cut() int64 { return c.total - int64(len(c.head)) - int64(len(c.tail)) }

// Bytes is what was kept, with a note where bytes are missing.
func (c *capture) Bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := append([]byte(nil), c.head...)
	if cut := c.Cut(); cut > 0 {
		kept = fmt.Appendf(kept, "\n… %d bytes cut …\n", cut)
	}
	kept = append(kept, c.tail[c.next:]...)
	return append(kept, c.tail[:c.next]...)
}

// allowed are the variables that programs need to run at all. Keys are not
// among them.
var allowed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "VIRTUAL_ENV",
	"LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "TZ",
	"TMPDIR", "TMP", "TEMP",
	"SYSTEMROOT", "PATHEXT", "COMSPEC",
}

// Environment is the part of an environment that programs may see, as
// "NAME=value".
func Environment(getenv func(string) string) []string {
	kept := []string{}
	for _, name := range allowed {
		if value := getenv(name); value != "" {
			kept = append(kept, name+"="+value)
		}
	}
	return kept
}

// find looks a bare name up in the PATH that the program itself will see, and in ours
// where it sees none. Relative folders in it are skipped: it does not say what they are relative to.
func (p *Program) find() (string, error) {
	name := p.Argv[0]
	if filepath.Base(name) != name {
		return name, nil
	}
	for _, entry := range slices.Backward(p.Env) { // of two, programs see the last one
		folders, ok := strings.CutPrefix(entry, "PATH=")
		if !ok {
			continue
		}
		for _, folder := range filepath.SplitList(folders) {
			if path, err := exec.LookPath(filepath.Join(folder, name)); filepath.IsAbs(folder) && err == nil {
				return path, nil
			}
		}
		return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
	}
	return exec.LookPath(name)
}

// Sending knows whether any byte of the requests of a context may have reached a server. A connection that was refused, a name that does not exist and
// a TLS handshake that failed come before the first byte of a request.
type Sending struct {
	mu    sync.Mutex
	asked bool // for a connection; a transport without such traces is never asked
	uses  []use
}

// use is a connection that was taken for a request, and how much had been written
// to it before. A nil connection is one whose bytes are not counted.
type use struct {
	on     *counted
	before int64
}

// Watch watches the requests that are made with the context that it returns.
func Watch(ctx context.Context) (context.Context, *Sending) {
	s := &Sending{}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.asked = true
		},
		GotConn: func(info httptrace.GotConnInfo) {
			u := use{on: countedBeneath(info.Conn)}
			if u.on != nil {
				u.before = u.on.written.Load()
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.uses = append(s.uses, u)
		},
	}), s
}

// Began reports whether a byte of a request may have been sent. It is certain that
// none was where no connection was ever there for one, or where nothing has been
// written to any since; requests that share a connection count for each other. The
// nil Sending is that of a request that was never made.
func (s *Sending) Began() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked {
		return true
	}
	for _, u := range s.uses {
		if u.on == nil || u.on.written.Load() > u.before {
			return true
		}
	}
	return false
}

// Counting makes a transport's DialContext count what is written, which Began
// reads; without it every connection that is there counts as written to.
func Counting(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &counted{Conn: conn}, nil
	}
}

// counted is a connection that counts the bytes that the system took for it.
type counted struct {
	net.Conn
	written atomic.Int64
}

// Write implements net.Conn.
func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

// countedBeneath finds the counted connection beneath one of TLS; nil: none is.
func countedBeneath(conn net.Conn) *counted {
	for {
		switch c := conn.(type) {
		case *counted:
			return c
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}
