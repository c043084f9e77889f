package record

import (
	"fmt"
	"runtime/debug"
	"time"
)

// group is what is written and synced together.
type group struct {
	lines [3][]byte // for each file
	done  []func(error)
	since time.Time // when it began, if it is not empty
}

func (g *group) size() int { return len(g.lines[0]) + len(g.lines[1]) + len(g.lines[2]) }

// add puts lines behind those that wait; they may be other ones afterwards.
func (g *group) add(lines *[3][]byte, done func(error)) {
	if g.size() == 0 {
		g.since = time.Now()
	}
	for i := range lines {
		if len(g.lines[i]) == 0 && len(lines[i]) > fullGroup {
			g.lines[i], lines[i] = lines[i], g.lines[i] // not copied: it may be huge
			continue
		}
		g.lines[i] = append(g.lines[i], lines[i]...)
	}
	if done != nil {
		g.done = append(g.done, done)
	}
}

// finish tells everyone what became of the group and empties it.
func (g *group) finish(err error) {
	for _, done := range g.done {
		done(err)
	}
	clear(g.done)
	g.done = g.done[:0]
	for i := range g.lines {
		g.lines[i] = emptied(g.lines[i])
	}
}

// emptied keeps a buffer's memory, but not that of an extraordinary run.
func emptied(buffer []byte) []byte {
	if cap(buffer) > 2*mostPending {
		return nil
	}
	return buffer[:0]
}

// commit writes one group after the other until the journal is closed.
func (j *Journal) commit() {
	defer close(j.ended)
	for {
		g, last := j.take()
		j.settle(g)
		j.giveBack(g)
		if last {
			return
		}
	}
}

// settle writes a group and tells everyone what became of it. A panic ends the
// journal as an error does: who reads the error says it without its secrets,
// which the runtime would not.
func (j *Journal) settle(g *group) {
	defer func() {
		if cause := recover(); cause != nil {
			j.fail(fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
			g.done = nil // it may have been one of them
			g.finish(nil)
		}
	}()
	g.finish(j.write(g))
}

// take waits for a group and takes it over; the last one may be empty.
func (j *Journal) take() (g *group, last bool) {
	if begun, wait := j.awaitFirst(); wait {
		j.awaitOthers(begun)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	select {
	case <-j.hurry: // it was meant for this group
	default:
	}
	g, j.pending, j.spare, j.writing = j.pending, j.spare, nil, true
	j.changed.Broadcast()
	return g, j.closed
}

// awaitFirst waits until something is pending, and says since when it is and
// whether to wait for more.
func (j *Journal) awaitFirst() (begun time.Time, wait bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.pending.size() == 0 && !j.closed {
		j.changed.Wait()
	}
	return j.pending.since, j.pending.size() < fullGroup && !j.closed
}

func (j *Journal) awaitOthers(begun time.Time) {
	timer := time.NewTimer(j.delay - time.Since(begun))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-j.hurry:
	}
}

// giveBack keeps the memory of a group for the one after the next.
func (j *Journal) giveBack(g *group) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.spare, j.writing = g, false
	j.changed.Broadcast()
}

// write writes a group; its first error is the journal's last word.
func (j *Journal) write(g *group) error {
	if j.err != nil || g.size() == 0 {
		return j.err
	}
	err := j.writeFiles(g)
	if err != nil {
		j.fail(err)
	}
	return err
}

// fail lets nothing more be written.
func (j *Journal) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = err
	j.changed.Broadcast()
}

// writeFiles has the records on the disk before it begins with the others.
func (j *Journal) writeFiles(g *group) error {
	if err := j.writeFile(0, g); err != nil {
		return err
	}
	if err := j.writeFile(1, g); err != nil {
		return err
	}
	return j.writeFile(2, g)
}

func (j *Journal) writeFile(i int, g *group) error {
	if len(g.lines[i]) == 0 {
		return nil
	}
	if _, err := j.files[i].Write(g.lines[i]); err != nil {
		return writing(err)
	}
	return writing(j.files[i].Sync())
}

func writing(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing the results: %w", err)
}
