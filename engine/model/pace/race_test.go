//go:build race

package pace

const raceEnabled = true
