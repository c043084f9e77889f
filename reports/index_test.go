package reports

import (
	"fmt"
	"testing"
)

// Ids are found by their numbers, however many more come than were expected; what
// was never added is not found.
func TestIndexFindsWhatWasAdded(t *testing.T) {
	for _, expected := range []int{0, 10, 5000} {
		x := newIndex(expected)
		for n := range 3000 {
			if got := x.find(fmt.Sprint(n)); got != -1 {
				t.Fatalf("%d is found before it is added, as %d", n, got)
			}
			x.add(fmt.Sprint(n))
		}
		for n := range 3000 {
			if got := x.find(fmt.Sprint(n)); got != int32(n) {
				t.Fatalf("%d is found as %d, with %d expected", n, got, expected)
			}
		}
	}
}

// Ids whose hashes want the same slot stand behind each other, around the end.
func TestIndexGoesAroundItsEnd(t *testing.T) {
	x := newIndex(0)
	for n := range 5 {
		x.hashes = append(x.hashes, uint64(len(x.slots)*(n+1)-1))
		x.slots[x.slot(x.hashes[n])] = int32(n + 1)
	}
	for n, hash := range x.hashes {
		if got := x.slots[x.slot(hash)] - 1; got != int32(n) {
			t.Errorf("%d is found as %d", n, got)
		}
	}
}
