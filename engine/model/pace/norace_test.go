//go:build !race

package pace

const raceEnabled = false
