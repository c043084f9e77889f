package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func stampOf(info fs.FileInfo) (stamp, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	return stamp{size: s.Size, modified: syscall.TimespecToNsec(s.Mtimespec), changed: syscall.TimespecToNsec(s.Ctimespec), inode: s.Ino}, true
}

const noWait = syscall.O_NONBLOCK

const locks = true

func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func clone(_, _ *os.File) error { return errors.ErrUnsupported }
