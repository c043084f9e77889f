package sweep

import (
	"cmp"
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/replay"
)

// widest keeps one recording of each path: the one whose runs are the longest, the
// first by name among equals. The order in which recordings come changes nothing.
func widest(recordings []Recording) []Recording {
	var kept []Recording
	byName := slices.SortedStableFunc(slices.Values(recordings), func(a, b Recording) int { return cmp.Compare(a.Configuration, b.Configuration) })
	for _, r := range byName {
		same := slices.IndexFunc(kept, func(k Recording) bool {
			return replay.Apart(k.Loop, r.Loop) == "" && slices.Equal(k.Announced, r.Announced)
		})
		switch {
		case len(r.Runs) == 0:
		case same < 0:
			kept = append(kept, r)
		case r.length() > kept[same].length():
			kept[same] = r
		}
	}
	if len(kept) == 0 {
		return recordings[:1]
	}
	slices.SortStableFunc(kept, func(a, b Recording) int { return placeOf(recordings, &a) - placeOf(recordings, &b) })
	return kept
}

// placeOf is where a recording stands among others.
func placeOf(recordings []Recording, r *Recording) int {
	return slices.IndexFunc(recordings, func(o Recording) bool { return o.Configuration == r.Configuration })
}

// length is the mean number of iterations of a run.
func (r *Recording) length() float64 {
	var sum int
	for i := range r.Runs {
		sum += len(r.Runs[i].Run.Iterations)
	}
	return float64(sum) / float64(len(r.Runs))
}

// slot is what runs are paired by.
type slot struct {
	task  string
	trial int
}

func (r *Run) slot() slot { return slot{r.Run.Task, r.Run.Trial} }

// paired keeps the runs that every recording has, in the order of the first.
func paired(recordings []Recording) (kept []Recording, left int) {
	has := map[slot]int{}
	for i := range recordings {
		for k := range recordings[i].Runs {
			has[recordings[i].Runs[k].slot()]++
		}
	}
	place := map[slot]int{}
	for k := range recordings[0].Runs {
		if at := recordings[0].Runs[k].slot(); has[at] == len(recordings) {
			place[at] = len(place)
		}
	}
	for _, r := range recordings {
		left += len(r.Runs) - len(place)
		runs := make([]Run, len(place))
		for k := range r.Runs {
			if at, ok := place[r.Runs[k].slot()]; ok {
				runs[at] = r.Runs[k]
			}
		}
		r.Runs = runs
		kept = append(kept, r)
	}
	return kept, left
}

// names are the scores of all recordings, in the order in which they occur.
func names(recordings []Recording) []string {
	var all []string
	for i := range recordings {
		for _, name := range recordings[i].Scores {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// align puts the scores into the order of the names, and finds their bounds.
func (r *Recording) align(names []string) {
	at := make([]int, len(names))
	reads, bounds := make([]Reads, len(names)), make([]Range, len(names))
	for i, name := range names {
		at[i], bounds[i] = slices.Index(r.Scores, name), Range{0, 1}
		if at[i] >= 0 && r.Reads != nil {
			reads[i] = r.Reads[at[i]]
		}
		if at[i] >= 0 && r.Bounds != nil {
			bounds[i] = r.Bounds[at[i]]
		}
	}
	declared := r.Bounds != nil
	r.Scores, r.Reads, r.Bounds = names, reads, bounds
	runs := make([]Run, len(r.Runs))
	for k := range runs {
		runs[k].Recorded, runs[k].Scores = r.Runs[k].Recorded, make([][]float64, len(names))
		for i, from := range at {
			if from >= 0 && from < len(r.Runs[k].Scores) {
				runs[k].Scores[i] = r.Runs[k].Scores[from]
			}
		}
	}
	r.Runs = runs
	if !declared {
		r.unbind()
	}
}

// unbind says of scores with values that lie outside of their bounds that they
// have none.
func (r *Recording) unbind() {
	for k := range r.Runs {
		for i, values := range r.Runs[k].Scores {
			if slices.ContainsFunc(values, func(v float64) bool { return v < 0 || v > 1 }) {
				r.Bounds[i] = Range{math.Inf(-1), math.Inf(1)}
			}
		}
	}
}
