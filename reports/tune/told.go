package tune

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Order is the order in which tasks are run, or clusters of them: one that the
// seed alone fixes, whatever the order in which they come.
func RaceOrder(ids []string, seed int64) []string {
	order := slices.Clone(ids)
	key := func(id string) string {
		sum := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, uint64(seed)), id...))
		return string(sum[:])
	}
	keys := make(map[string]string, len(ids))
	for _, id := range ids {
		keys[id] = key(id)
	}
	slices.SortFunc(order, func(a, b string) int { return cmp.Compare(keys[a], keys[b]) })
	return order
}

// Told is how a race of recorded paths went, for people.
type RaceNews struct {
	Tasks int     `json:"tasks"`    // of the race, or clusters of them
	Done  int     `json:"done"`     // that were run of the arms that are left
	Bound float64 `json:"evidence"` // that puts an arm out
	// Score is the score that is raced by; "" where the objective is not the mean of
	// one, so that nothing is put out.
	Score string    `json:"score"`
	Arms  []RaceArm `json:"paths"` // in the order declared
}

// ToldArm is a path of the race.
type RaceArm struct {
	Name  string `json:"name"`
	Tasks int    `json:"tasks"` // run of it
	// Fate is "left", "worse" (shown to be), or "behind": put out among many without
	// that being shown.
	Fate     Fate    `json:"fate"`
	By       string  `json:"by,omitempty"` // who led
	Behind   float64 `json:"behind,omitempty"`
	Evidence float64 `json:"evidence,omitempty"`
}

// Fate says how an arm left a race, or that it did not.
type Fate string

// The fates.
const (
	StillIn Fate = "left"
	Worse   Fate = "worse"
	Behind  Fate = "behind"
)

// Told is how the race went with arms of these names.
func (r *Race) Told(names []string, score string) *RaceNews {
	raced := &RaceNews{Tasks: r.tasks, Done: r.done, Bound: r.Bound(), Score: score}
	for a, name := range names {
		out, arm := &r.out[a], RaceArm{Name: name, Tasks: r.done, Fate: StillIn}
		if !r.in(a) {
			arm = RaceArm{Name: name, Tasks: out.After, Fate: Behind, By: names[out.By], Behind: out.Behind, Evidence: out.Evidence}
			if out.Shown {
				arm.Fate = Worse
			}
		}
		raced.Arms = append(raced.Arms, arm)
	}
	return raced
}

// Undecided says that the answer may be another one than that of running
// everything: the race ended early with several arms, or put some out that are
// not shown to be worse.
func (r *RaceNews) Undecided() bool {
	left := 0
	for i := range r.Arms {
		if r.Arms[i].Fate == Behind {
			return true
		}
		if r.Arms[i].Fate == StillIn {
			left++
		}
	}
	return left > 1 && r.Done < r.Tasks
}

// Lines tell of the race, a sentence each, names as quote shows them.
func (r *RaceNews) Lines(quote func(string) string) (lines []string) {
	if len(r.Arms) < 2 {
		return nil
	}
	left, worse, behind := r.names(StillIn, quote), r.names(Worse, quote), r.names(Behind, quote)
	lines = append(lines, fmt.Sprintf("%d paths need calls of their own; after %d of %d tasks %s left", len(r.Arms), r.Done, r.Tasks, are(left)))
	if r.Score == "" {
		return append(lines, "no path was put out early: the objective is not the mean of one score from 0 to 1, so that wins and losses of tasks do not tell it")
	}
	if len(worse) > 0 {
		lines = append(lines, fmt.Sprintf("%s out: shown to be worse by %s, with an evidence of %.0f or more", are(worse), quote(r.Score), r.Bound))
	}
	if len(behind) > 0 {
		lines = append(lines, "cannot tell whether one of them is the best: "+are(behind)+" out for being behind after a part of the tasks, which does not show that they are worse")
	}
	if len(left) > 1 && r.Done < r.Tasks {
		lines = append(lines, "cannot tell which is better: "+are(left)+" left, and the recording ended early")
	}
	return lines
}

// names are the arms of a fate.
func (r *RaceNews) names(fate Fate, quote func(string) string) (names []string) {
	for i := range r.Arms {
		if r.Arms[i].Fate == fate {
			names = append(names, quote(r.Arms[i].Name))
		}
	}
	return names
}

// namedArms are how many of many are named.
const namedArms = 3

// are names some, with the verb: "a is", "a and b are", "a, b, c and 5 others are".
func are(names []string) string {
	switch more := len(names) - namedArms; {
	case len(names) == 0:
		return "none is"
	case len(names) == 1:
		return names[0] + " is"
	case more == 1:
		return strings.Join(names[:namedArms], ", ") + " and another one are"
	case more > 1:
		return fmt.Sprintf("%s and %d others are", strings.Join(names[:namedArms], ", "), more)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last] + " are"
}
