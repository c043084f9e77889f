//go:build unix

package sweep
