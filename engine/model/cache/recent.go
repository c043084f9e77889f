package cache

import "sync"

// mostRecent is how many answers are remembered that are not on the disk. Runs
// that may share calls stand together in a plan, so that few are needed.
const mostRecent = 4096

// recent are the last answers that are not on the disk: because they may not be,
// hold a secret, or the disk would not take them. Configurations that send the
// same share them all the same.
type recent struct {
	mu   sync.Mutex
	of   map[Key]*entry
	keys []Key // a ring, once it is full
	next int
}

func (r *recent) find(k Key) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[k]
}

// keep remembers an answer in place of the oldest one.
func (r *recent) keep(k Key, e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[Key]*entry{}
	}
	if _, known := r.of[k]; !known {
		r.remember(k)
	}
	r.of[k] = e
}

func (r *recent) remember(k Key) {
	if len(r.keys) < mostRecent {
		r.keys = append(r.keys, k)
		return
	}
	delete(r.of, r.keys[r.next])
	r.keys[r.next] = k
	r.next = (r.next + 1) % mostRecent
}
