package external

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentbench/agentbench/engine/external/confine"
)

// groups are the control groups that we can make below our own: of version 2, else of
// the freezer of version 1.
type groups struct {
	once    sync.Once
	own     string // the folder of our group; "": none can be made
	version confine.Group
	only    confine.Group // where not all are tried
}

// group is the control group of a program. The nil group is none.
type group struct {
	dir, own string
	version  confine.Group
	files    []*os.File // that its keeper is given
}

// find finds the first version of which we can make a group, and removes the groups of
// those of us that were killed.
func (g *groups) find() {
	table, _ := os.ReadFile("/proc/self/mountinfo")
	ours, _ := os.ReadFile("/proc/self/cgroup")
	for _, version := range []confine.Group{confine.GroupV2, confine.GroupV1} {
		if g.only != confine.NoGroup && g.only != version {
			continue
		}
		g.version, g.own = version, place(string(table), string(ours), version)
		made, err := g.attempt()
		if err != nil {
			continue
		}
		made.remove()
		abandoned, _ := filepath.Glob(filepath.Join(g.own, prefix+"*"))
		for _, dir := range abandoned {
			id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
			if pid, err := strconv.Atoi(id); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				(&group{dir: dir}).remove()
			}
		}
		return
	}
	g.version, g.own = confine.NoGroup, ""
}

// place is the folder of our own group, from /proc's tables of mounts and of groups; ""
// where it is not seen.
func place(mounts, ours string, version confine.Group) string {
	kind, controller := "cgroup2", ""
	if version == confine.GroupV1 {
		kind, controller = "cgroup", "freezer"
	}
	path := ""
	for line := range strings.Lines(ours) {
		if fields := strings.SplitN(strings.TrimSpace(line), ":", 3); len(fields) == 3 && has(fields[1], controller) {
			path = fields[2]
		}
	}
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		mount, system := strings.Fields(before), strings.Fields(after)
		if len(mount) < 5 || len(system) < 3 || system[0] != kind || controller != "" && !has(system[2], controller) {
			continue
		}
		if below, err := filepath.Rel(mount[3], path); path != "" && err == nil && !strings.HasPrefix(below, "..") {
			return filepath.Join(mount[4], below)
		}
	}
	return ""
}

// has reports whether a list that commas separate has a name.
func has(list, name string) bool { return strings.Contains(","+list+",", ","+name+",") }

// make makes a group; nil: the system gives us none. Where there are groups, one that
// cannot be made now is an error: without it, less would hold a program than is said.
func (g *groups) make() (*group, error) {
	g.once.Do(g.find)
	if g.own == "" {
		return nil, nil
	}
	return g.attempt()
}

func (g *groups) attempt() (*group, error) {
	if g.own == "" {
		return nil, fs.ErrNotExist
	}
	dir, err := os.MkdirTemp(g.own, fmt.Sprintf("%s%d-", prefix, os.Getpid()))
	if err != nil {
		return nil, err
	}
	made := &group{dir: dir, own: g.own, version: g.version}
	if err = made.open(); err == nil {
		err = made.write(made.freezer(), made.thawed())
	}
	if err != nil {
		made.remove()
		return nil, err
	}
	return made, nil
}

// open opens what a keeper needs of its group.
func (g *group) open() error {
	end := "cgroup.kill"
	if g.version == confine.GroupV1 {
		end = "freezer.state"
	}
	for _, path := range []string{filepath.Join(g.dir, "cgroup.procs"), filepath.Join(g.own, "cgroup.procs"), filepath.Join(g.dir, end)} {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		g.files = append(g.files, file)
	}
	return nil
}

func (g *group) write(name, text string) error {
	return os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0)
}

func (g *group) freezer() string {
	if g.version == confine.GroupV1 {
		return "freezer.state"
	}
	return "cgroup.freeze"
}

func (g *group) thawed() string {
	if g.version == confine.GroupV1 {
		return "THAWED"
	}
	return "0"
}

// freeze returns when all processes of the group stand still.
func (g *group) freeze(ctx context.Context) error {
	if g == nil {
		return nil
	}
	order, answers, frozen := "1", "cgroup.events", "frozen 1"
	if g.version == confine.GroupV1 {
		order, answers, frozen = "FROZEN", "freezer.state", "FROZEN"
	}
	for wait := 20 * time.Microsecond; ; wait = min(2*wait, 2*time.Millisecond) {
		if err := g.write(g.freezer(), order); err != nil {
			return err
		}
		state, err := os.ReadFile(filepath.Join(g.dir, answers))
		if err != nil || strings.Contains(string(state), frozen) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("its control group does not stand still: %w", context.Cause(ctx))
		case <-time.After(wait):
		}
	}
}

func (g *group) thaw() {
	if g != nil {
		_ = g.write(g.freezer(), g.thawed()) // it may be gone
	}
}

// kill kills what is in the group, which does not move before it dies.
func (g *group) kill() {
	switch {
	case g == nil:
	case g.version == confine.GroupV2:
		_ = g.write("cgroup.kill", "1") // it may be gone
	default:
		for pid := range g.members() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		g.thaw() // what stands still does not die
	}
}

// members are the processes of the group and of those that its processes made.
func (g *group) members() map[int]bool {
	all := map[int]bool{}
	if g == nil {
		return all
	}
	_ = filepath.WalkDir(g.dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			list, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
			for id := range strings.FieldsSeq(string(list)) {
				pid, _ := strconv.Atoi(id)
				all[pid] = true
			}
		}
		return nil
	})
	return all
}

// remove removes the group and those within it. What was killed is in it for a moment longer.
func (g *group) remove() {
	if g == nil {
		return
	}
	for _, file := range g.files {
		file.Close()
	}
	for late := time.Now().Add(time.Second); time.Now().Before(late); time.Sleep(time.Millisecond) {
		var dirs []string
		_ = filepath.WalkDir(g.dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for i := len(dirs) - 1; i >= 0; i-- {
			_ = syscall.Rmdir(dirs[i])
		}
		if _, err := os.Stat(g.dir); errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}
