package tune

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/stats"
)

// A race decides which paths are worth more calls. Parameters that need calls
// (prompts, models, limits of phases that another follows) make paths; what
// replay answers exactly is free on each of them. So the arms of a race are
// paths: each is recorded under its loosest limits, on the same tasks in one
// order that is fixed before, and represents all of its candidates.
//
// An arm is out once every one of its candidates is shown to be worse than what
// is recorded of the arm that leads, by more than the rule of choice may give away
// for the cost: over the tasks that both have, the evidence of that is at least
// (arms - 1) / alpha (STATISTICS, sections 3 and 5.4; [stats.MeanEvidence]). One
// may look at any time. The best candidate of all is compared with what is recorded
// of each other arm, each of which puts it out with a chance of at most
// alpha / (arms - 1): so its arm is out with one of at most alpha, however many
// candidates and looks there are.
//
// Where there are more than [FewArms], successive halving puts most of them out
// after a part of the tasks, without that being shown: the choice is then told
// apart from what is shown.

const (
	// FewArms are raced by evidence alone.
	FewArms = 8
	// LastArms are what successive halving leaves to the evidence.
	LastArms = 3
	// halvingBase is eta: one of so many arms stays (L. Li et al., JMLR 18, 2018).
	halvingBase = 3
	// firstTasks is how many tasks an arm runs before it is looked at, as the
	// firstTest of irace.
	firstTasks = 5
	// looks is how often a race is looked at, where tasks allow it.
	looks = 20
)

// RaceOptions are those of a race; the zero value is the usual one.
type RaceOptions struct {
	Alpha  float64 // the chance to put the best out, where that is shown; 0: 0.05
	Margin float64 // by how much a score may be behind and still be chosen, for its cost
	Block  int     // tasks between two looks; 0: a twentieth of them, and no less than 5
	// Stays are arms that halving leaves in, such as today's configuration: they are
	// out only where they are shown to be worse.
	Stays []int
}

// Race is who is still in it. It is pure: the scores are the caller's.
type Race struct {
	arms, tasks int
	options     RaceOptions
	rungs       []stats.Rung // nil: arms leave by evidence alone
	out         []Out        // by arm
	done        int          // tasks at the last look
	lead        int          // who led there; -1: unknown
}

// Arm is what is known of one arm at a look.
type Arm struct {
	// Recorded is the candidate that was recorded itself.
	Recorded int
	// Scores are by candidate, and by task in the order of the race: the mean over
	// trials, from 0 to 1, more is better, NaN where it is not known.
	Scores [][]float64
}

// Out is how an arm left a race. Its zero value is that of an arm that is in.
type Out struct {
	After int // tasks
	By    int // the arm that led
	// Shown reports whether it is shown to be worse; else it was only behind when the
	// worse ones were put out.
	Shown bool
	// Evidence is the least of its candidates: against the best of them.
	Evidence float64
	// Behind is how far the best of its candidates was behind, in score.
	Behind float64
}

// NewRace begins a race of so many arms over so many tasks.
func NewRace(arms, tasks int, o RaceOptions) *Race {
	o.Alpha, o.Block = cmp.Or(o.Alpha, 0.05), cmp.Or(o.Block, max(firstTasks, (tasks+looks-1)/looks))
	return &Race{arms: arms, tasks: tasks, options: o, rungs: rungsOf(arms, tasks), out: make([]Out, arms), lead: -1}
}

// rungsOf are those of the shallowest halving that ends with LastArms, or of the
// deepest that has firstTasks on its first rung.
func rungsOf(arms, tasks int) (rungs []stats.Rung) {
	if arms <= FewArms {
		return nil
	}
	for halvings := 1; ; halvings++ {
		deeper, ok := stats.SuccessiveHalving(arms, tasks, halvingBase, halvings)
		if !ok || deeper[0].Resource < firstTasks {
			return rungs
		}
		rungs = deeper
		if last := &rungs[halvings]; last.Rows <= LastArms {
			last.Rows = LastArms
			return rungs
		}
	}
}

// Left are the arms that are in.
func (r *Race) Left() (left []int) {
	for a := range r.out {
		if r.in(a) {
			left = append(left, a)
		}
	}
	return left
}

func (r *Race) in(arm int) bool { return r.out[arm].After == 0 }

// Outs are how the arms left, by arm.
func (r *Race) Outs() []Out { return slices.Clone(r.out) }

// Bound is the evidence that puts an arm out.
func (r *Race) Bound() float64 { return float64(max(1, r.arms-1)) / r.options.Alpha }

// Next is after how many tasks there is the next look. Once one arm is left, and
// where there is only one from the start, nothing is to be decided any more.
func (r *Race) Next() int {
	if len(r.Left()) <= 1 {
		return r.tasks
	}
	next := min(r.tasks, r.done+r.options.Block)
	for _, rung := range r.rungs {
		if rung.Resource > r.done {
			next = min(next, rung.Resource)
		}
	}
	return next
}

