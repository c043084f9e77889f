//go:build linux || darwin

package workspace

import (
	"io/fs"
	"syscall"
)

// stampOf is what the system says of a file, and whether that tells a changed file
// from an unchanged one.
func stampOf(info fs.FileInfo) (stamp, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	modified, changed := times(s)
	return stamp{size: s.Size, modified: syscall.TimespecToNsec(modified), changed: syscall.TimespecToNsec(changed), inode: s.Ino}, true
}

// noWait keeps an open from waiting for the other end of a FIFO that took a file's place.
const noWait = syscall.O_NONBLOCK
