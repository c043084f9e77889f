package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// Kind is a kind of sandbox.
type Kind string

// The kinds of sandboxes. None is no file system and no network of its own.
const (
	None       Kind = "none"
	Bubblewrap Kind = "bubblewrap"
	Container  Kind = "container"
)

// Where programs find what is theirs within every kind of sandbox but None.
const (
	workspaceInside = "/workspace"
	homeInside      = "/home/agent"
	ourselvesInside = "/run/agentbench/agentbench"
	socketInside    = "/run/agentbench/proxy.sock"
	proxyInside     = "127.0.0.1:4000"
)

// Sandbox decides what programs see of the machine. It turns a program into the one that
// is started, and holds nothing. The zero value is none.
type Sandbox struct {
	Kind      Kind
	Workspace string // the host's folder that programs work in, at /workspace
	// Home is the host's folder at /home/agent. "": an empty one that goes with the
	// program; with None, the user's.
	Home     string
	Network  bool     // with None there always is
	ReadOnly []string // the host's files and folders that are seen at the same paths, such as a program's installation
	// Proxy is the unix socket that programs reach at ProxyURL; "": none.
	Proxy string

	// Of a container: its image, how many processors, and how many bytes of memory it
	// may use; 0: all.
	Image  string
	CPUs   float64
	Memory int64

	// Getenv is our environment; nil: os.Getenv.
	Getenv func(string) string

	binary string // that knows forward; "": ours
}

func (s *Sandbox) none() bool { return s.Kind == None || s.Kind == "" }

func (s *Sandbox) getenv(name string) string {
	if s.Getenv != nil {
		return s.Getenv(name)
	}
	return os.Getenv(name)
}

func (s *Sandbox) ourselves() (string, error) {
	if s.binary != "" {
		return s.binary, nil
	}
	return os.Executable()
}

