package cache

import "sync"

// flights are the draws that are being looked up or called right now.
type flights struct {
	mu sync.Mutex
	of map[Key]*flight
}

// flight is one of them. Once it is over, entry is its answer, or nil.
type flight struct {
	over  chan struct{}
	entry *entry
}

// join gives the flight of that key; whoever leads it has to land it.
func (f *flights) join(k Key) (joined *flight, leads bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if joined = f.of[k]; joined != nil {
		return joined, false
	}
	if f.of == nil {
		f.of = map[Key]*flight{}
	}
	joined = &flight{over: make(chan struct{})}
	f.of[k] = joined
	return joined, true
}

// land tells everybody who waits for the flight.
func (f *flights) land(k Key, led *flight, e *entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, k)
	led.entry = e
	close(led.over)
}
