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
	"time"
)

// container is what an engine of containers has to be told of the container of a
// program; nil: there is none.
type container struct {
	engine string // its command, by its path
	env    []string
	name   string
}

// prefix begins the names of containers and control groups, before our process id.
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
func (c *container) tell(ctx context.Context, args ...string) (string, error) {
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
	if p.Confinement == nil {
		return p, errors.New("sandbox container: without a confinement nothing removes the container")
	}
	us, err := s.ourselves()
	if err != nil {
		return p, err
	}
	c.name = fmt.Sprintf("%s%s-%016x", prefix, owner(os.Getpid()), rand.Uint64())
	args := []string{
		c.engine, "run", "--rm", "--interactive", "--name", c.name, "--hostname", "sandbox", "--pull", "never", "--security-opt", "no-new-privileges",
		"--entrypoint", ourselvesInside, "--workdir", s.Inside(p.Dir), "--tmpfs", "/tmp:rw,exec,mode=1777",
	}
	args = append(args, ourLimits()...)
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

// removal is the command that ends the container, whatever it does, and removes it.
func (c *container) removal() []string {
	if c == nil {
		return nil
	}
	args := []string{c.engine, "rm", "--force", "--volumes"}
	if !c.isDocker() {
		args = append(args, "--time", "0")
	}
	return append(args, c.name)
}

// pauses reports whether the engine has to freeze its container. Those of podman are
// among our own processes.
func (c *container) pauses() bool { return c != nil && c.isDocker() }

// pause pauses the container. A freezer of version 1 may fail while processes begin others.
func (c *container) pause(ctx context.Context) error {
	for {
		_, err := c.tell(ctx, "pause", c.name)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (c *container) unpause() {
	ctx, cancel := context.WithTimeout(context.Background(), freezing)
	defer cancel()
	_, _ = c.tell(ctx, "unpause", c.name) // it may have been killed
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
	if _, err := c.tell(ctx, "image", "inspect", s.Image); err != nil {
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

// RemoveAbandoned removes the containers of those of us that were killed together with
// what was to remove them.
func (s *Sandbox) RemoveAbandoned(ctx context.Context) error {
	if s.Kind != Container {
		return nil
	}
	c, err := s.engine()
	if err != nil {
		return err
	}
	names, err := c.tell(ctx, "ps", "--all", "--filter", "name="+prefix, "--format", "{{.Names}}")
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(names) {
		words := strings.Split(strings.TrimPrefix(name, prefix), "-")
		if len(words) != 3 || !strings.HasPrefix(name, prefix) {
			continue
		}
		if pid, wrong := strconv.Atoi(words[0]); wrong == nil && owner(pid) != words[0]+"-"+words[1] {
			c.name = name
			_, failed := c.tell(ctx, c.removal()[1:]...)
			err = errors.Join(err, failed)
		}
	}
	return err
}

// owner is a process by its id and the time at which it was started, so that another one
// of its id is not taken for it.
func owner(pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(line[max(0, bytes.LastIndexByte(line, ')')):]))
	const startTime = 20 // behind the name
	if len(fields) <= startTime {
		return fmt.Sprintf("%d-gone", pid)
	}
	return fmt.Sprintf("%d-%s", pid, fields[startTime])
}
