package reports

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// sums are what is added up over the runs of a configuration that count. All
// are integers, so that the order of the runs makes no difference.
type sums struct {
	agent, judging, user record.Usage
	failed               map[record.ErrorClass]int // runs in which the agent failed
	replies              int64                     // iterations with an evaluation
	notJSON              int64                     // of which the reply was to be JSON and was not
	evaluated            int64                     // runs with an evaluation
	believed             int64                     // of which the loop believed to have succeeded
	simulated            bool
	untimed              int64                 // runs without a time
	answered             map[string]*answered  // by models of the suite
	versions             map[string]bool       // hashes of the loop
	programs             map[string]bool       // versions of programs, as they name themselves
	seeds                map[string]string     // the state that workspaces began with, by task; of tasks with several "several"
	phases               map[string]*histogram // iterations of each run, by phase
	reached              []reach               // by iteration, from 1 at index 0
	steps                []histogram           // of each run's longest iteration, one for each limit of steps
}

// reach is what the runs that reached an iteration spent in it.
type reach struct {
	runs    int64
	spent   record.Usage
	elapsed time.Duration // since the end of the iteration before
	untimed int64         // runs that do not tell it
}

func (u *sums) add(s *record.Run, head *record.ConfigurationHead) {
	u.agent, u.judging, u.user = u.agent.Plus(s.Usage), u.judging.Plus(s.Judging), u.user.Plus(s.User)
	u.simulated = u.simulated || s.Simulated
	if s.Untimed {
		u.untimed++
	}
	if s.Seed != "" {
		u.addSeed(s.Task, s.Seed)
	}
	if s.Loop != "" {
		u.versions[s.Loop] = true
	}
	if assessed(s, head) {
		u.evaluated++
		if s.Outcome.Success {
			u.believed++
		}
	}
	if class := failedBy(s); class != "" {
		u.failed[class]++
	}
	u.addReplies(s.Iterations)
	u.addAnswered(s.Iterations)
	u.addPhases(s.Iterations)
	u.addReached(s.Iterations)
	for i := range head.Steps {
		if len(u.steps) == 0 {
			u.steps = make([]histogram, len(head.Steps))
		}
		u.steps[i].add(longestIn(s, &head.Steps[i]))
	}
}

// assessed reports whether the loop has a belief at all: an iteration was evaluated, or
// its agent could have said that the task is done.
func assessed(s *record.Run, head *record.ConfigurationHead) bool {
	return head.Completes || slices.ContainsFunc(s.Iterations, func(it record.Iteration) bool { return it.Evaluation != nil })
}

// failedBy is the class of the error by which the agent failed in a run: the one
// that ended it, or the last one where no iteration went well. It is "" where the
// agent did not fail.
func failedBy(s *record.Run) record.ErrorClass {
	if e := s.Outcome.Error; s.Outcome.Status == record.Failed && e != nil {
		return e.Class
	}
	class := record.ErrorClass("")
	for i := range s.Iterations {
		if s.Iterations[i].Error == nil {
			return ""
		}
		class = s.Iterations[i].Error.Class
	}
	return class
}

func (u *sums) addReplies(iterations []record.Iteration) {
	for i := range iterations {
		e := iterations[i].Evaluation
		if e == nil {
			continue
		}
		if u.replies++; e.Fault != "" {
			u.notJSON++
		}
	}
}

func (u *sums) addPhases(iterations []record.Iteration) {
	for i := range iterations {
		phase := iterations[i].Phase
		if slices.ContainsFunc(iterations[:i], func(it record.Iteration) bool { return it.Phase == phase }) {
			continue // counted at its first iteration
		}
		n := 0
		for _, it := range iterations[i:] {
			if it.Phase == phase {
				n++
			}
		}
		if u.phases[phase] == nil {
			u.phases[phase] = &histogram{}
		}
		u.phases[phase].add(n)
	}
}

func (u *sums) addReached(iterations []record.Iteration) {
	var before time.Duration
	for i := range iterations {
		if i == len(u.reached) {
			u.reached = append(u.reached, reach{})
		}
		at := &u.reached[i]
		at.runs++
		at.elapsed += iterations[i].End - before
		before = iterations[i].End
		if iterations[i].Untimed {
			at.untimed++
		}
		at.spent = at.spent.Plus(iterations[i].Total())
	}
}

// histogram counts how many runs have each number of iterations, or of steps.
type histogram struct{ runs []int64 }

func (h *histogram) add(iterations int) {
	for iterations >= len(h.runs) {
		h.runs = append(h.runs, 0)
	}
	h.runs[iterations]++
}

// total is the number of iterations of all runs together.
func (h *histogram) total() (iterations int64) {
	for n, runs := range h.runs {
		iterations += int64(n) * runs
	}
	return iterations
}

// atLeast is the number of runs with so many iterations or more.
func (h *histogram) atLeast(iterations int) (runs int64) {
	for n := iterations; n < len(h.runs); n++ {
		runs += h.runs[n]
	}
	return runs
}

// covering is the least number of iterations that is enough for all but
// `without` of the runs.
func (h *histogram) covering(without int64) int {
	n := len(h.runs) - 1
	for ; n > 0 && h.atLeast(n) <= without; n-- {
	}
	return max(n, 0)
}

// answered is what answered in the place of a model of the suite.
type answered struct {
	calls, others int64    // all calls, and those that another one answered
	names         []string // of the others, in order: the first mostAnswered
	more          bool
}

// mostAnswered are named: a server could find a new name for every call.
const mostAnswered = 4

