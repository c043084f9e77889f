package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/stats"
)

// A race decides which paths are worth more calls, by successive halving. Parameters that
// need calls (prompts, models, limits of phases that another follows) make paths; what
// replay answers exactly is free on each of them. So each path is recorded under its loosest
// limits, on the same tasks in one order that is fixed before, and stands for the best of
// its candidates. The worse two thirds leave after a part of the tasks, without that being
// shown, until LastPaths are left.

const (
	// LastPaths run all tasks.
	LastPaths = 3
	// halvingBase is eta: one of so many paths stays (L. Li et al., JMLR 18, 2018).
	halvingBase = 3
	// firstTasks is how many tasks a path runs before it is looked at, as the
	// firstTest of irace.
	firstTasks = 5
)

// Race is who is still in it. It is pure: the scores are the caller's.
type Race struct {
	paths, tasks int
	stays        []int        // paths that stay in, such as today's configuration
	rungs        []stats.Rung // nil: all stay
	out          []int        // by path: after how many tasks it left; 0: it is in
	done         int          // tasks at the last look
}

// NewRace begins a race of so many paths over so many tasks.
func NewRace(paths, tasks int, stays []int) *Race {
	return &Race{paths: paths, tasks: tasks, stays: stays, rungs: rungsOf(paths, tasks), out: make([]int, paths)}
}

// rungsOf are those of the shallowest halving that ends with LastPaths, or of the
// deepest that has firstTasks on its first rung.
func rungsOf(paths, tasks int) (rungs []stats.Rung) {
	if paths <= LastPaths {
		return nil
	}
	for halvings := 1; ; halvings++ {
		deeper, ok := stats.SuccessiveHalving(paths, tasks, halvingBase, halvings)
		if !ok || deeper[0].Resource < firstTasks {
			return rungs
		}
		rungs = deeper
		if last := &rungs[halvings]; last.Rows <= LastPaths {
			last.Rows = LastPaths
			return rungs
		}
	}
}

// In reports whether a path is in.
func (r *Race) In(path int) bool { return r.out[path] == 0 }

// Outs are after how many tasks the paths left, by path; 0: it is in.
func (r *Race) Outs() []int { return slices.Clone(r.out) }

// Next is after how many tasks there is the next look.
func (r *Race) Next() int {
	for _, rung := range r.rungs {
		if rung.Resource > r.done {
			return rung.Resource
		}
	}
	return r.tasks
}

// Look puts out who is behind after so many tasks. scores are by path, candidate and task in
// the order of the race: from 0 to 1, more is better, NaN where it is not known; the first
// candidate is what was recorded. Of paths that are out nothing is read. Nobody who stands
// equal with one who stays leaves, nobody of whom no score is known, and after the last task none.
func (r *Race) Look(scores [][][]float64, tasks int) {
	r.done = tasks
	at := slices.IndexFunc(r.rungs, func(rung stats.Rung) bool { return rung.Resource == tasks })
	if at < 0 || at+1 == len(r.rungs) {
		return
	}
	behind := r.behind(scores)
	order := make([]int, 0, r.paths)
	for path := range r.out {
		if r.In(path) {
			order = append(order, path)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(behind[a], behind[b]) })
	keep := r.rungs[at+1].Rows
	for _, path := range order[min(keep, len(order)):] {
		if !slices.Contains(r.stays, path) && behind[path] > behind[order[keep-1]] {
			r.out[path] = tasks
		}
	}
}

// behind is how far the best candidate of each path is behind the path that is best as it
// was recorded, in mean score over the tasks that both have; 0 where that is not known.
func (r *Race) behind(scores [][][]float64) []float64 {
	lead, best := -1, math.Inf(-1)
	for path := range r.out {
		known := slices.DeleteFunc(slices.Clone(scores[path][0]), math.IsNaN)
		if mean, ok := stats.Mean(known); ok && r.In(path) && mean > best {
			lead, best = path, mean
		}
	}
	all := make([]float64, r.paths)
	for path := range r.out {
		if lead < 0 || !r.In(path) {
			continue
		}
		all[path] = math.Inf(1)
		for _, candidate := range scores[path] {
			d := differencesOf(scores[lead][0], candidate)
			all[path] = min(all[path], stats.Sum(d)/float64(max(1, len(d))))
		}
	}
	return all
}

// differencesOf are those of the tasks that both have. Scores that differ by no
// more than a float64 does are equal.
func differencesOf(scores, against []float64) (differences []float64) {
	for task := range min(len(scores), len(against)) {
		if d := scores[task] - against[task]; !math.IsNaN(d) {
			differences = append(differences, math.Round(d*1e9)/1e9)
		}
	}
	return differences
}

// Lines tell how the race went with paths of these names, a sentence each, names as quote
// shows them. score is the one that is raced by; "" where the objective is not the mean
// of one, so that every path stays.
func (r *Race) Lines(names []string, score string, quote func(string) string) (lines []string) {
	if len(names) < 2 {
		return nil
	}
	var left, behind []string
	for path, name := range names {
		if r.In(path) {
			left = append(left, quote(name))
		} else {
			behind = append(behind, quote(name))
		}
	}
	lines = append(lines, fmt.Sprintf("%d paths need calls of their own; %s left", len(names), are(left)))
	if score == "" {
		return append(lines, "every path stayed in the race: dropping one takes an objective that is the mean of one score from 0 to 1")
	}
	if len(behind) > 0 {
		lines = append(lines, "inconclusive whether one of them is the best: "+are(behind)+" out for being behind after a part of the tasks, which does not prove that they are worse")
	}
	if len(left) > 1 && r.done < r.tasks {
		lines = append(lines, "inconclusive which is better: "+are(left)+" left, and the recording ended early")
	}
	return lines
}

// are names some, with the verb: "a is", "a and b are", "a, b, c and 5 others are".
func are(names []string) string {
	const named = 3
	switch more, last := len(names)-named, len(names)-1; {
	case len(names) == 0:
		return "none is"
	case len(names) == 1:
		return names[0] + " is"
	case more == 1:
		return strings.Join(names[:named], ", ") + " and another one are"
	case more > 1:
		return fmt.Sprintf("%s and %d others are", strings.Join(names[:named], ", "), more)
	default:
		return strings.Join(names[:last], ", ") + " and " + names[last] + " are"
	}
}
