package spec

import (
	"iter"

	"github.com/agentbench/agentbench/spec/source"
)

// taken are the tasks of the suite in the order in which they are run.
func (d *Document) taken() iter.Seq2[placedTask, error] {
	switch {
	case d.Suite == nil || !d.Suite.Tasks.byLot():
		return d.first(d.eligible(nil))
	case d.Suite.Tasks.isShuffled():
		return d.shuffled
	}
	return d.sampled
}

// first ends the tasks where their limit is reached.
func (d *Document) first(tasks iter.Seq2[placedTask, error]) iter.Seq2[placedTask, error] {
	if d.Suite == nil || d.Suite.Tasks.Limit == 0 {
		return tasks
	}
	return func(yield func(placedTask, error) bool) {
		left := d.Suite.Tasks.Limit
		for placed, err := range tasks {
			if !yield(placed, err) {
				return
			}
			if err == nil {
				left--
			}
			if left == 0 {
				return
			}
		}
	}
}

// drawing draws, where that was not done yet. The faults of a survey are those of the tasks; they are told once.
func (d *Document) drawing() (*drawn, source.Faults) {
	if known := d.drawn.get(); known != nil {
		return known, nil
	}
	_, faults := d.CountTasks()
	return d.drawn.get(), faults
}

// sampled streams the tasks, and leaves out those that are not drawn.
func (d *Document) sampled(yield func(placedTask, error) bool) {
	drawn, faults := d.drawing()
	if faults.Err() != nil && !yield(placedTask{}, faults) {
		return
	}
	lots, number := drawn.lots, int32(0)
	for placed, err := range d.eligible(nil) {
		switch {
		case len(lots) == 0:
			return
		case err != nil:
			continue // told by the survey
		case number == lots[0].number:
			if keyOf(placed.task.ID) != lots[0].key {
				err = placed.row.changed()
			}
			if !yield(placed, err) {
				return
			}
			lots = lots[1:]
		}
		number++
	}
}

// shuffled reads the tasks from where they stand, one after the other in the order drawn.
func (d *Document) shuffled(yield func(placedTask, error) bool) {
	drawn, faults := d.drawing()
	if faults.Err() != nil && !yield(placedTask{}, faults) {
		return
	}
	reader := &lotReader{document: d, drawn: drawn, open: map[int32]seekable{}}
	defer reader.close()
	for i := range drawn.lots {
		placed, err := reader.task(&drawn.lots[i])
		if err == nil {
			err = d.Suite.cluster(placed)
		}
		if !yield(placed, err) {
			return
		}
	}
}

// changed says that a file has become another since the tasks were drawn.
func (f *dataFile) changed() error {
	return &fileError{what: f.name + " was changed while it was read"}
}