// Look puts out who is worse after so many tasks. Of arms that are out nothing is
// read. After the last task none leaves: it has all runs, like those that stayed.
func (r *Race) Look(arms []Arm, tasks int) {
	standings, lead := r.standings(arms)
	r.done, r.lead = tasks, lead
	if lead < 0 || tasks >= r.tasks {
		return
	}
	for i := range standings {
		if s := &standings[i]; s.arm != lead && s.evidence >= r.Bound() {
			r.out[s.arm] = s.out(tasks, lead, true)
		}
	}
	r.halve(standings, tasks, lead)
}

// standing is an arm compared with the one that leads.
type standing struct {
	arm      int
	evidence float64 // the least of its candidates, or one of them that is not enough
	behind   float64 // the least of its candidates
}

func (s *standing) out(tasks, lead int, shown bool) Out {
	return Out{After: tasks, By: lead, Shown: shown, Evidence: s.evidence, Behind: s.behind}
}

// standings are those of the arms that are in, and the arm that leads: the one
// that is best as it was recorded, the first among equals; -1 where no score is
// known.
func (r *Race) standings(arms []Arm) (all []standing, lead int) {
	lead, best := -1, math.Inf(-1)
	for _, a := range r.Left() {
		known := slices.DeleteFunc(slices.Clone(arms[a].Scores[arms[a].Recorded]), math.IsNaN)
		if mean, ok := stats.Mean(known); ok && mean > best {
			lead, best = a, mean
		}
	}
	if lead < 0 {
		return nil, lead
	}
	against := arms[lead].Scores[arms[lead].Recorded]
	for _, a := range r.Left() {
		all = append(all, r.standing(a, arms[a].Scores, against))
	}
	return all, lead
}

// standing compares the candidates of an arm with the scores of another. One that
// is not shown to be worse is enough to know.
func (r *Race) standing(arm int, candidates [][]float64, against []float64) standing {
	s := standing{arm: arm, evidence: math.Inf(1), behind: math.Inf(1)}
	for _, scores := range candidates {
		differences := differencesOf(scores, against)
		s.behind = min(s.behind, -stats.Sum(differences)/float64(max(1, len(differences))))
		if s.evidence >= r.Bound() {
			evidence, _ := stats.MeanEvidence(differences, r.options.Margin) // none, where scores leave 0 to 1
			s.evidence = min(s.evidence, evidence)
		}
	}
	return s
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

// halve puts out the last ones at a rung, but for those that stand equal with the
// last one that stays.
func (r *Race) halve(standings []standing, tasks, lead int) {
	at := slices.IndexFunc(r.rungs, func(rung stats.Rung) bool { return rung.Resource == tasks })
	if at < 0 || at+1 == len(r.rungs) {
		return
	}
	left := slices.DeleteFunc(standings, func(s standing) bool { return !r.in(s.arm) })
	slices.SortStableFunc(left, func(a, b standing) int { return cmp.Compare(a.behind, b.behind) })
	keep := r.rungs[at+1].Rows
	for _, s := range left[min(keep, len(left)):] {
		if s.arm != lead && !slices.Contains(r.options.Stays, s.arm) && s.behind > left[keep-1].behind {
			r.out[s.arm] = s.out(tasks, lead, false)
		}
	}
}

// RaceOrder is the order in which tasks are run, or clusters of them: one that the
// seed alone fixes, whatever the order in which they come.
func RaceOrder(ids []string, seed int64) []string {
	order, keys := slices.Clone(ids), make(map[string]string, len(ids))
	for _, id := range ids {
		sum := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, uint64(seed)), id...))
		keys[id] = string(sum[:])
	}
	slices.SortFunc(order, func(a, b string) int { return cmp.Compare(keys[a], keys[b]) })
	return order
}

// Lines tell how the race went with arms of these names, a sentence each, names as quote
// shows them. score is the one that is raced by; "" where the objective is not the mean
// of one, so that every arm stays.
func (r *Race) Lines(names []string, score string, quote func(string) string) (lines []string) {
	if len(names) < 2 {
		return nil
	}
	var left, worse, behind []string
	for a, name := range names {
		switch {
		case r.in(a):
			left = append(left, quote(name))
		case r.out[a].Shown:
			worse = append(worse, quote(name))
		default:
			behind = append(behind, quote(name))
		}
	}
	lines = append(lines, fmt.Sprintf("%d paths need calls of their own; after %d of %d tasks %s left", len(names), r.done, r.tasks, are(left)))
	if score == "" {
		return append(lines, "every path stayed in the race: dropping one takes an objective that is the mean of one score from 0 to 1")
	}
	if len(worse) > 0 {
		lines = append(lines, fmt.Sprintf("%s out: shown to be worse by %s, with an evidence of %.0f or more", are(worse), quote(score), r.Bound()))
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