// Environment is what programs have without declaring it, as "NAME=value".
func (s *Sandbox) Environment() []string {
	if s.none() && s.Home == "" {
		return Environment(s.getenv)
	}
	keep := map[Kind][]string{
		Bubblewrap: {"PATH", "VIRTUAL_ENV", "LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "TZ"},
		Container:  {"LANG", "LANGUAGE", "TZ"}, // its image has a PATH, and few locales
	}[s.Kind]
	home := homeInside
	if s.none() {
		keep, home = allowed, s.Home
	}
	env := Environment(func(name string) string {
		if name == "HOME" || !slices.Contains(keep, name) {
			return ""
		}
		return s.getenv(name)
	})
	return append(env, "HOME="+home)
}

// Inside is where programs find a path of the host's.
func (s *Sandbox) Inside(path string) string {
	if s.none() {
		return path
	}
	for _, at := range [][2]string{{s.Workspace, workspaceInside}, {s.Home, homeInside}} {
		if below, err := filepath.Rel(at[0], path); at[0] != "" && err == nil && filepath.IsLocal(below) {
			return filepath.Join(at[1], below)
		}
	}
	return path
}

// Forwards reports whether programs reach the proxy by its unix socket: they have no
// loopback network in common with us.
func (s *Sandbox) Forwards() bool {
	return s.Proxy != "" && (s.Kind == Container || s.Kind == Bubblewrap && !s.Network)
}

// ProxyURL is where programs find the proxy that listens at a loopback URL of ours.
func (s *Sandbox) ProxyURL(ours string) string {
	if s.Forwards() {
		return "http://" + proxyInside
	}
	return ours
}

// Readable is what of this machine programs can read although it is not theirs; "" where
// there is nothing.
func (s *Sandbox) Readable() string {
	if s.none() {
		return "without a sandbox, programs can read every file that this user can: keys in files, workspaces and results of other runs"
	}
	return ""
}

// Program is a program within the sandbox: what is to be started in its place. Its
// folder is one of the workspace; "" is the workspace itself.
func (s *Sandbox) Program(p Program) (Program, error) {
	if s.none() {
		p.Dir = cmp.Or(p.Dir, s.Workspace)
		return p, nil
	}
	p.Called, p.Dir = p.called(), cmp.Or(p.Dir, s.Workspace)
	if s.Inside(p.Dir) == p.Dir {
		return p, record.Errorf(record.InvalidRequest, "%s: its folder %s is not in the workspace, which is all that the sandbox shows", p.Called, p.Dir)
	}
	var err error
	switch s.Kind {
	case Bubblewrap:
		p, err = s.bubblewrap(p)
	case Container:
		p, err = s.contained(p)
	default:
		err = fmt.Errorf("there is no sandbox %q", s.Kind)
	}
	var known *record.Error
	if err != nil && !errors.As(err, &known) {
		err = record.Errorf(record.InvalidRequest, "%s: %v", p.Called, err)
	}
	return p, err
}

// begin is the command line within the sandbox: ourselves, where the program needs us,
// then the program.
func (s *Sandbox) begin(argv []string) []string {
	var first []string
	if s.Forwards() {
		first = []string{ourselvesInside, "forward", "--listen", proxyInside, "--socket", socketInside, "--"}
	} else if s.Kind == Container { // whose first process has to reap orphans
		first = []string{ourselvesInside, "forward", "--"}
	}
	return append(first, argv...)
}

// Check fails where programs cannot be run in the sandbox, and says what to do. It runs
// ourselves in it.
func (s *Sandbox) Check(ctx context.Context) error {
	if s.none() {
		return nil
	}
	if runtime.GOOS != "linux" {
		return fmt.Errorf("sandbox %s: it needs Linux", s.Kind)
	}
	if s.Kind == Container {
		if err := s.checkEngine(ctx); err != nil {
			return err
		}
	}
	empty, err := os.MkdirTemp("", "agentbench-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(empty)
	tried := *s
	tried.Workspace, tried.Home, tried.Proxy = empty, "", filepath.Join(empty, "s") // nothing connects to it
	socket, err := net.Listen("unix", tried.Proxy)
	if err != nil {
		return err
	}
	defer socket.Close()
	us, err := s.ourselves()
	if err != nil {
		return err
	}
	argv := []string{us, "forward"}
	if s.Kind == Container {
		argv[0] = ourselvesInside
	}
	p, err := tried.Program(Program{Argv: argv, Env: tried.Environment(), Timeout: time.Minute, Called: "the trial of the sandbox", Confinement: &Confinement{}})
	if err != nil {
		return err
	}
	if _, err = p.Run(ctx, nil); err != nil {
		return fmt.Errorf("sandbox %s: %w%s", s.Kind, err, advice(err.Error()))
	}
	return nil
}

// advice is what to do about a failure of bwrap or of an engine of containers.
func advice(message string) string {
	for symptom, what := range map[string]string{
		"ermissions to create new namespace":  "this system forbids user namespaces: as root, sysctl -w kernel.unprivileged_userns_clone=1 or kernel.apparmor_restrict_unprivileged_userns=0",
		"setting up uid map":                  "this system forbids user namespaces: as root, sysctl -w kernel.unprivileged_userns_clone=1 or kernel.apparmor_restrict_unprivileged_userns=0",
		"Creating new namespace failed":       "this system forbids user namespaces, or has too few: see sysctl user.max_user_namespaces",
		"Cannot connect to the Docker daemon": "start docker, or install podman: apt-get install podman",
	} {
		if strings.Contains(message, symptom) {
			return "; " + what
		}
	}
	return ""
}

// SeedHome writes files into the home folder, by their paths in it. None of them leaves
// it, whatever links are there.
func (s *Sandbox) SeedHome(files map[string]string) error {
	home, err := os.OpenRoot(s.Home)
	if err != nil {
		return err
	}
	defer home.Close()
	for path, content := range files {
		if err := home.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := home.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// exists reports whether a path can be seen, links followed.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
