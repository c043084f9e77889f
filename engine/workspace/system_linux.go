package workspace

import (
	"os"
	"syscall"
)

func times(s *syscall.Stat_t) (modified, changed syscall.Timespec) { return s.Mtim, s.Ctim }

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
