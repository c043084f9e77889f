//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package record

import (
	"os"
	"syscall"
)

// noFollow makes an open fail where the name is that of a link.
const noFollow = syscall.O_NOFOLLOW

func tryLock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return errLocked
	}
	return err
}
