//go:build !linux

package command

func measured() { panic("only Linux tells what a process held") }
