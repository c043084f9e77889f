//go:build !race

package scripttest

func exitAtOnce() {}
