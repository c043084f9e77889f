//go:build unix && !linux

package workspace

import "errors"

func mknod(string) error { return errors.ErrUnsupported }
