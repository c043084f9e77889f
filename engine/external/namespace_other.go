//go:build !linux

package external

import (
	"context"
	"errors"
	"os/exec"
)

// held is a program in what holds its processes: here a process group at most.
type held struct{ cmd *exec.Cmd }

// groups are control groups, of which there are none here.
type groups struct{}

func (h *held) start() error { return h.cmd.Start() }
func (h *held) kill()        { killGroup(h.cmd) }
func (h *held) afterwards()  { killGroup(h.cmd) } // its children
func (h *held) release()     {}
func (h *held) thaw()        {}

func (h *held) freeze(context.Context) error {
	return errors.New("programs are frozen on Linux only")
}

// keeps is false: there are no PID namespaces here.
func (c *Confinement) keeps() bool { return false }

var errNoNamespaces = errors.New("this system has no PID namespaces")

func (c *Confinement) hold(namespace, *container, ...string) (*held, error) {
	return nil, errNoNamespaces
}

func (c *Confinement) try(namespace) error { return errNoNamespaces }

func refused(error) bool { return false }

// outlived is why what a program starts may outlive it.
func (c *Confinement) outlived() string {
	return "this system has no PID namespaces: what leaves the program's process group is not ended with it"
}

func ourLimits() []string { return nil }