func (u *sums) addAnswered(iterations []record.Iteration) {
	for i := range iterations {
		for _, call := range iterations[i].Calls {
			if call.Version != "" {
				u.programs[call.Version] = true
			}
			if call.Model == "" {
				continue
			}
			if u.answered[call.Model] == nil {
				u.answered[call.Model] = &answered{}
			}
			u.answered[call.Model].add(call.Answered)
		}
	}
}

// several is the seed of a task whose runs began with different seeds.
const several = "several"

func (u *sums) addSeed(task, seed string) {
	if u.seeds == nil {
		u.seeds = map[string]string{}
	}
	if known, ok := u.seeds[task]; ok && known != seed {
		seed = several
	}
	u.seeds[task] = seed
}

// mixedSeeds counts the tasks whose runs began with different files.
func (u *sums) mixedSeeds() (n int) {
	for _, seed := range u.seeds {
		if seed == several {
			n++
		}
	}
	return n
}

// mixedVersions are those of programs, in order, of which there is another one of the same
// program: what stands before the first slash, as in codex_exec/0.171.0.
func mixedVersions(all []string) (mixed []string) {
	programs := map[string]int{}
	for _, version := range all {
		name, _, _ := strings.Cut(version, "/")
		programs[name]++
	}
	return slices.DeleteFunc(all, func(version string) bool {
		name, _, _ := strings.Cut(version, "/")
		return programs[name] < 2
	})
}

func (a *answered) add(other string) {
	a.calls++
	if other == "" {
		return
	}
	a.others++
	at, known := slices.BinarySearch(a.names, other)
	if !known {
		a.names = slices.Insert(a.names, at, other)
	}
	if len(a.names) > mostAnswered {
		a.names, a.more = a.names[:mostAnswered], true
	}
}

// answeredWarnings tell whose answers the numbers are about where that is not what the
// suite says.
func (u *sums) answeredWarnings() (warnings []Warning) {
	for _, model := range slices.Sorted(maps.Keys(u.answered)) {
		if a := u.answered[model]; a.others > 0 {
			names := strings.Join(a.names, ", ")
			if a.more {
				names += " and others"
			}
			warnings = append(warnings, Warning{Kind: OtherModel, Name: model, Count: int(a.others), Of: int(a.calls), More: names})
		}
	}
	return warnings
}

// inPhase counts the runs by their iterations in a phase, where they have any.
func (u *sums) inPhase(name string) *histogram {
	if used := u.phases[name]; used != nil {
		return used
	}
	return &histogram{}
}

func (u *sums) lengths() *histogram {
	h := &histogram{runs: make([]int64, len(u.reached)+1)}
	for i, at := range u.reached {
		h.runs[i+1] = at.runs
		if i+1 < len(u.reached) {
			h.runs[i+1] -= u.reached[i+1].runs
		}
	}
	return h
}

// taskUse is what the runs of a task used together, by tasks, of what is not kept
// run by run. All are integers, so that the order of the runs makes no difference.
type taskUse struct {
	// columns have an entry for each task, of each of the quantities below; they are
	// empty where nothing was used. What a run used of tokens in all is kept by run,
	// and so output is the rest.
	columns [][]int64
}

// The columns. Of the judging inside the loop, and of the users who answer the
// agents, there are calls, tokens and cost; of each phase, and then of each limit of
// steps, what the runs used of it, and how many came up to the limit.
const (
	useInput = iota
	useToolCalls
	useJudging
	useUser   = useJudging + 3
	usePhases = useUser + 3
)

// add takes a run of a task. At once there is room for as many tasks as are expected.
func (u *taskUse) add(task int32, s *record.Run, head *record.ConfigurationHead, expected int) {
	put := func(column int, n int64) {
		if n == 0 {
			return
		}
		for len(u.columns) <= column {
			u.columns = append(u.columns, nil)
		}
		of := &u.columns[column]
		if *of == nil {
			*of = make([]int64, 0, min(max(expected, 0), mostExpected))
		}
		if missing := int(task) + 1 - len(*of); missing > 0 {
			*of = slices.Grow(*of, missing)[:int(task)+1]
		}
		(*of)[task] = int64(record.Money((*of)[task]).Plus(record.Money(n))) // or the most that fits
	}
	limited := func(column, n, limit int) {
		put(column, int64(n))
		if n >= limit {
			put(column+1, 1)
		}
	}
	total := s.Total()
	put(useInput, total.InputTokens)
	put(useToolCalls, total.ToolCalls)
	for i, used := range [...]*record.Usage{&s.Judging, &s.User} {
		column := useJudging + 3*i
		put(column, used.Calls)
		put(column+1, used.Tokens())
		put(column+2, int64(used.Cost))
	}
	for i, phase := range head.Phases {
		n := 0
		for k := range s.Iterations {
			if s.Iterations[k].Phase == phase.Name {
				n++
			}
		}
		if phase.Limit > 0 {
			limited(usePhases+2*i, n, phase.Limit)
		}
	}
	for i, of := range head.Steps {
		if n := longestIn(s, &of); n > 0 {
			limited(useSteps(head, i), n, of.Limit)
		}
	}
}

// useSteps is the column of the i-th limit of steps.
func useSteps(head *record.ConfigurationHead, i int) int { return usePhases + 2*len(head.Phases) + 2*i }

// longestIn is how many steps, of those that a limit counts, the longest iteration made that it limits.
func longestIn(s *record.Run, limit *record.StepsHead) (n int) {
	for i := range s.Iterations {
		it := &s.Iterations[i]
		switch {
		case limit.Stage != "" && it.Phase+it.Strategy != limit.Stage:
		case limit.Main:
			n = max(n, it.MainStepCount())
		default:
			n = max(n, it.StepCount())
		}
	}
	return n
}
