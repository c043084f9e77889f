package external

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentbench/agentbench/engine/external/confine"
)

// freeze returns when all processes of the program stand still. Its control group
// freezes most of them; those outside of it are stopped one by one. Where it fails, some
// do stand still.
func (h *held) freeze(ctx context.Context) error {
	if h.lifeline == nil {
		return errors.New("nothing but a process group holds it, which its processes may leave")
	}
	h.already = nil
	if !h.begun {
		if err := h.answered(ctx); err != nil {
			return err
		}
		h.begun = true
	}
	if h.container.pauses() {
		return h.container.pause(ctx)
	}
	if err := h.group.freeze(ctx); err != nil {
		return err
	}
	return h.stopAll(ctx)
}

// stopAll stops the processes one by one until none moves. Those of a namespace are all
// stopped at once first. Elsewhere, who hands himself on to a new child is not always
// seen, but is when he is looked for often enough.
func (h *held) stopAll(ctx context.Context) error {
	all := h.processes()
	h.already = map[int]bool{}
	for _, pid := range all {
		h.already[pid] = stateOf(pid) == stopped
	}
	if h.group != nil && len(all) == 0 {
		return nil
	}
	atOnce, enough := h.namespace.pid && h.group == nil, 20
	if atOnce {
		enough = 2
	}
	var before []int
	stuck := time.Time{}
	for still := 0; ; {
		if atOnce {
			if err := h.ask(ctx, confine.Stop); err != nil {
				return err
			}
		}
		all = h.processes()
		moving, err := h.stop(all)
		if err != nil {
			return err
		}
		if still++; len(moving) > 0 || !slices.Equal(all, before) {
			still = 0
		}
		if still == enough {
			return nil
		}
		before = all
		switch waits := onlyWaiting(moving); {
		case !waits:
			stuck = time.Time{}
		case stuck.IsZero():
			stuck = time.Now()
		case time.Since(stuck) > 10*time.Millisecond:
			h.letChildrenBegin(moving)
			stuck = time.Time{}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %s does not stand still: %w", describe(moving), context.Cause(ctx))
		case <-time.After(100 * time.Microsecond):
		}
	}
}

// ask tells the keeper to do something, and waits until it is done. What is not done in
// time is done later.
func (h *held) ask(ctx context.Context, what byte) error {
	if err := h.settle(ctx); err != nil {
		return err
	}
	if _, err := h.lifeline.Write([]byte{what}); err != nil {
		return err
	}
	h.asked = true
	return h.settle(ctx)
}

// settle waits for the answer that the keeper owes.
func (h *held) settle(ctx context.Context) error {
	if !h.asked {
		return nil
	}
	if err := h.answered(ctx); err != nil {
		return err
	}
	h.asked = false
	return nil
}

func (h *held) answered(ctx context.Context) error {
	_ = h.lifeline.SetReadDeadline(time.Time{}) // of an earlier call
	late := make(chan struct{})
	waiting := context.AfterFunc(ctx, func() {
		_ = h.lifeline.SetReadDeadline(time.Now())
		close(late)
	})
	defer func() {
		if !waiting() {
			<-late // it must not end a later call
		}
	}()
	_, err := h.lifeline.Read(make([]byte, 1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("its keeper does not answer: %w", context.Cause(ctx))
	}
	return err
}

// processes are those that have to be stopped one by one.
func (h *held) processes() []int {
	grouped, ours := h.group.members(), ""
	if h.container != nil {
		ours, _ = os.Readlink("/proc/self/ns/pid")
	}
	return slices.DeleteFunc(confine.Descendants(h.cmd.Process.Pid), func(pid int) bool {
		if grouped[pid] {
			return true
		}
		// What an engine of containers runs itself has to go on.
		theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
		return ours != "" && err == nil && theirs == ours
	})
}

// stop stops the processes that move, and gives them with their states.
func (h *held) stop(all []int) (moving map[int]byte, err error) {
	moving = map[int]byte{}
	for _, pid := range all {
		state := stateOf(pid)
		if state == stopped {
			continue
		}
		moving[pid] = state
		switch err := syscall.Kill(pid, syscall.SIGSTOP); {
		case errors.Is(err, syscall.EPERM):
			return nil, fmt.Errorf("process %d may not be stopped: it is another user's", pid)
		case !slices.Contains(h.stopped, pid):
			h.stopped = append(h.stopped, pid)
		}
	}
	return moving, nil
}

// The states of processes, as in /proc/PID/stat; stopped stands for traced, dead and
// gone as well.
const (
	stopped = 'T'
	waiting = 'D'
)

// stateOf is the state of the first thread of a process that does not stand still.
func stateOf(pid int) byte {
	tasks := fmt.Sprintf("/proc/%d/task", pid)
	threads, _ := os.ReadDir(tasks)
	for _, thread := range threads {
		line, _ := os.ReadFile(tasks + "/" + thread.Name() + "/stat")
		_, after, _ := strings.Cut(string(line[max(0, strings.LastIndexByte(string(line), ')')):]), " ")
		if after != "" && !strings.ContainsRune("TtZXx", rune(after[0])) {
			return after[0]
		}
	}
	return stopped
}

func onlyWaiting(moving map[int]byte) bool {
	for _, state := range moving {
		if state != waiting {
			return false
		}
	}
	return len(moving) > 0
}

// letChildrenBegin lets the stopped children of waiting processes go on for a moment: a
// process that has begun another by vfork cannot be stopped before that has begun its
// program.
func (h *held) letChildrenBegin(moving map[int]byte) {
	for pid := range moving {
		for _, child := range confine.Descendants(pid) {
			if !h.already[child] {
				_ = syscall.Kill(child, syscall.SIGCONT)
			}
		}
	}
	time.Sleep(time.Millisecond)
}

func describe(moving map[int]byte) string {
	for pid, state := range moving {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		return fmt.Sprintf("%d (%s, state %c)", pid, strings.TrimSpace(string(name)), state)
	}
	return "that has just begun"
}

// thaw lets the program run on, children before their parents: who waits for a child
// does not see it stopped.
func (h *held) thaw() {
	if h.container.pauses() {
		h.container.unpause()
		return
	}
	if h.already != nil {
		h.carryOn()
	}
	h.group.thaw()
}

// carryOn lets what was stopped one by one run on.
func (h *held) carryOn() {
	ctx, cancel := context.WithTimeout(context.Background(), freezing)
	defer cancel()
	_ = h.settle(ctx) // what was to be stopped must not be stopped later
	for _, pid := range slices.Backward(append(h.stopped, h.processes()...)) {
		if !h.already[pid] {
			_ = syscall.Kill(pid, syscall.SIGCONT) // it may have been killed
		}
	}
	h.stopped = nil
}
