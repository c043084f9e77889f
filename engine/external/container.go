package external

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// container is what an engine of containers has to be told of the container of a
// program; nil: there is none.
type container struct {
	engine string // its command, by its path
	env    []string
	name   string
}

// prefix begins the names of containers, before our process id.
const prefix = "agentbench-"

// engineEnvironment are our variables that an engine's command reads.
var engineEnvironment = []string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS",
	"DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY",
	"CONTAINER_HOST", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF",
}

// engine is the engine of containers that there is: podman, else docker.
func (s *Sandbox) engine() (*container, error) {
	c := &container{}
	for _, name := range engineEnvironment {
		if value := s.getenv(name); value != "" {
			c.env = append(c.env, name+"="+value)
		}
	}
	for _, name := range []string{"podman", "docker"} {
		if path, err := s.lookPath(name); err == nil {
			c.engine = path
			return c, nil
		}
	}
	return nil, errors.New("sandbox container: neither podman nor docker was found: apt-get install podman")
}

func (c *container) isDocker() bool { return filepath.Base(c.engine) == "docker" }

// tell runs a command of the engine.
func (c *container) tell(args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopping)
	defer cancel()
	_, err := c.ask(ctx, args...)
	return err
}

// ask is tell, and gives what the command prints.
func (c *container) ask(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.engine, args...)
	cmd.Env, cmd.WaitDelay = c.env, time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %s", filepath.Base(c.engine), args[0], cmp.Or(errorLine(stderr.String()), err.Error()))
	}
	return stdout.String(), nil
}

// contained is a program in a container that goes with it.
func (s *Sandbox) contained(p Program) (Program, error) {
	c, err := s.engine()
	if err != nil {
		return p, err
	}
	us, err := s.ourselves()
	if err != nil {
		return p, err
	}
	c.name = fmt.Sprintf("%s%d-%016x", prefix, os.Getpid(), rand.Uint64())
	args := []string{
		c.engine, "run", "--rm", "--interactive", "--name", c.name, "--hostname", "sandbox", "--pull", "never", "--security-opt", "no-new-privileges",
		"--entrypoint", ourselvesInside, "--workdir", s.Inside(p.Dir), "--tmpfs", "/tmp:rw,exec,mode=1777",
	}
	if !s.Network {
		args = append(args, "--network", "none")
	}
	if s.CPUs > 0 {
		args = append(args, "--cpus", strconv.FormatFloat(s.CPUs, 'f', -1, 64))
	}
	if s.Memory > 0 {
		args = append(args, "--memory", strconv.FormatInt(s.Memory, 10))
	}
	if c.isDocker() {
		args = append(args, "--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())) // who else would own the files
	} else {
		args = append(args, "--http-proxy=false")
	}
	mounts := [][2]string{{s.Workspace, workspaceInside}}
	if s.Home == "" {
		args = append(args, "--tmpfs", homeInside+":rw,exec,mode=1777")
	} else {
		mounts = append(mounts, [2]string{s.Home, homeInside})
	}
	writable := len(mounts)
	mounts = append(mounts, [2]string{us, ourselvesInside})
	if s.Forwards() {
		mounts = append(mounts, [2]string{s.Proxy, socketInside})
	}
	for _, path := range s.ReadOnly {
		mounts = append(mounts, [2]string{path, path})
	}
	for i, mount := range mounts {
		if strings.ContainsAny(mount[0], `,"`) {
			return p, fmt.Errorf("sandbox container: the path %s has a comma or a quote", mount[0])
		}
		how := "type=bind,source=" + mount[0] + ",target=" + mount[1]
		if i >= writable {
			how += ",readonly"
		}
		args = append(args, "--mount", how)
	}
	env := slices.Clone(c.env)
	for _, entry := range p.Env {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains(engineEnvironment, name) || strings.HasPrefix(name, "LD_") {
			args = append(args, "--env", entry) // the engine's command has its own
			continue
		}
		args = append(args, "--env", name) // its value does not belong into an argument
		env = append(env, entry)
	}
	argv := slices.Clone(p.Argv)
	if filepath.IsAbs(argv[0]) {
		argv[0] = s.Inside(argv[0])
	}
	p.Argv = append(append(args, s.Image), s.begin(argv)[1:]...)
	p.Env, p.Dir, p.container = env, "/", c
	return p, nil
}

// remove ends the container, whatever it does, and removes it.
func (c *container) remove() {
	args := []string{"rm", "--force", "--volumes"}
	if !c.isDocker() {
		args = append(args, "--time", "0")
	}
	_ = c.tell(append(args, c.name)...) // RemoveAbandoned tries again
}

// checkEngine fails where there is no engine, no image, or where we cannot be started
// within one.
func (s *Sandbox) checkEngine(ctx context.Context) error {
	c, err := s.engine()
	if err != nil {
		return err
	}
	us, err := s.ourselves()
	if err != nil {
		return err
	}
	if !static(us) {
		return errors.New("sandbox container: this agentbench needs libraries that an image may not have; build it with CGO_ENABLED=0")
	}
	if _, err := c.ask(ctx, "image", "inspect", s.Image); err != nil {
		return fmt.Errorf("sandbox container: %w; is the image there? %s pull %s%s", err, filepath.Base(c.engine), s.Image, advice(err.Error()))
	}
	return nil
}

// static reports whether a program needs no libraries.
func static(path string) bool {
	file, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return !slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// RemoveAbandoned removes the containers of those of us that were killed.
func (s *Sandbox) RemoveAbandoned(ctx context.Context) error {
	if s.Kind != Container {
		return nil
	}
	c, err := s.engine()
	if err != nil {
		return err
	}
	names, err := c.ask(ctx, "ps", "--all", "--filter", "name="+prefix, "--format", "{{.Names}}")
	for name := range strings.FieldsSeq(names) {
		id, _, ours := strings.Cut(strings.TrimPrefix(name, prefix), "-")
		if pid, wrong := strconv.Atoi(id); ours && wrong == nil && gone(pid) {
			c.name = name
			c.remove()
		}
	}
	return err
}

// gone reports whether a process has ended.
func gone(pid int) bool {
	process, err := os.FindProcess(pid)
	return err != nil || errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
