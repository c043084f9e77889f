package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// stampOf is what the system says of a file, and whether that tells a changed file
// from an unchanged one.
func stampOf(info fs.FileInfo) (stamp, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	return stamp{size: s.Size, modified: syscall.TimespecToNsec(s.Mtim), changed: syscall.TimespecToNsec(s.Ctim), inode: s.Ino}, true
}

// noWait keeps an open from waiting for the other end of a FIFO that took a file's place.
const noWait = syscall.O_NONBLOCK

// locks means that tryLock tells whether a process holds a file.
const locks = true

// tryLock reports whether the file is now this process's own, until it is closed.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// ficlone is FICLONE of linux/fs.h on the architectures with the usual numbers; on others it is an
// unknown request, which leads to a copy.
const ficlone = 0x40049409

// clone makes one file share the blocks of another, which still change for each alone.
func clone(to, from *os.File) error {
	_, _, code := syscall.Syscall(syscall.SYS_IOCTL, to.Fd(), ficlone, from.Fd())
	if code != 0 {
		return code
	}
	return nil
}
