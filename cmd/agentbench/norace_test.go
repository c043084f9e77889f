//go:build !race

package main

const raceEnabled = false

func exitAtOnce() {}
